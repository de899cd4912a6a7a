// SPDX-License-Identifier: Apache-2.0
// What a process remembers for Redis: what is told once, what again, and what is taken back meanwhile.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "redis/limits/shadow.h"

namespace penstock::redis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ShadowTest : public testing::Test {
 protected:
  /// A departure without Redis at this moment.
  flow::Departure alone(flow::Time at) {
    flow::Booking booking;
    shadow_.answer(at, {.count = 1, .weight = 1}, WhenDown::share, booking);
    return booking.departures.at(0);
  }
  /// In Redis.
  void book(flow::Time at, int weight, flow::ConfigEpoch epoch) {
    flow::Departure departure{.at = at, .weight = weight, .epoch = epoch, .in_redis = 1};
    shadow_.book({}, departure);
  }
  /// Of a sliding window, the times of departures.
  std::uint64_t tell() {
    told_.clear();
    return shadow_.replay([this](auto, auto, const std::string& state, const std::string& untold) {
      told_.push_back(untold.empty() ? state : state + " of which " + untold);
    });
  }

  const std::vector<LimitConfig> limits_{
      {.kind = SlidingWindowConfig{.max = 100, .interval = std::chrono::hours(1)}, .name = "window"}};
  Shadow shadow_{limits_, 0};
  std::vector<std::string> told_;
};

