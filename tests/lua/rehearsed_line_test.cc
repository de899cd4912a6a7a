// SPDX-License-Identifier: Apache-2.0
// A rehearsal takes the steps of the scripts: whatever processes ask for, and when, each is granted as much, and told
// to come again at the same time.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "flow/make_limit.h"
#include "flow/rehearsed_line.h"
#include "lua/asker.h"
#include "support/scenario.h"

namespace penstock::lua {
namespace {

using namespace std::chrono_literals;
using namespace scenarios;
using flow::Instant;
using flow::RehearsedLine;

constexpr std::size_t kProcesses = 3;

/// Processes of one upstream that ask at random, in Redis and in a rehearsal.
class Both {
 public:
  Both(Scripts& scripts, const std::vector<LimitConfig>& limits, unsigned seed) : limits_(limits), random_(seed) {
    for (std::size_t who = 0; who < kProcesses; ++who) {
      processes_.emplace_back(scripts, "api" + std::to_string(seed), std::string(1, "abc"[who]), limits_, kStart);
      again_.push_back(0);
    }
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      const bool by_cost = !limits_[i].unit.empty();
      by_cost_ |= by_cost;
      own_.push_back(flow::make_limit(limits_[i].kind, by_cost));
      shared_.push_back({own_.back().get(), static_cast<flow::LimitIndex>(i), by_cost});
    }
  }

  /// First each asks once. Later any does, most often when it was told to.
  void step(std::size_t number) {
    SCOPED_TRACE("ask " + std::to_string(number));
    const std::size_t who = number < kProcesses ? number : any(kProcesses);
    now_ += 1 + static_cast<Time>(any(20'000));
    if (any(3) > 0) now_ = std::max(now_, again_[who]);
    reset_counters();
    const flow::Ask ask{.count = 1 + any(30),
                        .weight = any(4) == 0 ? 2 : 1,
                        .more = static_cast<int>(any(9)),
                        .cost = by_cost_ ? 1 + static_cast<int>(any(5)) : 1};
    const Answer answer = processes_[who].ask(now_, ask, number < kProcesses);
    ASSERT_EQ(answer.status, "ok");
    const auto expected = line_.book(shared_, {.now = static_cast<Instant>(kStart) + static_cast<Instant>(now_),
                                               .count = ask.count,
                                               .weight = ask.weight,
                                               .more = ask.more,
                                               .who = who,
                                               .cost = ask.cost});
    const flow::Booking& booking = answer.booking;
    EXPECT_EQ(expected.ended.granted, booking.departures.size());
    const Time last = booking.departures.empty() ? now_ : booking.departures.back().at;
    EXPECT_EQ(here(expected.ended.last), last);
    waits_ += answer.granted_all ? 0 : 1;
    if (answer.granted_all) return;
    EXPECT_EQ(here(expected.told.not_before), booking.not_before);
    EXPECT_EQ(expected.told.again == flow::kAlways ? 0 : here(expected.told.again), booking.ask_again);
    EXPECT_EQ(expected.told.by, booking.limited_by);
    again_[who] = booking.ask_again;
  }
  int waits() const { return waits_; }

 private:
  /// In Redis the leader resets, here time does.
  void reset_counters() {
    for (std::size_t i = 0; i < own_.size(); ++i) {
      while (here(own_[i]->reset_at()) <= now_) {
        const Instant at = own_[i]->reset_at();
        processes_[0].reset(here(at), i, {});
        own_[i]->refresh(at);
      }
    }
  }
  std::size_t any(std::size_t many) { return std::uniform_int_distribution<std::size_t>(0, many - 1)(random_); }
  static Time here(Instant at) {
    if (at == flow::kNever) return std::numeric_limits<Time>::max();
    return static_cast<Time>(flow::rounded_up(at - static_cast<Instant>(kStart)));
  }
  static std::vector<flow::InLine> others() { return {{.units = 0}, {.units = 0}}; }

  const std::vector<LimitConfig> limits_;
  std::mt19937 random_;
  std::vector<Asker> processes_;
  std::vector<Time> again_;
  std::vector<std::unique_ptr<flow::Limit>> own_;
  std::vector<flow::SharedLimit> shared_;
  bool by_cost_ = false;
  RehearsedLine line_{others(), static_cast<Instant>(kStart), {}};
  Time now_ = ms(5);
  int waits_ = 0;
};

class RehearsedLineTest : public testing::Test {
 protected:
  /// The first `by_cost` of them count what requests cost.
  void expect_twins(std::vector<LimitConfig::Kind> kinds, std::size_t by_cost = 0) {
    std::vector<LimitConfig> limits;
    for (auto& kind : kinds)
      limits.push_back({.kind = std::move(kind),
                        .name = "limit-" + std::to_string(limits.size()),
                        .unit = limits.size() < by_cost ? "tokens" : ""});
    int waits = 0;
    for (unsigned seed = 1; seed <= 8; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Both both(scripts_, limits, seed + 100 * runs_);
      for (std::size_t n = 0; n < 60 && !HasFailure(); ++n) both.step(n);
      waits += both.waits();
    }
    ++runs_;
    EXPECT_GT(waits, 100);
  }

  test::RedisServer server_;
  Scripts scripts_{server_};
  unsigned runs_ = 0;
};

TEST_F(RehearsedLineTest, of_a_pacer) {
  expect_twins({PacerConfig{.qps = 40, .max_burst = 10}});
  expect_twins({PacerConfig{.qps = 900, .max_burst = 3}});
}
TEST_F(RehearsedLineTest, of_a_window) {
  expect_twins({WindowConfig{42, 1s}});
  expect_twins({WindowConfig{9, 100ms}});
  expect_twins({WindowConfig{.reservoir = 42, .interval = 1s, .spread = true}});
}
TEST_F(RehearsedLineTest, of_a_sliding_window) {
  expect_twins({SlidingWindowConfig{42, 1s}});
  expect_twins({SlidingWindowConfig{9, 100ms}});
}
TEST_F(RehearsedLineTest, of_a_token_bucket) {
  expect_twins({TokenBucketConfig{50, 4, 100ms}});
  expect_twins({TokenBucketConfig{5, 2, 7ms}});
}
TEST_F(RehearsedLineTest, of_a_counter) {
  expect_twins({CounterConfig{42, 1s}});
  expect_twins({CounterConfig{9, 100ms}});
}
TEST_F(RehearsedLineTest, of_several_limits) {
  expect_twins({PacerConfig{.qps = 60, .max_burst = 4}, SlidingWindowConfig{90, 2s}, WindowConfig{42, 1s}});
}
TEST_F(RehearsedLineTest, of_costs) {
  expect_twins({PacerConfig{.qps = 40, .max_burst = 10}}, 1);
  expect_twins({WindowConfig{42, 1s}}, 1);
  expect_twins({SlidingWindowConfig{42, 1s}}, 1);
  expect_twins({TokenBucketConfig{50, 4, 100ms}}, 1);
  expect_twins({CounterConfig{42, 1s}}, 1);
  expect_twins({TokenBucketConfig{90, 9, 100ms}, PacerConfig{.qps = 60, .max_burst = 4}}, 1);
}

}  // namespace
}  // namespace penstock::lua
