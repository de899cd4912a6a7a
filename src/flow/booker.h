// SPDX-License-Identifier: Apache-2.0
// The port through which a lane books departures. Behind it: local_booker (this process), and later Redis.
// A booking belongs to the lane, not to a request: whoever is at the head when its time comes takes it.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "flow/limit.h"

namespace penstock::flow {

/// Only departures this near are committed; who must wait longer asks again.
inline constexpr Time kHorizon = 50'000;

/// The answer to an ask.
struct Booking {
  /// When requests may leave, ascending; at most as many as were asked for.
  std::vector<Time> departures;
  /// Where fewer than asked for were granted: the moment to ask again,
  std::optional<Time> ask_again;
  /// and, where known, a moment before which no further departure will be.
  std::optional<Time> not_before;
  void clear() { departures.clear(), ask_again.reset(), not_before.reset(); }
};

class Booker {
 public:
  virtual ~Booker() = default;
  /// Up to `count` departures from `now` on, for the lane of `group`. Fills the empty `booking` and returns true, or
  /// returns false: the answer will come through Upstream::answer(), later and always. A lane has one ask under way at
  /// a time.
  virtual bool ask(Time now, std::string_view group, std::size_t count, Booking& booking) = 0;
  /// A departure that this lane will not take. Its time may still be ahead.
  virtual void give_back(std::string_view group, Time departure) = 0;
};

}  // namespace penstock::flow
