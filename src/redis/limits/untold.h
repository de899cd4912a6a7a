// SPDX-License-Identifier: Apache-2.0
// What a process remembers and Redis does not know: departures that were granted without Redis, or everything, where
// Redis has lost its memory. It is told until Redis has heard it. Pure. For shadow.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flow/limiter.h"
#include "flow/local_limiter.h"
#include "penstock/limits.h"

namespace penstock::redis {

class Untold {
 public:
  /// `limits`, and `all`, which has all departures of this process, must outlive this.
  Untold(const std::vector<LimitConfig>& limits, const flow::LocalLimiter& all) : limits_(&limits), all_(all) {}
  /// The limits are these from now on.
  void refer_to(const std::vector<LimitConfig>& limits) { limits_ = &limits; }

  /// Something is to be told; something is not known to Redis, whether it is being told or not.
  bool is_due() const { return all_unknown_ || (unknown_ && told_ == 0); }
  bool any() const { return all_unknown_ || unknown_ || later_; }
  bool is_all() const { return all_unknown_; }
  /// Redis has lost everything.
  void add_all() { all_unknown_ = true; }

  /// Granted without Redis, by these limits or by none.
  void granted(flow::LaneKey lane, const flow::Departure& departure, flow::Instant at_zero, bool unlimited);
  /// Calls `use` for the limiters that hold this departure.
  template <typename Use>
  void each_of(const flow::Departure& departure, Use use) {
    if (departure.in_redis != 0) return;
    if (unknown_) use(*unknown_);
    if (later_ && departure.at > told_until_) use(*later_);
  }
  /// Calls `use` for each limiter.
  template <typename Use>
  void each(Use use) {
    if (unknown_) use(*unknown_);
    if (later_) use(*later_);
  }

  /// Tells all of it, see Shadow::replay(). Returns the number of this telling.
  using Tell = std::function<void(flow::LimitIndex limit, std::string_view group, const std::string& state,
                                  const std::string& untold)>;
  std::uint64_t tell(const Tell& tell);
  /// See Shadow::replayed().
  bool told(std::uint64_t telling, bool heard);

 private:
  std::string taken_or(flow::LimitIndex limit, std::string_view group, const std::string& known) const;

  const std::vector<LimitConfig>* limits_;
  const flow::LocalLimiter& all_;
  std::unique_ptr<flow::LocalLimiter> unknown_;  // granted alone; null: nothing
  std::unique_ptr<flow::LocalLimiter> later_;    // the part of it granted since the last telling began
  std::uint64_t tellings_ = 0;                   // count of tellings so far
  std::uint64_t told_ = 0;                       // the last of them while unanswered; 0: answered
  bool told_all_ = false;                        // the last telling told everything
  bool all_unknown_ = false;
  flow::Time granted_until_ = std::numeric_limits<flow::Time>::min();  // the latest departure granted alone
  flow::Time told_until_ = 0;                                          // the latest that is being told
};

}  // namespace penstock::redis
