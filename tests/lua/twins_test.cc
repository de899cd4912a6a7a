// SPDX-License-Identifier: Apache-2.0
// Local and Redis are twins: whatever happens to both, the same departures come of it, for the same reasons.
#include <gtest/gtest.h>

#include <random>

#include "lua/scripted.h"
#include "support/machine.h"
#include "support/scenario_here.h"

namespace penstock::lua {
namespace {

using namespace scenarios;

/// Where what a state's time to live has passed is gone, on the tests' clock too: see clock.lua of the tests, by which
/// a value stays as many milliseconds as it otherwise would microseconds.
class Forgetful final : public Asked {
 public:
  Forgetful(Asked& of, test::RedisServer& server) : of_(of), server_(server) {}
  flow::Booking ask(Time now, const flow::Ask& ask) override {
    forget(now);
    const flow::Booking booking = of_.ask(now, ask);
    note(now);
    return booking;
  }
  void give_back(Time now, std::string_view group, const flow::Departure& departure) override {
    forget(now);
    of_.give_back(now, group, departure);
    note(now);
  }
  void left(Time now, std::string_view group, const flow::Departure& departure) override {
    forget(now);
    of_.left(now, group, departure);
    note(now);
  }
  void refused(Time now, std::string_view group, const flow::Departure& departure) override {
    forget(now);
    of_.refused(now, group, departure);
    note(now);
  }
  void learned(Time now, std::string_view group, const flow::Departure& departure,
               const flow::Report& report) override {
    forget(now);
    of_.learned(now, group, departure, report);
    note(now);
  }
  void settle(Time now, std::string_view group, const flow::Departure& departure, int cost) override {
    forget(now);
    of_.settle(now, group, departure, cost);
    note(now);
  }
  void pause(Time now, std::string_view group, Time until) override {
    forget(now);
    of_.pause(now, group, until);
    note(now);
  }
  void change(Time now, const std::vector<LimitConfig>& limits) override { of_.change(now, limits); }
  int forgotten() const { return forgotten_; }

 private:
  struct Life {
    std::string value;
    Time ends;
  };
  void forget(Time now) {
    for (auto& [key, life] : lives_) {
      if (life.ends <= now) forgotten_ += static_cast<int>(server_.run({"DEL", key}).integer);
    }
    std::erase_if(lives_, [now](const auto& of) { return of.second.ends <= now; });
  }
  void note(Time now) {
    for (const auto& item : server_.run({"KEYS", "*"}).items) {
      if (item.text.ends_with(":head")) continue;  // its day is not stretched
      const std::string value = server_.run({"DUMP", item.text}).text;
      Life& life = lives_[item.text];
      if (life.value != value) life = {value, now + server_.run({"PTTL", item.text}).integer};
    }
  }

  Asked& of_;
  test::RedisServer& server_;
  std::map<std::string, Life> lives_;
  int forgotten_ = 0;
};

/// Limits of chance, of the kinds that `kinds` names, and chance arrivals, idle times, pauses and changes.
class Chance {
 public:
  Chance(unsigned seed, std::vector<int> kinds, bool grouped, bool uniform, bool late)
      : random_(seed),
        kinds_(std::move(kinds)),
        grouped_(grouped),
        uniform_(uniform),
        late_(late),
        learns_(std::ranges::find(kinds_, 5) != kinds_.end()),
        told_(late && (std::ranges::find(kinds_, 1) != kinds_.end() || std::ranges::find(kinds_, 2) != kinds_.end())),
        interval_(one_of<Time>({ms(7), ms(100), ms(250), sec(1)})) {}

  /// Limits count costs from now on, which are corrected now and then.
  void with_costs() { costs_ = true; }

  Scenario scenario() {
    Scenario made{.name = "chance", .limits = limits()};
    Time now = 0;
    for (int i = 0; i < 60; ++i) {
      now += one_of<Time>({0, 7, 900, ms(2), ms(13), ms(49), ms(51), ms(180), sec(1.3)}) + up_to(3);
      made.events.push_back(event(now));
    }
    return made;
  }

