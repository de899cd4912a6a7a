// SPDX-License-Identifier: Apache-2.0
// Client time-outs: the limit for what a client must send next, be it a request, the rest of a head, or more of a body.
// The timer keeps running while that changes, and the times are compared only when it fires, so a usual request starts
// and stops no timer.
#pragma once

#include <cstdint>

#include "loop/timer.h"
#include "penstock/duration.h"

namespace penstock::proxy {

class ClientTimeouts {
 public:
  enum class For : std::uint8_t { nothing, request, head, body };

  /// `on_timer` must call fired().
  ClientTimeouts(loop::Loop& loop, std::move_only_function<void()> on_timer);

  /// What is awaited from now on, and the limit for it; zero: no limit. With the same `what` the time goes on counting.
  void wait_for(For what, Duration limit);
  void wait_for_nothing() { what_ = For::nothing; }
  /// A part of it came: the time begins again.
  void moved() { since_ = loop_.now(); }
  For what() const { return what_; }
  /// Whether the time is over. If it was only prolonged meanwhile, the timer is started again.
  bool fired();

 private:
  void keep_time();

  loop::Loop& loop_;
  loop::Timer timer_;
  std::int64_t since_ = 0;
  std::int64_t limit_ = 0;
  For what_ = For::nothing;
};

}  // namespace penstock::proxy
