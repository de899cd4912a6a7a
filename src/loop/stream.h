// SPDX-License-Identifier: Apache-2.0
// One TCP connection, accepted or dialled: reads handed on as views, writes gathered and sent at the end of the loop's
// turn or at once, back-pressure both ways, and word of a peer that has gone even while nothing is read. Dropping a
// Stream closes the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "loop/loop.h"
#include "loop/turn_end.h"
#include "penstock/config.h"

struct uv_stream_s;

namespace penstock::loop {

/// What a Stream tells. Called from the loop, never from inside a call into the Stream. The Stream may be destroyed in
/// any of them.
class StreamEvents {
 public:
  /// Valid for the call only.
  virtual void on_read(std::string_view bytes) = 0;
  /// The peer closed its side, or reset, or a write failed. Said once; nothing is read or said after it.
  virtual void on_gone() = 0;
  /// Everything written has been taken by the kernel, after some of it had to wait.
  virtual void on_drained() = 0;
  /// What dial() began is connected. If it cannot be, on_gone() is said, and Stream::dial_failure() knows why.
  virtual void on_connected() {}
  /// The peer will send no more, and may still read: said instead of on_gone() after keep_half_open().
  virtual void on_end() {}

 protected:
  ~StreamEvents() = default;
};

enum class DialFailure : std::uint8_t { none, refused, unroutable, timed_out, no_descriptors, other };

class Stream {
 public:
  /// Bytes queued beyond which a writer should pause.
  static constexpr std::size_t kHighWater = 128 * 1024;

  /// Takes the next connection from a listening socket; nothing if there is none to take.
  static std::unique_ptr<Stream> accept(Loop& loop, uv_stream_s* listening);
  /// Connects to a literal address; no name is looked up, and no time kept.
  static std::unique_ptr<Stream> dial(Loop& loop, const Endpoint& there, StreamEvents& events);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Who is told. Set before read_on().
  void listen_to(StreamEvents& events);
  void read_on();
  /// Stops reading; a peer that leaves is still noticed.
  void read_off();
  /// From now on each direction ends by itself: a peer that has ended its side hears us to our own end.
  void keep_half_open() { half_open_ = true; }

  /// The bytes of this turn: append to it, then call touch(). Sent at the end of the turn, or sooner where much has
  /// gathered.
  std::string& out();
  void touch();
  /// Writes at once, from where the bytes are, behind what was appended before. False: some of it has to wait, which is
  /// kept, and on_drained() will come.
  bool send(std::string_view bytes);
  /// The peer reads our end behind what is queued. Nothing may be written any more.
  void end_writing();
  /// Bytes not yet taken by the kernel, this turn's included.
  std::size_t queued() const;
  /// queued(), and what the kernel has taken and the peer has not: a system call.
  std::size_t unread_by_peer() const;

  /// Closes once everything queued was sent and the peer has had a chance to read it: what it still sends is read and
  /// dropped for a bounded time, for a reset would destroy our last answer on its way.
  static void close_gently(std::unique_ptr<Stream> stream);
  /// Closes with RST: the peer must see that the message is broken.
  static void close_with_reset(std::unique_ptr<Stream> stream);

  Endpoint peer() const;
  DialFailure dial_failure() const;

 private:
  struct Socket;
  struct Watch;
  class Lingering;
  Stream(Loop& loop, Socket* socket);
  void end_turn();
  void flush();
  std::size_t try_send(std::string_view bytes);
  void send_rest();
  void sent(int status);
  void shut_down();
  void read(std::ptrdiff_t size);
  void ended();
  void gone();
  void fail();
  void watch_for_leaving();
  void left_unread(bool by_reset);

  Loop& loop_;
  Socket* socket_;  // closed, then freed by libuv's close callback
  StreamEvents* events_ = nullptr;
  std::string out_;
  TurnEnd turn_end_;
  bool sending_ = false;
  bool reading_ = false;
  bool failed_ = false;  // a write failed: said at the turn's end
  bool gone_ = false;
  bool half_open_ = false;
  bool end_seen_ = false;       // the peer's, perhaps beyond bytes that are still to be read
  bool peer_ended_ = false;     // and read
  bool writing_ended_ = false;  // shut down once all is sent
  int dial_error_ = 0;
};

}  // namespace penstock::loop