 private:
  Event event(Time now) {
    const int what = up_to(40);
    if (what == 0) return Change{now, limits()};
    if (what == 1 && !uniform_) return Pause{now, now + ms(1) * up_to(400), up_to(1) ? group() : std::string_view()};
    if (late_ && what < 12 && arrived_ > 0)
      return LeaveLate{now, static_cast<std::size_t>(arrived_ - 1 - up_to(std::min(4, arrived_ - 1)))};
    if (learns_ && what >= 12 && what < 20 && arrived_ > 0)
      return Refuse{now, static_cast<std::size_t>(arrived_ - 1 - up_to(std::min(9, arrived_ - 1)))};
    if (told_ && what >= 20 && what < 32 && arrived_ > 0) return learn(now);
    if (costs_ && what >= 12 && arrived_ > 0 && up_to(1))
      return Settle{now, static_cast<std::size_t>(arrived_ - 1 - up_to(std::min(5, arrived_ - 1))),
                    one_of({0, 1, 2, 5, 24})};
    Arrive arrival =
        uniform_ ? Arrive{now, 1, 1, group()} : Arrive{now, 1 + up_to(3), one_of({1, 1, 1, 2, 3}), group()};
    if (costs_) arrival.weight = 1, arrival.cost = one_of({1, 2, 3, 3, 20});
    arrived_ += arrival.count;
    return arrival;
  }
  /// Of the window that is open, or, now and then, of any stretch of time.
  Learn learn(Time now) {
    std::size_t limit = 0;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      if ((kinds_[i] == 1 || kinds_[i] == 2) && (limit == 0 || up_to(1))) limit = i;
    }
    const Time wall = static_cast<Time>(kStart) + flow::kInstantZero + now;
    const Time open = now - wall % interval_ + interval_;
    const Time resets = up_to(3) ? open : now - ms(1) + up_to(static_cast<int>(interval_));
    const auto back = static_cast<std::size_t>(up_to(std::min(9, arrived_ - 1)));
    return {now, static_cast<std::size_t>(arrived_) - 1 - back, static_cast<LimitIndex>(limit), up_to(12), resets};
  }
  std::string_view group() { return grouped_ ? one_of<std::string_view>({"a", "a", "b"}) : std::string_view(); }

