// SPDX-License-Identifier: Apache-2.0
// The part of an exchange between take-off and landing as the dispatcher sees it: an HTTP flight, a tunnel, an upgrade
// or a permit. An attempt reports its end once, to the dispatcher, which then destroys it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "http/refusal.h"
#include "penstock/duration.h"

namespace penstock::proxy {

/// What an attempt has done.
struct AttemptResult {
  int status = 0;                      ///< of the final head that was passed on; 0: none was
  std::optional<Duration> first_byte;  ///< take-off to the final response head
  std::uint64_t bytes_in = 0;          ///< body bytes from the upstream; of a tunnel, all bytes
  std::uint64_t bytes_out = 0;         ///< to the upstream, likewise
  bool tunnel = false;                 ///< it was open as a tunnel
  std::string_view sni, alpn;          ///< of a tunnel's TLS hello; they live as long as the attempt

  bool answered() const { return status != 0; }
};

class Attempt {
 public:
  virtual ~Attempt() = default;

  virtual void take_off() = 0;
  /// More of the request's body has come, or its end.
  virtual void body_came() {}
  /// The response sink has room again.
  virtual void resume() {}
  /// A rested tunnel has a slot again.
  virtual void go_on() {}
  /// Closes a resting tunnel to make room for others.
  virtual void make_room() {}
  /// The time-outs may have changed.
  virtual void keep_time() = 0;
  /// The client is gone. True: that is the attempt's proper end, and it is complete.
  virtual bool ends_with_client() const { return false; }
  /// The exchange ends: what the attempt has seen of an answer, and not told its upstream yet, counts now.
  virtual void conclude() {}
  /// Ends the attempt at once: the sink gets the refusal, or a broken response if the head was already passed on.
  virtual void abort(const http::Refusal& refusal) = 0;
  /// For an exchange that ends from outside. An attempt that ends by itself hands over its result.
  virtual AttemptResult result() const = 0;
};

}  // namespace penstock::proxy
