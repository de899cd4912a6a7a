// SPDX-License-Identifier: Apache-2.0
// One TCP connection: reads handed on as views, writes gathered and sent at the end of the loop's turn, back-pressure
// both ways, and word of a peer that has gone even while nothing is read. Dropping a Stream closes the connection.
#pragma once

#include <cstddef>
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

 protected:
  ~StreamEvents() = default;
};

class Stream {
 public:
  /// Bytes queued beyond which a writer should pause.
  static constexpr std::size_t kHighWater = 128 * 1024;

  /// Takes the next connection from a listening socket; nothing if there is none to take.
  static std::unique_ptr<Stream> accept(Loop& loop, uv_stream_s* listening);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Who is told. Set before read_on().
  void listen_to(StreamEvents& events);
  void read_on();
  /// Stops reading; a peer that leaves is still noticed.
  void read_off();

  /// The bytes of this turn: append to it, then call touch(). Sent at the end of the turn, or sooner where much has
  /// gathered.
  std::string& out();
  void touch();
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

 private:
  struct Socket;
  struct Watch;
  class Lingering;
  Stream(Loop& loop, Socket* socket);
  void end_turn();
  void flush();
  void send_rest(std::size_t already_sent);
  void sent(int status);
  void read(std::ptrdiff_t size);
  void gone();
  void fail();
  void watch_for_leaving();

  Loop& loop_;
  Socket* socket_;  // closed, then freed by libuv's close callback
  StreamEvents* events_ = nullptr;
  std::string out_;
  TurnEnd turn_end_;
  bool sending_ = false;
  bool reading_ = false;
  bool failed_ = false;  // a write failed: said at the turn's end
  bool gone_ = false;
};

}  // namespace penstock::loop
