// SPDX-License-Identifier: Apache-2.0
// The departure that an exchange took: at first as it was booked, and as the limiter counts it once the request's bytes
// have left late.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "flow/late_departures.h"
#include "flow/limit_remap.h"
#include "flow/limiter.h"

namespace penstock::proxy {

class TakenDeparture {
 public:
  TakenDeparture() = default;
  TakenDeparture(const TakenDeparture&) = delete;
  TakenDeparture& operator=(const TakenDeparture&) = delete;

  /// From now on `late` watches whether the bytes leave. `lane` must outlive this.
  void take(flow::LateDepartures& late, flow::LaneKey lane, const flow::Departure& departure) {
    departure_ = departure;
    leaving_.emplace(late, lane, departure_);
  }
  /// The bytes have left. If that is later than booked, the limiter is told. Only the first call after take() counts.
  void left(flow::Time now, flow::Limiter& limiter, flow::LaneKey lane) {
    if (!leaving_) return;
    if (now > departure_.at + flow::kOnTime) departure_ = limiter.report_late(lane, departure_, now);
    leaving_->left(now);
    leaving_.reset();
  }
  /// In this attempt.
  bool has_left() const { return !leaving_; }
  const flow::Departure& taken() const { return departure_; }
  /// The bytes will not leave in this attempt.
  void drop() { leaving_.reset(); }

  /// The limits have changed: `moved` gives for each old one its new index; empty: none moved.
  void renumber(std::span<const flow::LimitIndex> moved) {
    if (!moved.empty()) departure_.limited_by = flow::renumbered(departure_.limited_by, moved);
  }
  /// The limiter was replaced.
  void hand_over(bool knows_it) { flow::hand_over(departure_, knows_it); }

 private:
  flow::Departure departure_;
  std::optional<flow::LateDepartures::Leaving> leaving_;
};

}  // namespace penstock::proxy
