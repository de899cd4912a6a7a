// SPDX-License-Identifier: Apache-2.0
// The booker that keeps limits in this process and answers at once. A departure is at the latest of the limits'
// frontiers; all of them commit it, or none does. Without limits every departure is now. For proxy/ and redis/.
#pragma once

#include <memory>
#include <vector>

#include "flow/booker.h"
#include "penstock/limits.h"

namespace penstock::flow {

class LocalBooker final : public Booker {
 public:
  /// `at_zero` is the Instant at which the caller's clock shows 0.
  explicit LocalBooker(std::vector<LimitConfig> limits = {}, Instant at_zero = 0);

  bool ask(Time now, const Ask& ask, Booking& booking) override;
  LimitIndex forbids(int weight) const override;
  Time ahead(Time now, std::string_view group, std::int64_t units, std::int64_t others) const override;
  void give_back(Time now, std::string_view group, const Departure& departure) override;
  bool landed(Time now, std::string_view group) override;
  void nobody_waits(Time now, Booking::Scope scope, std::string_view group) override;
  void pause(Time now, std::string_view group, Time until) override;

 private:
  std::vector<LimitConfig> limits_;
  Instant at_zero_;
};

}  // namespace penstock::flow
