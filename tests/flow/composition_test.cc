// SPDX-License-Identifier: Apache-2.0
// Several limits of random kinds together, over upstreams and groups, that come, go and change places: what leaves is
// held against the promise of each, as long as it was there.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/keeps.h"
#include "flow/local_limiter.h"
#include "support/scenario.h"

namespace penstock::flow {
namespace {

using namespace scenarios;

constexpr std::array<std::string_view, 3> kGroups{"a", "b", "c"};
constexpr int kHeaviest = 4;

LimitConfig any_limit(Chance& chance, int number) {
  const Time interval = ms(std::vector{20, 100, 500, 1'000}[chance.from_to(0, 3)]);
  const int size = chance.from_to(kHeaviest, 20);
  LimitConfig config = std::vector{pacer(chance.from_to(20, 2'000), chance.one_in(2) ? size : 0),
                                   window(size, interval),
                                   spread(size, interval),
                                   sliding(size, interval),
                                   bucket(size, chance.from_to(1, size), interval),
                                   counter(size, interval)}[chance.from_to(0, 5)];
  if (chance.one_in(3)) config = per_group(config);
  if (chance.one_in(6)) config = refusing(config);
  return named(std::to_string(number), config);
}

struct Promise {
  const std::vector<Left>& left;

  void operator()(const PacerConfig& config) const {
    expect_at_most(
        left, [&](Instant length) { return config.qps * (length + 2) / 1'000'000 + config.max_burst + kHeaviest; });
  }
  void operator()(const WindowConfig& config) const {
    std::map<double, int> units;
    for (const Left& departure : left) {
      const double number = std::floor(departure.at / static_cast<double>(config.interval.count()));
      ASSERT_LE(units[number] += departure.weight, config.reservoir);
    }
  }
  void operator()(const SlidingWindowConfig& config) const {
    const auto interval = static_cast<double>(config.interval.count()) + 2 * kGuard;
    expect_at_most(left, [&](Instant length) { return length < interval ? config.max : 1e9; });
  }
  void operator()(const TokenBucketConfig& config) const {
    const auto period = static_cast<double>(config.refill_frequency.count());
    expect_at_most(left, [&](Instant length) {
      return config.capacity + config.refill_amount * (std::floor((length + 1) / period) + 1);
    });
  }
  // CounterResets are a period apart, and not to be seen from here: no stretch shorter than a period holds more than
  // one.
  void operator()(const CounterConfig& config) const {
    const auto period = static_cast<double>(config.period.count());
    expect_at_most(left, [&](Instant length) { return config.max * (std::floor((length + 1) / period) + 2); });
  }
  void operator()(const AdaptiveConfig& config) const {
    expect_at_most(left, [&](Instant length) { return config.max * (length + 2) / 1'000'000 + kHeaviest; });
  }
  void operator()(const SemaphoreConfig&) const {}
};

/// Lanes ask at random, booked departures may be given back; refused and told ones try again some time.
class CompositionTrial {
 public:
  CompositionTrial(std::uint64_t seed, bool changing) : chance_(seed), changing_(changing) {
    for (int n = chance_.from_to(1, 4); n > 0; --n) come();
    change();
  }

  void run() {
    for (int step = 0; step < 300; ++step) {
      now_ += chance_.one_in(20) ? chance_.from_to(0, 2'000'000) : chance_.from_to(0, 20'000);
      if (changing_ && chance_.one_in(30)) come_and_go();
      const auto group = static_cast<std::size_t>(chance_.from_to(0, 2));
      if (!left_[group].empty() && chance_.one_in(10)) give_back(group);
      ask(group);
    }
    for (const Life& life : lives_) check(life);
  }

 private:
  struct Life {
    LimitConfig config;
    ConfigEpoch from, to = std::numeric_limits<ConfigEpoch>::max();
  };
  struct Gone {
    Left left;
    ConfigEpoch epoch;
  };

  void come() {
    limits_.push_back(any_limit(chance_, ++number_));
    lives_.push_back({limits_.back(), 0});
    is_new_.insert(limits_.back().name);
  }
  void come_and_go() {
    if (!limits_.empty() && chance_.one_in(2)) {
      const auto gone = limits_.begin() + chance_.from_to(0, static_cast<int>(limits_.size()) - 1);
      std::ranges::find(lives_, gone->name, [](const Life& life) { return life.config.name; })->to = limiter_.epoch();
      limits_.erase(gone);
    }
    if (limits_.size() < 5 && chance_.one_in(2)) come();
    if (limits_.size() > 1 && chance_.one_in(2)) std::swap(limits_.front(), limits_.back());
    change();
  }
  void change() {
    limiter_.change(now_, limits_);
    for (Life& life : lives_) {
      if (is_new_.contains(life.config.name)) life.from = limiter_.epoch();
    }
    is_new_.clear();
  }

  void ask(std::size_t group) {
    const auto count = static_cast<std::size_t>(chance_.from_to(1, 12));
    Booking booking;
    limiter_.ask(now_, {.group = kGroups[group], .count = count, .weight = chance_.from_to(1, kHeaviest)}, booking);
    ASSERT_LE(booking.departures.size(), count);
    Time last = now_;
    for (const Departure& departure : booking.departures) {
      ASSERT_GE(departure.at, last);
      ASSERT_LE(departure.at, now_ + kHorizon);
      ASSERT_EQ(departure.limited_by == kNoLimit, departure.at == now_);
      last = departure.at;
      left_[group].push_back({{kStart + static_cast<Instant>(departure.at), departure.weight}, departure.epoch});
    }
    if (booking.departures.size() == count) return;
    ASSERT_GT(booking.ask_again, now_) << "time must pass in between";
    ASSERT_GE(booking.not_before, booking.ask_again);
    ASSERT_NE(booking.limited_by, kNoLimit);
  }
  void give_back(std::size_t group) {
    const auto& [latest, epoch] = left_[group].back();
    const Time at = static_cast<Time>(latest.at - kStart);
    if (at <= now_) return;
    limiter_.give_back(now_, LaneKey(kGroups[group]), {at, latest.weight, kNoLimit, epoch});
    left_[group].pop_back();
  }
  void check(const Life& life) const {
    std::vector<std::vector<Left>> all(left_.size());
    for (std::size_t group = 0; group < left_.size(); ++group) {
      for (const auto& [left, epoch] : left_[group]) {
        if (epoch >= life.from && epoch <= life.to) all[group].push_back(left);
      }
    }
    if (life.config.per == LimitConfig::Per::upstream) all = {joined(all)};
    for (const std::vector<Left>& each : all) std::visit(Promise{joined({each})}, life.config.kind);
  }

  Chance chance_;
  const bool changing_;
  int number_ = 0;
  std::vector<Life> lives_;
  std::set<std::string> is_new_;
  std::vector<LimitConfig> limits_;
  LocalLimiter limiter_{{}, kStart};
  Time now_ = 0;
  std::array<std::vector<Gone>, kGroups.size()> left_;
};

TEST(Composition, keeps_the_promise_of_every_limit) {
  for (std::uint64_t seed = 0; seed < 500 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    CompositionTrial(seed, false).run();
  }
}

TEST(Composition, keeps_the_promise_of_every_limit_though_others_come_and_go) {
  for (std::uint64_t seed = 0; seed < 500 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    CompositionTrial(seed, true).run();
  }
}

}  // namespace
}  // namespace penstock::flow
