// SPDX-License-Identifier: Apache-2.0
// One TCP connection: reads handed on as views, writes gathered and sent at the end of the loop's turn, back-pressure
// both ways, and word of a peer that has gone even while nothing is read. Dropping a Stream closes the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "loop/loop.h"
#include "penstock/config.h"

struct uv_tcp_s;

namespace penstock::loop {

/// What a Stream tells. Called from the loop, never from inside a call into the Stream. The Stream may be destroyed in
/// any of them.
class StreamEvents {
 public:
  /// Valid for the call only.
  virtual void on_read(std::string_view bytes) = 0;
  /// The peer closed its side, or reset, or a write failed. Said once; nothing is read or said after it.
  virtual void on_gone() = 0;
  /// Everything written has been handed to the kernel, after queued() had been above zero at a turn's end.
  virtual void on_drained() = 0;

 protected:
  ~StreamEvents() = default;
};

class Stream {
 public:
  /// Bytes queued beyond which a writer should pause.
  static constexpr std::size_t kHighWater = 128 * 1024;

  virtual ~Stream() = default;

  virtual void listen_to(StreamEvents& events) = 0;
  virtual void read_on() = 0;
  /// Stops reading; a peer that leaves is still noticed.
  virtual void read_off() = 0;

  /// The buffer of this turn: append to it, then call touch(). Sent at the end of the turn, or sooner if it is large.
  virtual std::string& out() = 0;
  virtual void touch() = 0;
  /// Bytes not yet taken by the kernel, this turn's included.
  virtual std::size_t queued() const = 0;

  /// Closes after everything queued was sent and the peer has had a chance to read it (a bounded linger); gives up
  /// ownership.
  static void close_gently(std::unique_ptr<Stream> stream);
  /// The next close sends RST: the peer must see that the message is broken.
  virtual void close_with_reset() = 0;

  virtual Endpoint peer() const = 0;
};

}  // namespace penstock::loop
