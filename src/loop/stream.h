// SPDX-License-Identifier: Apache-2.0
// One connection, accepted or dialled: reads handed on as views, writes gathered and sent at the end of the loop's turn
// or at once, back-pressure both ways, and word of a peer that has gone even while nothing is read. Dropping a Stream
// closes the connection. Over TCP here; tls::Stream is one over another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "loop/loop.h"
#include "penstock/config.h"

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
  /// What was dialled is connected. If it cannot be, on_gone() is said, and Stream::dial_failure() knows why.
  virtual void on_connected() {}
  /// The peer will send no more, and may still read: said instead of on_gone() after keep_half_open().
  virtual void on_end() {}

 protected:
  ~StreamEvents() = default;
};

enum class DialFailure : std::uint8_t {
  none,
  refused,
  unroutable,
  timed_out,
  no_descriptors,
  certificate,  ///< over TLS: the peer has not proved who it is, or does not take our proof
  abandoned,    ///< over TLS, as its server: the peer left when it had our proof, without a word
  handshake,    ///< over TLS: nothing else came about
  other,
};

class Stream {
 public:
  /// Bytes queued beyond which a writer should pause.
  static constexpr std::size_t kHighWater = 128 * 1024;

  /// Takes over a connected socket. Nothing: it could not, and has closed it.
  static std::unique_ptr<Stream> adopt(Loop& loop, int fd);
  /// Connects to a literal address; no name is looked up, and no time kept.
  static std::unique_ptr<Stream> dial(Loop& loop, const Endpoint& there, StreamEvents& events);
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Who is told. Set before read_on().
  void set_events(StreamEvents& events) { events_ = &events; }
  virtual void read_on() = 0;
  /// Stops reading; a peer that leaves is still noticed.
  virtual void read_off() = 0;
  /// From now on each direction ends by itself: a peer that has ended its side hears us to our own end.
  virtual void keep_half_open() = 0;

  /// The bytes of this turn: append to it, then call touch(). Sent at the end of the turn, or sooner where much has
  /// gathered.
  std::string& out() { return out_; }
  virtual void touch() = 0;
  /// Writes at once, from where the bytes are, behind what was appended before. False: some of it has to wait, which is
  /// kept, and on_drained() will come.
  virtual bool send(std::string_view bytes) = 0;
  /// The peer reads our end behind what is queued. Nothing may be written any more.
  virtual void end_writing() = 0;
  /// Bytes not yet taken by the kernel, this turn's included.
  virtual std::size_t queued() const = 0;
  /// queued(), and what the kernel has taken and the peer has not: a system call.
  virtual std::size_t unread_by_peer() const = 0;
  /// The peer has ended its side, and all that it sent was read; on_end() may be yet to come. A system call.
  virtual bool is_read_out() const = 0;

  /// Closes once everything queued was sent and the peer has had a chance to read it: what it still sends is read and
  /// dropped for a bounded time, for a reset would destroy our last answer on its way.
  static void close_lingering(std::unique_ptr<Stream> stream);
  /// Closes with RST: the peer must see that the message is broken.
  static void close_with_reset(std::unique_ptr<Stream> stream);

  virtual Endpoint peer() const = 0;
  virtual DialFailure dial_failure() const = 0;
  /// Something that goes where the connection goes, and when it goes.
  void accompany(std::shared_ptr<const void> companion) { companion_ = std::move(companion); }

  /// For people, where more can be said than what failed.
  virtual std::string failure_words() const { return {}; }

 protected:
  Stream() = default;
  /// What its last owner asked for. `self` is this stream.
  virtual void end_gently(std::unique_ptr<Stream> self) = 0;
  virtual void end_with_reset() = 0;

  static constexpr std::size_t kSendAtOnce = 64 * 1024;
  static constexpr std::size_t kKeptCapacity = 4 * 1024;  ///< of what has been sent

  StreamEvents* events_ = nullptr;
  std::string out_;

 private:
  std::shared_ptr<const void> companion_;
};

}  // namespace penstock::loop
