// SPDX-License-Identifier: Apache-2.0
// What left late is told once for a burst, soon.
#include "redis/limits/late_reports.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/test_loop.h"

namespace penstock::redis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class LateDeparturesTest : public testing::Test {
 protected:
  std::vector<std::int64_t> from(const LateReports::Moves& moves) const {
    std::vector<std::int64_t> times;
    for (const auto& move : moves) times.push_back(move.from);
    return times;
  }

  test::TestLoop run_;
  std::vector<std::pair<std::string, LateReports::Moves>> told_;
  LateReports late_{run_.loop, [this](flow::LaneKey lane, const auto& moves) {
                      told_.emplace_back(std::string(lane.group) + std::string(lane.route), moves);
                    }};
};

TEST_F(LateDeparturesTest, of_a_burst_are_told_together_the_earliest_first) {
  for (const std::int64_t at : {7, 3, 5}) late_.add("", {at, at + 9'000, 1});
  EXPECT_THAT(told_, IsEmpty()) << "not from within a call of the booker";
  ASSERT_TRUE(run_.run_until([&] { return !told_.empty(); }));
  ASSERT_THAT(told_, SizeIs(1));
  EXPECT_THAT(from(told_[0].second), ElementsAre(3, 5, 7));
}

TEST_F(LateDeparturesTest, of_each_lane_are_told_for_themselves) {
  late_.add("a", {1, 9'000, 1});
  late_.add("b", {2, 9'000, 1});
  late_.add("a", {3, 9'000, 1});
  late_.add(flow::LaneKey("a", "b"), {4, 9'000, 1});
  ASSERT_TRUE(run_.run_until([&] { return !told_.empty(); }));
  EXPECT_THAT(told_, UnorderedElementsAre(Pair("a", SizeIs(2)), Pair("b", SizeIs(1)), Pair("ab", SizeIs(1))));
}

TEST_F(LateDeparturesTest, whose_places_may_be_asked_for_are_told_first) {
  late_.add("", {1, 40'000, 1});
  late_.tell_overdue();
  EXPECT_THAT(told_, IsEmpty());
  late_.add("", {1, 2 + flow::kHorizon, 1});
  late_.tell_overdue();
  EXPECT_THAT(told_, ElementsAre(Pair("", SizeIs(2))));
}

/// Redis does not know the time in between.
TEST_F(LateDeparturesTest, that_are_later_still_before_they_are_told_are_one_move) {
  late_.add("", {100, 5'000, 1});
  late_.add("", {300, 5'000, 2});
  late_.add("", {200, 5'000, 1});
  late_.add("", {5'000, 9'000, 2});
  late_.add("other", {5'000, 9'000, 1});
  late_.add("", {9'000, 9'500, 2});
  ASSERT_TRUE(run_.run_until([&] { return !told_.empty(); }));
  ASSERT_THAT(told_, SizeIs(2));
  const auto fields = [](const auto& move) { return std::tuple(move.from, move.to, move.load.weight); };
  std::vector<std::tuple<std::int64_t, std::int64_t, int>> moves;
  std::ranges::transform(told_[0].second, std::back_inserter(moves), fields);
  EXPECT_THAT(moves, ElementsAre(std::tuple(100, 5'000, 1), std::tuple(200, 5'000, 1), std::tuple(300, 9'500, 2)));
  EXPECT_THAT(from(told_[1].second), ElementsAre(5'000));
}

TEST_F(LateDeparturesTest, that_are_late_twice_may_make_an_ask_wait_for_them) {
  late_.add("", {0, flow::kHorizon / 2 + 1, 1});
  late_.add("", {flow::kHorizon / 2 + 1, flow::kHorizon + 1, 1});
  late_.tell_overdue();
  EXPECT_THAT(told_, ElementsAre(Pair("", SizeIs(1))));
}

TEST_F(LateDeparturesTest, are_told_once) {
  for (std::size_t burst = 1; burst <= 2; ++burst) {
    late_.add("", {static_cast<std::int64_t>(burst), 9'000, 1});
    ASSERT_TRUE(run_.run_until([&] { return told_.size() == burst; }));
    EXPECT_THAT(from(told_.back().second), ElementsAre(burst));
  }
}

}  // namespace
}  // namespace penstock::redis
