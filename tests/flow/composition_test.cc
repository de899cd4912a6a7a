// SPDX-License-Identifier: Apache-2.0
// Several limits of random kinds together, over upstreams and groups: what leaves is held against the promise of each.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "flow/keeps.h"
#include "flow/local_booker.h"
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
  // Resets are a period apart, and not to be seen from here: no stretch shorter than a period holds more than one.
  void operator()(const CounterConfig& config) const {
    const auto period = static_cast<double>(config.period.count());
    expect_at_most(left, [&](Instant length) { return config.max * (std::floor((length + 1) / period) + 2); });
  }
  void operator()(const SemaphoreConfig&) const {}
};

/// Lanes ask at random, booked departures may be given back; refused and told ones try again some time.
class Trial {
 public:
  explicit Trial(std::uint64_t seed) : chance_(seed) {
    for (int n = chance_.from_to(1, 4); n > 0; --n) limits_.push_back(any_limit(chance_, n));
    booker_.set_limits(limits_);
  }

  void run() {
    for (int step = 0; step < 300; ++step) {
      now_ += chance_.one_in(20) ? chance_.from_to(0, 2'000'000) : chance_.from_to(0, 20'000);
      const auto group = static_cast<std::size_t>(chance_.from_to(0, 2));
      if (!left_[group].empty() && chance_.one_in(10)) give_back(group);
      ask(group);
    }
    for (const LimitConfig& config : limits_) check(config);
  }

 private:
  void ask(std::size_t group) {
    const auto count = static_cast<std::size_t>(chance_.from_to(1, 12));
    Booking booking;
    booker_.ask(now_, {kGroups[group], count, chance_.from_to(1, kHeaviest)}, booking);
    ASSERT_LE(booking.departures.size(), count);
    Time last = now_;
    for (const Departure& departure : booking.departures) {
      ASSERT_GE(departure.at, last);
      ASSERT_LE(departure.at, now_ + kHorizon);
      ASSERT_EQ(departure.limited_by == kNoLimit, departure.at == now_);
      last = departure.at;
      left_[group].push_back({kStart + static_cast<Instant>(departure.at), departure.weight});
    }
    if (booking.departures.size() == count) return;
    ASSERT_GT(booking.ask_again, now_) << "time must pass in between";
    ASSERT_GE(booking.not_before, booking.ask_again);
    ASSERT_NE(booking.limited_by, kNoLimit);
  }
  void give_back(std::size_t group) {
    const Left& latest = left_[group].back();
    const Time at = static_cast<Time>(latest.at - kStart);
    if (at <= now_) return;
    booker_.give_back(now_, kGroups[group], {at, latest.weight, kNoLimit});
    left_[group].pop_back();
  }
  void check(const LimitConfig& config) const {
    std::vector<std::vector<Left>> all(left_.begin(), left_.end());
    if (config.per == LimitConfig::Per::upstream) all = {joined(all)};
    for (const std::vector<Left>& each : all) std::visit(Promise{joined({each})}, config.kind);
  }

  Chance chance_;
  std::vector<LimitConfig> limits_;
  LocalBooker booker_{{}, kStart};
  Time now_ = 0;
  std::array<std::vector<Left>, kGroups.size()> left_;
};

TEST(Composition, keeps_the_promise_of_every_limit) {
  for (std::uint64_t seed = 0; seed < 500 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Trial(seed).run();
  }
}

}  // namespace
}  // namespace penstock::flow
