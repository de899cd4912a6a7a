// SPDX-License-Identifier: Apache-2.0
// The table of scenarios, against the limits that are kept in this process.
#include "support/scenarios.h"

#include <gtest/gtest.h>

#include "support/scenario_here.h"

namespace penstock::scenarios {
namespace {

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
