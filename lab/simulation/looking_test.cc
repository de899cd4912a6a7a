// SPDX-License-Identifier: Apache-2.0
// A process looks how much waits in others, as it does for a forecast.
#include <gmock/gmock.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "redis/limits/shared_limiter.h"
#include "simulation/one_office.h"

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;
using redis::LineLook;
using testing::IsEmpty;
using testing::SizeIs;

/// Two processes that use one limit. Each reports that 40 units wait, to which 7 come in a second.
class Looking : public OneOffice {
 protected:
  explicit Looking(LimitConfig::Kind kind = PacerConfig{.qps = 10}) : limits_{{.kind = std::move(kind)}} {
    machine_.happen([&] { first_ = hub_->make_limiter("api", limits_, *this); });
    other_machine_.happen([&] { second_ = other_hub_->make_limiter("api", limits_, *this); });
    run_for(kSecond);
  }
  flow::WaitingUnits units_waiting() const override {
    ++counted_;
    return {.all = 40, .per_second = 7.25, .asks_at = asks_at_};
  }
  void answer(flow::LaneKey, const flow::Booking& booking) override { departures_ = booking.departures; }

  static void ask(Machine& machine, flow::Limiter& limiter) {
    machine.happen([&] {
      flow::Booking booking;
      limiter.ask(machine.now(), {.count = 3, .weight = 1}, booking);
    });
  }
  /// How long it took, and what the first process knows then of the other ones, and of the limits.
  struct Look {
    Time took = 0;
    std::optional<std::vector<flow::InLine>> others;
    std::size_t leave_at_once = 0;
  };
  std::optional<Look> look() {
    const Time from = world_.now();
    std::optional<Look> ended;
    bool looks = false;
    machine_.happen([&] {
      looks = hub_->look_ahead("api", [&] {
        const auto* seen = dynamic_cast<redis::SharedLimiter&>(*first_).reader()->line().seen(machine_.now());
        ended = Look{.took = world_.now() - from};
        flow::Booking booking;
        first_->rehearsal(machine_.now(), {})->ask(machine_.now(), {.count = 6}, booking);
        ended->leave_at_once = booking.departures.size();
        if (seen) ended->others = seen->line;
        if (seen) std::erase_if(*ended->others, &flow::InLine::is_own);
      });
    });
    run_for(100 * kMillisecond);
    EXPECT_EQ(looks, ended.has_value());
    return ended;
  }

  const std::vector<LimitConfig> limits_;
  Machine other_machine_{world_, kToday, 0, 0};
  Network other_network_{world_, other_machine_, hosts_, {.round_trip = 200}, [](bool) {}};
  std::unique_ptr<redis::LimiterHub> other_hub_ = std::make_unique<redis::LimiterHub>(
      other_machine_.loop(), resolver_, config_, redis::HubWatch{.on_up = [](bool) {}}, [](const Notice&) {},
      other_network_);
  std::unique_ptr<flow::Limiter> first_, second_;
  Time asks_at_ = 0;
  mutable int counted_ = 0;                  // how often a process had to tell how much waits in it
  std::vector<flow::Departure> departures_;  // of the last ask
};

TEST_F(Looking, reads_what_another_process_reports) {
  ask(machine_, *first_);
  ask(other_machine_, *second_);
  run_for(kMillisecond);
  const auto seen = look();
  ASSERT_TRUE(seen);
  EXPECT_LT(seen->took, 6 * kMillisecond);
  ASSERT_TRUE(seen->others);
  ASSERT_THAT(*seen->others, SizeIs(1));
  EXPECT_EQ(seen->others->front().units, 40);
  EXPECT_EQ(seen->others->front().per_second, 7.25);
}

TEST_F(Looking, reads_when_another_process_asks_next) {
  ask(machine_, *first_);
  ask(other_machine_, *second_);
  run_for(kMillisecond);
  asks_at_ = other_machine_.now() + 70 * kMillisecond;
  const Time on_the_way = 100;  // half of a round trip
  const Time asks_at = kToday + world_.now() + 70 * kMillisecond + on_the_way;
  const auto seen = look();
  ASSERT_TRUE(seen && seen->others);
  ASSERT_THAT(*seen->others, SizeIs(1));
  EXPECT_NEAR(seen->others->front().asks_at, static_cast<double>(asks_at - flow::kInstantZero), 50);
}

TEST_F(Looking, takes_one_call_where_nothing_waits_elsewhere) {
  ask(machine_, *first_);
  run_for(kMillisecond);
  int calls = 0;
  on_call_ = [&] { ++calls; };
  const auto seen = look();
  ASSERT_TRUE(seen);
  EXPECT_EQ(calls, 1);
  EXPECT_LT(seen->took, kMillisecond);
  ASSERT_TRUE(seen->others);
  EXPECT_THAT(*seen->others, IsEmpty());
}

TEST_F(Looking, has_another_process_count_once_for_all_that_look_at_a_time) {
  auto& second = dynamic_cast<redis::SharedLimiter&>(*second_);
  const auto others_look = [&] {
    other_machine_.happen([&] { second.message(LineLook::kMessage), second.message(LineLook::kMessage); });
  };
  others_look();
  EXPECT_EQ(counted_, 1);
  run_for(4 * kMillisecond);
  others_look();
  EXPECT_EQ(counted_, 1);
  run_for(2 * kMillisecond);
  others_look();
  EXPECT_EQ(counted_, 2);
}

TEST_F(Looking, knows_of_a_process_that_does_not_report_what_it_asked_for) {
  ask(machine_, *first_);
  ask(other_machine_, *second_);
  run_for(kMillisecond);
  other_machine_.freeze_until(world_.now() + 50 * kMillisecond);
  const auto seen = look();
  ASSERT_TRUE(seen && seen->others);
  ASSERT_THAT(*seen->others, SizeIs(1));
  EXPECT_EQ(seen->others->front().units, 3);
  EXPECT_EQ(seen->others->front().per_second, 0);
}

TEST_F(Looking, ends_in_time_though_redis_does_not_answer) {
  ask(machine_, *first_);
  run_for(kMillisecond);
  hosts_.all.front().stalls_until = world_.now() + kSecond;
  const auto seen = look();
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->took, LineLook::kMost);
  EXPECT_FALSE(seen->others);
}

TEST_F(Looking, ends_with_the_limiter) {
  bool told = false;
  machine_.happen([&] { EXPECT_TRUE(hub_->look_ahead("api", [&] { told = true; })); });
  machine_.happen([&] { first_.reset(); });
  run_for(kSecond);
  EXPECT_FALSE(told);
  machine_.happen([&] { EXPECT_FALSE(hub_->look_ahead("api", [] {})); });
}

/// At most 5 in a second.
class LookingAtSlidingWindow : public Looking {
 protected:
  LookingAtSlidingWindow() : Looking(SlidingWindowConfig{.max = 5, .interval = 1s}) {}
};

TEST_F(LookingAtSlidingWindow, knows_what_strangers_have_taken) {
  ask(machine_, *first_);
  run_for(kMillisecond);
  ASSERT_EQ(departures_.size(), 3u);
  EXPECT_EQ(look()->leave_at_once, 2u);
  machine_.happen([&] {
    const flow::Report four{.limit = 0, .count = 4, .resets = machine_.now() + 800 * kMillisecond};
    first_->learned(machine_.now(), {}, departures_.back(), four);
  });
  run_for(10 * kMillisecond);
  EXPECT_EQ(look()->leave_at_once, 1u) << "one of 4 is a stranger's";
}

}  // namespace
}  // namespace penstock::simulation
