// SPDX-License-Identifier: Apache-2.0
// The table of scenarios, against the limits that are kept in this process.
#include "support/scenarios.h"

#include <gtest/gtest.h>

#include "flow/local_booker.h"
#include "support/scenario_run.h"

namespace penstock::scenarios {
namespace {

class AskedHere final : public Asked {
 public:
  explicit AskedHere(const std::vector<LimitConfig>& limits) : booker_(limits, kStart) {}
  flow::Booking ask(Time now, const flow::Ask& ask) override {
    flow::Booking booking;
    EXPECT_TRUE(booker_.ask(now, ask, booking));
    return booking;
  }
  void give_back(Time now, std::string_view group, const flow::Departure& departure) override {
    booker_.give_back(now, group, departure);
  }
  void pause(Time now, std::string_view group, Time until) override { booker_.pause(now, group, until); }
  void change(Time, const std::vector<LimitConfig>& limits) override { booker_.set_limits(limits); }

 private:
  flow::LocalBooker booker_;
};

class Here : public testing::TestWithParam<Scenario> {};

TEST_P(Here, leaves_as_the_table_says) {
  const Scenario& scenario = GetParam();
  AskedHere asked(scenario.limits);
  EXPECT_EQ(Course(asked).of(scenario), scenario.outcomes);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Here, testing::ValuesIn(all()),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace penstock::scenarios