TEST_F(ShadowTest, tells_what_was_granted_alone_until_it_was_heard) {
  alone(10);
  EXPECT_FALSE(shadow_.replayed(tell() + 1, true)) << "another telling";
  EXPECT_TRUE(shadow_.replayed(tell(), false));
  EXPECT_TRUE(shadow_.has_unknown());
  EXPECT_TRUE(shadow_.replayed(tell(), true));
  EXPECT_THAT(told_, ElementsAre("1s 10"));
  EXPECT_FALSE(shadow_.has_unknown());
  tell();
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(ShadowTest, tells_what_was_granted_meanwhile_once_more_only_if_it_was_not_told) {
  alone(10);
  const auto heard = tell();
  alone(20);
  shadow_.replayed(heard, true);
  tell();
  EXPECT_THAT(told_, ElementsAre("1s 20"));
}

TEST_F(ShadowTest, forgets_nothing_that_was_granted_while_it_told_in_vain) {
  alone(10);
  const auto first = tell();
  alone(20);
  shadow_.replayed(first, false);
  alone(30);
  const auto second = tell();
  EXPECT_THAT(told_, ElementsAre("1s 10 20 30"));
  shadow_.replayed(second, true);
  EXPECT_FALSE(shadow_.has_unknown()) << "nothing is left over of the first";
}

TEST_F(ShadowTest, takes_back_what_it_has_not_told_yet) {
  alone(10);
  const auto first = tell();
  const auto departure = alone(20);
  shadow_.replayed(first, false);
  shadow_.give_back(25, {}, departure);
  tell();
  EXPECT_THAT(told_, ElementsAre("1s 10"));
}

TEST_F(ShadowTest, goes_by_the_last_telling_where_redis_is_lost_again_before_the_first_is_answered) {
  alone(10);
  shadow_.all_is_unknown();
  const auto first = tell();
  alone(20);
  shadow_.all_is_unknown();
  const auto second = tell();
  EXPECT_THAT(told_, ElementsAre("1s 10 20 of which 1s 10 20"));
  EXPECT_FALSE(shadow_.replayed(first, true));
  alone(30);
  EXPECT_TRUE(shadow_.replayed(second, true));
  tell();
  EXPECT_THAT(told_, ElementsAre("1s 30"));
}

TEST_F(ShadowTest, tells_all_again_where_that_was_not_heard) {
  book(5, 1, 0);
  shadow_.all_is_unknown();
  EXPECT_TRUE(shadow_.replayed(tell(), false));
  EXPECT_TRUE(shadow_.is_all_unknown());
  tell();
  EXPECT_THAT(told_, ElementsAre("1s 5"));
}

// ---- alone, by the part of what was left ----------------------------------------------------------------------------

class ShadowAlone : public testing::Test {
 protected:
  static constexpr flow::Instant kHour = 50'400'000'000'000;  // a whole one: windows that divide it have an edge there

  std::vector<flow::Time> alone(flow::Time at, std::size_t count, std::string_view group = {}) {
    flow::Booking booking;
    shadow_.answer(at, {.group = group, .count = count}, WhenDown::share, booking);
    std::vector<flow::Time> times;
    for (const auto& departure : booking.departures) times.push_back(departure.at);
    return times;
  }
  /// In Redis.
  void book(flow::Time at, int weight, flow::ConfigEpoch epoch) {
    flow::Departure departure{.at = at, .weight = weight, .epoch = epoch, .in_redis = 1};
    shadow_.book({}, departure);
  }
  /// So much was left of the n-th limit, and that period ends, or the next is free, at `until`.
  void left(flow::LimitIndex limit, flow::Time until, std::int64_t units) {
    shadow_.note_left({}, limit, {.until = kHour + static_cast<flow::Instant>(until), .units = units});
  }
  std::vector<std::string> told() {
    std::vector<std::string> states;
    shadow_.replay([&](auto, auto, const std::string& state, const std::string&) { states.push_back(state); });
    return states;
  }
  void limit_by(std::vector<LimitConfig> limits) {
    limits_ = std::move(limits);
    shadow_.change(0, {});
  }

  std::vector<LimitConfig> limits_;
  Shadow shadow_{limits_, kHour};
};

LimitConfig quarter_of_an_hour() {
  return {.kind = WindowConfig{.reservoir = 100, .interval = std::chrono::minutes(15)}, .name = "window"};
}

TEST_F(ShadowAlone, hands_in_of_a_pacer_its_last_departure_and_when_its_part_is_free_again) {
  limit_by({{.kind = PacerConfig{.qps = 100, .max_burst = 4}, .name = "pacer"}});
  left(0, 1'000, 0);
  shadow_.go_alone(0, 2);
  EXPECT_THAT(alone(0, 3), ElementsAre(1'000, 21'000, 41'000));
  EXPECT_THAT(told(), ElementsAre("2p 50400000041000.0000 1 2 50"));
}

TEST_F(ShadowAlone, hands_in_of_a_pacer_the_last_departure_whoever_granted_it) {
  limit_by({{.kind = PacerConfig{.qps = 100}, .name = "pacer"}});
  left(0, 1'000, 0);
  shadow_.go_alone(0, 2);
  EXPECT_THAT(alone(0, 1), ElementsAre(1'000));
  shadow_.come_back(2'000);
  book(40'000, 1, shadow_.all().epoch());
  EXPECT_THAT(told(), ElementsAre("2p 50400000040000.0000 1 0 100"));
}

TEST_F(ShadowAlone, hands_in_of_a_bucket_what_is_missing_by_what_was_granted_alone) {
  limit_by({{.kind = TokenBucketConfig{.capacity = 10, .refill_amount = 2, .refill_frequency = std::chrono::seconds(1)},
             .name = "bucket"}});
  left(0, 0, 4);
  shadow_.go_alone(0, 2);
  EXPECT_EQ(alone(0, 10).size(), 2u);
  EXPECT_THAT(told(), ElementsAre("1b 50400000000000.0000 2"));
}

TEST_F(ShadowAlone, hands_in_of_a_window_what_was_granted_alone) {
  limit_by({quarter_of_an_hour()});
  book(0, 7, shadow_.all().epoch());
  left(0, 900'000'000, 20);
  shadow_.go_alone(1'000, 2);
  EXPECT_EQ(alone(1'000, 100).size(), 10U);
  EXPECT_THAT(told(), ElementsAre("1w 50400000000000 10 900000000"));
}

TEST_F(ShadowAlone, takes_less_where_it_was_granted_some_since_it_was_told) {
  limit_by({quarter_of_an_hour()});
  left(0, 900'000'000, 20);
  shadow_.note_taken({}, 0, 5);
  shadow_.go_alone(1'000, 2);
  EXPECT_EQ(alone(1'000, 100).size(), 7U);
}

TEST_F(ShadowAlone, takes_nothing_twice_where_redis_is_lost_twice_and_tells_nothing_in_between) {
  limit_by({quarter_of_an_hour()});
  left(0, 900'000'000, 20);
  shadow_.go_alone(1'000, 2);
  EXPECT_EQ(alone(1'000, 6).size(), 6U);
  shadow_.come_back(2'000);
  shadow_.go_alone(3'000, 2);
  EXPECT_THAT(alone(3'000, 100), IsEmpty()) << "it is not known what the others took";
  shadow_.come_back(4'000);
  left(0, 900'000'000, 8);
  shadow_.go_alone(5'000, 2);
  EXPECT_EQ(alone(5'000, 100).size(), 4U) << "now it was told";
}

TEST_F(ShadowAlone, takes_nothing_twice_of_a_group_of_which_redis_never_told) {
  auto of_each = quarter_of_an_hour();
  of_each.per = LimitConfig::Per::group;
  limit_by({of_each});
  shadow_.go_alone(1'000, 2);
  EXPECT_EQ(alone(1'000, 200, "a").size(), 50U);
  shadow_.come_back(2'000);
  shadow_.go_alone(3'000, 2);
  EXPECT_THAT(alone(3'000, 200, "a"), IsEmpty());
  EXPECT_EQ(alone(3'000, 200, "b").size(), 50U) << "nothing of this one was taken";
}

TEST_F(ShadowAlone, goes_by_what_redis_told_when_it_was_back_where_nothing_was_known_before) {
  limit_by({quarter_of_an_hour()});
  shadow_.go_alone(1'000, 2);
  left(0, 900'000'000, 6);  // a look, before asks go to Redis again
  shadow_.come_back(2'000);
  shadow_.go_alone(3'000, 2);
  EXPECT_EQ(alone(3'000, 100).size(), 3U);
}

TEST_F(ShadowAlone, goes_by_what_redis_told_when_it_was_back_in_a_later_period) {
  limit_by({quarter_of_an_hour()});
  left(0, 900'000'000, 20);
  shadow_.go_alone(1'000, 2);
  left(0, 1'800'000'000, 0);
  shadow_.come_back(901'000'000);
  shadow_.go_alone(902'000'000, 2);
  EXPECT_THAT(alone(902'000'000, 100), IsEmpty());
}

TEST_F(ShadowAlone, takes_nothing_twice_where_it_is_told_twice_that_redis_is_lost) {
  limit_by({quarter_of_an_hour()});
  left(0, 900'000'000, 20);
  shadow_.go_alone(1'000, 2);
  EXPECT_EQ(alone(1'000, 6).size(), 6U);
  shadow_.go_alone(2'000, 2);
  EXPECT_EQ(alone(2'000, 100).size(), 4U);
}

TEST_F(ShadowAlone, keeps_what_is_not_shared_whole) {
  auto own = quarter_of_an_hour();
  own.shared = false;
  limit_by({own});
  left(0, 900'000'000, 20);
  shadow_.go_alone(1'000, 2);
  EXPECT_EQ(alone(1'000, 200).size(), 100U);
}

TEST_F(ShadowAlone, keeps_a_limit_that_is_set_apart_by_its_part_and_the_others_whole) {
  auto other = quarter_of_an_hour();
  other.name = "other", other.per = LimitConfig::Per::group;
  limit_by({quarter_of_an_hour(), other});
  left(0, 900'000'000, 60);
  shadow_.divide_some(1'000, {0}, 2);
  EXPECT_EQ(alone(1'000, 200, "a").size(), 30U);
  shadow_.divide_some(2'000, {1}, 2);
  EXPECT_EQ(alone(2'000, 200, "b").size(), 50U) << "the group's part";
  EXPECT_EQ(alone(2'000, 200, "c").size(), 20U) << "what is left of the whole";
}

}  // namespace
}  // namespace penstock::redis
