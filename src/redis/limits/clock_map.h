// SPDX-License-Identifier: Apache-2.0
// The offset of a script clock from the loop's clock. Taken from the midpoint of the quickest round trip of the last
// minute, so that the jitter of the others does not show in departures. Times in µs. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "flow/limit.h"

namespace penstock::redis {

class ClockMap {
 public:
  /// A call was sent and answered at these times of the loop's clock, and executed at `script` in between. True: the
  /// offset is known for the first time, or one of the clocks was set.
  bool learn(flow::Time sent, flow::Time received, std::int64_t script);

  bool known() const { return best_.has_value(); }
  /// What the script clock shows when the loop's clock shows 0. Before the first learn(): 0.
  std::int64_t at_zero() const { return best_ ? best_->offset : 0; }
  flow::Time to_loop(std::int64_t script) const { return script - at_zero(); }
  std::int64_t to_script(flow::Time time) const { return time + at_zero(); }
  /// The quickest round trip; 0 before the first learn().
  flow::Time round_trip() const { return best_ ? best_->round_trip : 0; }
  /// The round trip, smoothed; 0 before the first learn().
  flow::Time usual_round_trip() const { return usual_; }

 private:
  struct Sample {
    flow::Time at;
    flow::Time round_trip;
    std::int64_t offset;
    /// Whether both samples can be true of the same two clocks.
    bool agrees_with(const Sample& other) const;
  };

  std::optional<Sample> best_;  // the quickest sample of the last minute
  std::optional<Sample> next_;  // the quickest sample of the last half minute: replaces `best_` when that is too old
  flow::Time usual_ = 0;
};

}  // namespace penstock::redis
