// SPDX-License-Identifier: Apache-2.0
// Limits that a process keeps by itself beside shared ones hold exactly, although several lanes ask Redis at once.
#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "simulation/one_office.h"

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Time kRoundTrip = 40 * kMillisecond, kOneWay = kRoundTrip / 2;

/// Asks of several lanes go out in the same moment, one round trip before they are answered.
class KeptHere : public OneOffice {
 protected:
  explicit KeptHere(Time ahead = 0) : OneOffice({.round_trip = kRoundTrip}, 7, ahead) {}

  /// The limit beside a shared one, a semaphore if none is given. A first departure tells how far away Redis is;
  /// refills and resets keep its rhythm.
  void keep(const LimitConfig::Kind& kind, int capacity = 100) { keep(kind, SemaphoreConfig{.capacity = capacity}); }
  void keep(const LimitConfig::Kind& kind, const LimitConfig::Kind& in_redis) {
    const LimitConfig own{.kind = kind, .name = "own", .shared = false}, shared{.kind = in_redis, .name = "shared"};
    machine_.happen([&] { limiter_ = hub_->make_limiter("api", {own, shared}, *this); });
    run_for(kSecond);
    ask({"first"}, 1);
    run_for(990 * kMillisecond);
    ASSERT_THAT(std::exchange(booked_, {}), ElementsAre(kOneWay));
    retried_ = 0;  // all lanes may ask once Redis is there
  }
  void ask(const std::vector<std::string>& groups, int weight) {
    asked_ = machine_.now();
    machine_.happen([&] {
      for (const auto& group : groups) {
        flow::Booking booking;
        if (limiter_->ask(asked_, {.group = group, .weight = weight}, booking)) answer(flow::LaneKey(group), booking);
      }
    });
  }
  void answer(flow::LaneKey lane, const flow::Booking& booking) override {
    answers_[std::string(lane.group)] = booking;
    freed_.insert(freed_.end(), booking.freed.begin(), booking.freed.end());
    for (const auto& departure : booking.departures) booked_.push_back(departure.at - asked_);
  }

  void retry(flow::Booking::Scope, flow::LaneKey) override { ++retried_; }

  std::unique_ptr<flow::Limiter> limiter_;
  Time asked_ = 0;
  std::map<std::string, flow::Booking> answers_;
  std::vector<Time> booked_;  // departures, in µs since the ask
  int retried_ = 0;
  std::vector<flow::LimitIndex> freed_;
};

TEST_F(KeptHere, a_counter_reserves_all_units_of_an_ask_under_way) {
  keep(CounterConfig{.max = 11, .period = 1h});
  ask({"a", "b"}, 6);
  EXPECT_THAT(answers_["b"].departures, IsEmpty());
  EXPECT_GT(answers_["b"].not_before, asked_) << "1 and 6 and 6 units do not fit into 11";
  run_for(kSecond);
  EXPECT_THAT(booked_, ElementsAre(kOneWay));
}

TEST_F(KeptHere, departures_leave_a_refill_apart_though_redis_grants_them_at_once) {
  keep(TokenBucketConfig{.capacity = 10, .refill_amount = 10, .refill_frequency = 9ms});
  ask({"a", "b", "c"}, 6);
  run_for(kSecond);
  EXPECT_THAT(booked_, ElementsAre(kOneWay, kOneWay + 9'000, kOneWay + 18'000));
}

TEST_F(KeptHere, what_redis_grants_before_a_reset_is_taken_back_and_the_lane_asks_again) {
  keep(CounterConfig{.max = 10, .period = 30ms}, 3);
  ask({"a", "b"}, 6);
  run_for(kSecond);
  EXPECT_THAT(booked_, ElementsAre(kOneWay));
  EXPECT_THAT(answers_["b"].departures, IsEmpty());
  EXPECT_EQ(answers_["b"].ask_again, asked_ + kRoundTrip);
  ask({"b"}, 6);
  run_for(kSecond);
  EXPECT_THAT(booked_, ElementsAre(kOneWay, kOneWay)) << "what was taken back counts nowhere";
}

/// Or it would be told to wait once more, and so on for as long as Redis puts it off.
TEST_F(KeptHere, a_lane_that_redis_puts_off_is_not_told_to_ask_again_for_the_permit_that_it_gives_up) {
  keep(SemaphoreConfig{.capacity = 2}, SlidingWindowConfig{.max = 1, .interval = 1h});
  ask({"a"}, 1);
  run_for(kSecond);
  EXPECT_GT(answers_["a"].ask_again, asked_ + 3'000 * kSecond);
  EXPECT_EQ(retried_, 0);
  EXPECT_THAT(freed_, IsEmpty());
}

TEST_F(KeptHere, a_permit_that_was_reserved_in_vain_is_for_a_lane_that_waits_for_it) {
  keep(SemaphoreConfig{.capacity = 2}, SlidingWindowConfig{.max = 1, .interval = 1h});
  ask({"a", "b"}, 1);
  EXPECT_EQ(answers_["b"].stop, flow::Booking::Stop::permit);
  EXPECT_EQ(answers_["b"].limited_by, 0);
  run_for(kSecond);
  EXPECT_EQ(retried_, 0);
  EXPECT_THAT(std::exchange(freed_, {}), ElementsAre(0));
  ask({"b"}, 1);
  run_for(kSecond);
  EXPECT_EQ(answers_["b"].stop, flow::Booking::Stop::turn);
  EXPECT_EQ(retried_, 0);
}

class AheadOfRedis : public KeptHere {
 protected:
  AheadOfRedis() : KeptHere(3'600 * kSecond) {}
};

TEST_F(AheadOfRedis, the_first_departure_leaves_when_redis_says) { keep(CounterConfig{.max = 11, .period = 1h}); }

}  // namespace
}  // namespace penstock::simulation
