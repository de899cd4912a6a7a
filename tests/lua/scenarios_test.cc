// SPDX-License-Identifier: Apache-2.0
// The table of scenarios, against the limits that are kept in Redis.
#include "support/scenarios.h"

#include <gtest/gtest.h>

#include "lua/scripted.h"

namespace penstock::lua {
namespace {

class InRedis : public testing::TestWithParam<scenarios::Scenario> {
 protected:
  test::RedisServer server_;
  Scripts scripts_{server_};
};

TEST_P(InRedis, leaves_as_the_table_says) {
  Scripted asked(scripts_, "upstream", GetParam().limits);
  EXPECT_EQ(scenarios::Course(asked).of(GetParam()), GetParam().outcomes);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, InRedis, testing::ValuesIn(scenarios::all()),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace penstock::lua