  std::vector<LimitConfig> limits() {
    std::vector<LimitConfig> made;
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      LimitConfig limit = of_kind(kinds_[i]);
      limit.name = "limit-" + std::to_string(i);
      if (grouped_ && i % 2 == 0) limit.per = LimitConfig::Per::group;
      if (costs_ && i % 2 == 0) limit.unit = "tokens";
      made.push_back(limit);
    }
    return made;
  }
  LimitConfig of_kind(int kind) {
    // A changed interval is noticed by whoever asks, and a period that was shortened ends now in Redis, and when it was
    // due here: so these do not change.
    const bool keeps = kind == 1 || kind == 2 || kind == 4;
    const Time interval = keeps ? interval_ : one_of<Time>({ms(7), ms(100), ms(250), ms(333), sec(1)});
    const int size = 3 + up_to(5);
    switch (kind) {
      case 0: {  // by names: compilers differ in the order in which they evaluate arguments
        const double factor = one_of({0.25, 0.5, 1.0});
        const int burst = up_to(1) * up_to(9);
        return pacer(one_of({17.0, 400.0, 3'000.0, 7'000.0, 30'000.0}), burst, factor);
      }
      case 1: return up_to(3) ? window(size, interval) : spread(size, interval);
      case 2: return sliding(size, interval);
      case 3: return bucket(size, 1 + up_to(size), interval);
      case 4: return counter(size, interval);
      default: {
        const double min = one_of({0.3, 5.0, 40.0});
        return adaptive(min, min * one_of({1.0, 7.0, 300.0}));
      }
    }
  }

  int up_to(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }
  template <typename T>
  T one_of(std::initializer_list<T> all) {
    return all.begin()[up_to(static_cast<int>(all.size()) - 1)];
  }

  std::mt19937 random_;
  const std::vector<int> kinds_;
  const bool grouped_;
  const bool uniform_;  // only single requests of weight 1, and no pauses
  const bool late_;     // some leave later than booked
  const bool learns_;   // some are refused by the upstream
  const bool told_;     // some answers say what the upstream has counted
  const Time interval_;
  int arrived_ = 0;
  bool costs_ = false;
};

class Twins : public testing::Test {
 protected:
  void agree(const std::vector<int>& kinds, bool grouped, unsigned seeds, bool uniform = false, bool late = false,
             unsigned first = 1, bool costs = false) {
    for (unsigned seed = first; seed < first + seeds && !HasFailure(); ++seed) {
      Chance chance(seed, kinds, grouped, uniform, late);
      if (costs) chance.with_costs();
      const Scenario scenario = chance.scenario();
      AskedHere here(scenario.limits);
      Scripted there(scripts_, "seed" + std::to_string(seed), scenario.limits);
      const auto expected = Course(here).of(scenario);
      const auto seen = Course(there).of(scenario);
      ASSERT_EQ(expected.size(), seen.size());
      for (std::size_t i = 0; i < seen.size(); ++i) {
        ASSERT_EQ(expected[i], seen[i]) << "the " << i << "th request, seed " << seed << ", kinds "
                                        << testing::PrintToString(kinds);
      }
      EXPECT_FALSE(scripts_.server().run({"FLUSHALL"}).is_error());
    }
  }

  test::RedisServer server_;
  Scripts scripts_{server_};
};

// A bucket or a counter that was forgotten begins its periods anew, with a departure: not these.
TEST_F(Twins, agree_although_redis_forgets_what_is_over) {
  int forgotten = 0;
  for (const std::vector<int>& kinds : std::vector<std::vector<int>>{{0}, {1}, {2}, {0, 1, 2}}) {
    for (unsigned seed = 1; seed <= 10 && !HasFailure(); ++seed) {
      Scenario scenario = Chance(seed, kinds, seed % 2 == 0, false, true).scenario();
      std::erase_if(scenario.events, [](const Event& event) { return std::holds_alternative<Change>(event); });
      AskedHere here(scenario.limits);
      Scripted there(scripts_, "seed", scenario.limits);
      Forgetful forgetful(there, server_);
      const auto expected = Course(here).of(scenario);
      const auto seen = Course(forgetful).of(scenario);
      for (std::size_t i = 0; i < seen.size(); ++i) {
        ASSERT_EQ(expected.at(i), seen[i]) << "the " << i << "th request, seed " << seed;
      }
      forgotten += forgetful.forgotten();
      server_.run({"FLUSHALL"});
    }
  }
  EXPECT_GT(forgotten, 50);
}

TEST_F(Twins, agree_on_pacers) { agree({0}, false, 40); }
TEST_F(Twins, agree_on_windows) { agree({1}, false, 40); }
TEST_F(Twins, agree_on_sliding_windows) { agree({2}, false, 40); }
TEST_F(Twins, agree_on_token_buckets) { agree({3}, false, 40); }
TEST_F(Twins, agree_on_counters) { agree({4}, false, 40); }
TEST_F(Twins, agree_on_adaptive_limits) { agree({5}, false, 200); }
TEST_F(Twins, agree_on_adaptive_limits_of_groups) { agree({5}, true, 40); }
TEST_F(Twins, agree_on_adaptive_limits_beside_others) {
  agree({5, 2}, false, 40, false, true);
  agree({0, 5}, false, 40);
}
TEST_F(Twins, agree_on_pacer_and_window) { agree({0, 1}, false, 40); }
TEST_F(Twins, agree_on_pacer_and_bucket) { agree({3, 0}, false, 40); }
TEST_F(Twins, agree_on_pacer_and_sliding_window) { agree({2, 0}, false, 40); }
// The first seed asks tens of thousands of times, once a microsecond, and so does the 22nd: under a sanitizer the
// twenty between them will do.
TEST_F(Twins, agree_on_all_kinds_together) {
  agree({0, 1, 2, 3, 4}, false, 20, false, false, test::kSanitized ? 2 : 1);
}
TEST_F(Twins, agree_on_all_kinds_together_with_other_seeds) {
  if (!test::kSanitized) agree({0, 1, 2, 3, 4}, false, 20, false, false, 21);
}
TEST_F(Twins, agree_on_who_leaves_late) {
  for (const std::vector<int>& kinds : std::vector<std::vector<int>>{{1}, {2}, {2, 0}, {2, 1}, {2, 2}}) {
    agree(kinds, false, 40, false, true);
  }
  for (const int kind : {1, 2}) agree({kind}, true, 40, false, true);
}
TEST_F(Twins, agree_on_what_requests_have_cost) {
  for (const std::vector<int>& kinds : std::vector<std::vector<int>>{{0}, {1}, {2}, {3}, {4}, {3, 0}, {2, 1}}) {
    agree(kinds, false, 40, false, false, 1, true);
  }
}
TEST_F(Twins, agree_on_what_requests_of_groups_have_cost) {
  for (const int kind : {0, 1, 2, 3, 4}) agree({kind}, true, 40, false, true, 1, true);
}
TEST_F(Twins, agree_on_pacers_of_groups) { agree({0}, true, 40); }
TEST_F(Twins, agree_on_windows_of_groups) { agree({1}, true, 40); }
TEST_F(Twins, agree_on_sliding_windows_of_groups) { agree({2}, true, 40); }
TEST_F(Twins, agree_on_token_buckets_of_groups) { agree({3}, true, 40); }
TEST_F(Twins, agree_on_counters_of_groups) { agree({4}, true, 40); }
// Of a turn that one lane took another takes the booking: with weights, or while its group pauses, that is not the same
// as taking none. So these are of one kind here.
TEST_F(Twins, agree_on_limits_of_groups_and_of_their_upstream) { agree({1, 3}, true, 40, true); }

}  // namespace
}  // namespace penstock::lua
