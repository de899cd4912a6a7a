// SPDX-License-Identifier: Apache-2.0
// The port through which a lane books departures. Behind it: local_booker (this process), and later Redis.
// A booking belongs to the lane, not to a request: whoever is at the head when its time comes takes it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "flow/limit.h"

namespace penstock::flow {

/// Only departures this near are committed; who must wait longer asks again.
inline constexpr Time kHorizon = 50'000;

/// The answer to an ask: when requests may leave, ascending, and, where fewer than asked for were granted, the moment
/// to ask again.
struct Booking {
  std::vector<Time> departures;
  std::optional<Time> ask_again;
};

class Booker {
 public:
  virtual ~Booker() = default;
  /// Up to `count` departures from `now` on. Fills `booking` and returns true, or returns false: the answer will come
  /// through Upstream::answer(). A lane has one ask under way at a time.
  virtual bool ask(Time now, std::size_t count, Booking& booking) = 0;
  /// A departure that nobody took.
  virtual void give_back(Time departure) = 0;
};

}  // namespace penstock::flow
