// SPDX-License-Identifier: Apache-2.0
// One connection, accepted or dialled. Reads are handed on as views; writes are gathered and sent at the end of the
// loop's iteration, or at once; there is back-pressure both ways, and a peer that leaves is noticed even while nothing
// is read. Dropping a Stream closes the connection. Implemented over TCP here, and over another Stream by tls::Stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "loop/directions.h"
#include "loop/loop.h"
#include "penstock/config.h"

namespace penstock::loop {

/// The events of a Stream. Called from the loop, never from inside a call into the Stream. Each of them may destroy the
/// Stream.
class StreamEvents {
 public:
  /// `bytes` are valid during the call only.
  virtual void on_read(std::string_view bytes) = 0;
  /// The peer closed its side, or reset, or a write failed. Called once; no other event follows.
  virtual void on_gone() = 0;
  /// The kernel has taken everything written, after some of it had to wait.
  virtual void on_drained() = 0;
  /// A dialled stream is connected. If it cannot be, on_gone() is called, and Stream::dial_failure() tells why.
  virtual void on_connected() {}
  /// The peer will send no more, but may still read; called instead of on_gone() after keep_half_open().
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
  certificate,  ///< over TLS: the peer's certificate is not valid, or the peer rejected ours
  abandoned,    ///< over TLS, as server: the peer left after our certificate, without an alert
  handshake,    ///< over TLS: the handshake failed otherwise
  other,
};

/// At whose wish a stream is dialled. One for a peer must leave the last descriptors to others (loop/fd_limit.h). One
/// for ourselves, to a service that this program relies on, may use them, and notices within seconds that the service
/// has vanished without a word.
enum class DialFor : std::uint8_t { peer, ourselves };

class Stream {
 public:
  /// Bytes queued beyond which a writer should pause.
  static constexpr std::size_t kHighWater = 128 * 1024;

  /// Takes over a connected socket. Null: that failed, and the socket is closed.
  static std::unique_ptr<Stream> adopt(Loop& loop, int fd);
  /// Connects to a literal address. No name is looked up, and there is no time-out.
  static std::unique_ptr<Stream> dial(Loop& loop, const Endpoint& there, StreamEvents& events,
                                      DialFor whom = DialFor::peer);
  /// Connects to a Unix socket, for ourselves.
  static std::unique_ptr<Stream> dial_path(Loop& loop, const std::string& path, StreamEvents& events);
  virtual ~Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// Sets the receiver of the events. To be called before read_on().
  void set_events(StreamEvents& events) { events_ = &events; }
  virtual void read_on() = 0;
  /// Stops reading; a peer that leaves is still noticed.
  virtual void read_off() = 0;
  /// From now on each direction ends by itself: a peer that has ended its side still gets what is written.
  virtual void keep_half_open() = 0;

  /// The output of this iteration: append to it, then call touch(). Sent at the end of the iteration, or sooner if it
  /// is much.
  std::string& out() { return out_; }
  virtual void touch() = 0;
  /// Writes at once, without a copy, behind what was appended before. False: some of it has to wait and was copied;
  /// on_drained() will come.
  virtual bool send(std::string_view bytes) = 0;
  /// Ends our side behind what is queued. Nothing may be written any more.
  virtual void end_writing() = 0;
  /// Bytes that the kernel has not taken yet, those of this iteration included.
  virtual std::size_t queued() const = 0;
  /// queued(), plus the bytes that the kernel has taken and the peer has not. A system call.
  virtual std::size_t unread_by_peer() const = 0;
  /// True if the peer has ended its side and all that it sent was read; on_end() may still follow. A system call.
  virtual bool is_read_out() const = 0;

  /// Closes once everything queued was sent and the peer has had a chance to read it: reads and drops what the peer
  /// still sends, for a bounded time, because a reset would destroy our last answer on its way.
  static void close_lingering(std::unique_ptr<Stream> stream);
  /// Closes with RST: the peer must see that the message is broken.
  static void close_with_reset(std::unique_ptr<Stream> stream);

  virtual Endpoint peer() const = 0;
  virtual DialFailure dial_failure() const = 0;
  /// The errno by which the socket failed to dial, read or write; 0: it did not, so a stream that is gone was closed by
  /// the peer, or by a failure of TLS, which says so in words of its own.
  virtual int error() const = 0;
  /// Attaches an object that lives as long as the Stream.
  void accompany(std::shared_ptr<const void> companion) { companion_ = std::move(companion); }

  /// More about a failure, for people; may be empty.
  virtual std::string failure_words() const { return {}; }

 protected:
  Stream() = default;
  /// Implement close_lingering() and close_with_reset(). `self` is this stream.
  virtual void end_gently(std::unique_ptr<Stream> self) = 0;
  virtual void end_with_reset() = 0;

  static constexpr std::size_t kSendAtOnce = 64 * 1024;
  static constexpr std::size_t kKeptCapacity = 4 * 1024;  ///< how much of out_ stays allocated once it is sent

  StreamEvents* events_ = nullptr;
  std::string out_;
  Directions directions_;

 private:
  std::shared_ptr<const void> companion_;
};

}  // namespace penstock::loop
