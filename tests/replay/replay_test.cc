// SPDX-License-Identifier: Apache-2.0
// One upstream in virtual time: what slots, limits and the queue make of the same arrivals.
#include "replay/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "replay/log_lines.h"

namespace penstock::replay {
namespace {

using testing::Each;
using testing::ElementsAre;

/// All requests of a log, replayed at one upstream.
struct Played {
  Played(const std::string& text, const UpstreamSettings& settings, EventLogReader::Placing placing = one_place,
         std::size_t most_repeats = 1000)
      : read(text, std::move(placing)), order(read.log.size()), outcomes(read.log.size()) {
    std::iota(order.begin(), order.end(), 0U);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t number) { return read.log[number].arrived; });
    Repeats all{.most = most_repeats};
    Replay(read.log, read.log.places[0], order, settings, 25 * kMillisecond).run(outcomes, all);
    repeats.assign(all.played.begin(), all.played.end());
    left_out = all.left_out;
  }
  std::vector<Time> waits() const {
    std::vector<Time> all;
    for (const auto& outcome : outcomes) all.push_back(outcome.wait);
    return all;
  }
  std::vector<Fate> fates() const {
    std::vector<Fate> all;
    for (const auto& outcome : outcomes) all.push_back(outcome.fate);
    return all;
  }

  ReadLog read;
  std::vector<std::uint32_t> order;
  std::vector<Outcome> outcomes;
  std::vector<Sending> repeats;
  std::uint64_t left_out = 0;
};

/// So many requests that arrive at once, and were sent at once.
std::string crowd(int count, Time flight, const std::string& more = "") {
  std::string text;
  for (int i = 0; i < count; ++i) text += sent("c" + std::to_string(i), 0, 0, flight, more);
  return text;
}

UpstreamSettings with(LimitConfig::Kind kind, LimitConfig::Per per = LimitConfig::Per::upstream) {
  UpstreamSettings settings;
  settings.limits.push_back({.kind = kind, .per = per});
  return settings;
}

TEST(Replay, gives_slots_in_the_order_of_arrival_as_flights_end) {
  UpstreamSettings settings;
  settings.max_concurrent = 2;
  const Played played(crowd(5, 10 * kMillisecond), settings);
  EXPECT_THAT(played.waits(), ElementsAre(0, 0, 10'000, 10'000, 20'000));
  EXPECT_THAT(played.fates(), Each(Fate::sent));
}

TEST(Replay, takes_flights_as_they_were_logged) {
  UpstreamSettings settings;
  settings.max_concurrent = 1;
  const Played played(sent("a", 0, 0, 7'000) + sent("b", 1'000, 500, 3'000) + sent("c", 2'000, 90'000, 1'000),
                      settings);
  EXPECT_THAT(played.waits(), ElementsAre(0, 6'000, 8'000));
}

TEST(Replay, spreads_departures_by_a_pacer) {
  const Played played(crowd(4, 0), with(PacerConfig{.qps = 50}));
  EXPECT_THAT(played.waits(), ElementsAre(0, 20'000, 40'000, 60'000));
}

TEST(Replay, opens_windows_when_they_opened) {
  const Time late = 59 * kSecond + 900 * kMillisecond;  // just before a whole minute
  std::string text;
  for (int i = 0; i < 4; ++i) text += sent("w" + std::to_string(i), late, 0, 0);
  const auto waits = Played(text, with(WindowConfig{.reservoir = 3, .interval = 1min})).waits();
  EXPECT_THAT(std::vector(waits.begin(), waits.begin() + 3), Each(0));
  EXPECT_GE(waits[3], 100 * kMillisecond);
  EXPECT_LE(waits[3], 105 * kMillisecond);
}

TEST(Replay, charges_weights) {
  std::string text = sent("a", 0, 0, 0, R"("weight":4)") + sent("b", 0, 0, 0);
  EXPECT_THAT(Played(text, with(PacerConfig{.qps = 10})).waits(), ElementsAre(0, 400'000));
  UpstreamSettings light;
  light.max_weight = 3;
  EXPECT_THAT(Played(text, light).fates(), ElementsAre(Fate::limit_too_heavy, Fate::sent));
}

TEST(Replay, keeps_limits_of_groups_apart) {
  const auto by_id = [](const EventLine& event) { return Place{.group = event.id == "c1" ? 7U : 8U}; };
  const Played played(crowd(3, 0), with(PacerConfig{.qps = 50}, LimitConfig::Per::group), by_id);
  EXPECT_THAT(played.waits(), ElementsAre(0, 0, 20'000));
}

TEST(Replay, refuses_what_a_full_queue_has_no_place_for) {
  UpstreamSettings settings;
  settings.max_concurrent = 1;
  settings.queue.max_pending = 1;
  EXPECT_THAT(Played(crowd(3, kSecond), settings).fates(), ElementsAre(Fate::sent, Fate::sent, Fate::queue_full));
}

TEST(Replay, refuses_what_waits_too_long) {
  UpstreamSettings settings;
  settings.max_concurrent = 1;
  settings.queue.max_wait = 100ms;
  const Played played(crowd(2, kSecond), settings);
  EXPECT_THAT(played.fates(), ElementsAre(Fate::sent, Fate::wait_over));
  EXPECT_EQ(played.outcomes[1].wait, 100 * kMillisecond);
}

TEST(Replay, refuses_by_a_limit_in_refuse_mode) {
  auto settings = with(CounterConfig{.max = 1, .period = 1min});
  settings.limits[0].mode = LimitConfig::Mode::refuse;
  EXPECT_THAT(Played(crowd(2, 0), settings).fates(), ElementsAre(Fate::sent, Fate::limit_refused));
}

TEST(Replay, is_not_held_by_a_limit_in_shadow_mode) {
  auto settings = with(CounterConfig{.max = 1, .period = 1min});
  settings.limits[0].mode = LimitConfig::Mode::shadow;
  const Played played(crowd(2, 0), settings);
  EXPECT_THAT(played.fates(), Each(Fate::sent));
  EXPECT_THAT(played.waits(), Each(0));
}

// The middle request was refused: it arrived all the same, and flies for as long as is assumed, 25 ms.
TEST(Replay, sends_what_was_refused_then) {
  UpstreamSettings settings;
  settings.max_concurrent = 1;
  const Played played(sent("a", 0, 0, 10'000) + queue_full("b", 1'000) + sent("c", 2'000, 0, 1'000), settings);
  EXPECT_THAT(played.fates(), Each(Fate::sent));
  EXPECT_THAT(played.waits(), ElementsAre(0, 9'000, 33'000));
}

TEST(Replay, lets_a_client_leave_after_as_long_a_wait) {
  UpstreamSettings settings;
  settings.max_concurrent = 1;
  const auto left = line("gone", "b", 6'000, wait_of(5'000));  // arrived after 1 ms
  EXPECT_THAT(Played(sent("a", 0, 0, 10'000) + left + sent("c", 2'000, 0, 0), settings).fates(),
              ElementsAre(Fate::sent, Fate::gone, Fate::sent));
  const Played sooner(sent("a", 0, 0, 4'000) + left, settings);
  EXPECT_THAT(sooner.fates(), ElementsAre(Fate::sent, Fate::sent));
  EXPECT_THAT(sooner.waits(), ElementsAre(0, 3'000));
}

TEST(Replay, sends_again_what_was_sent_again_and_each_time_by_the_limits) {
  const auto again = sent("a", 0, 0, 10'000, R"("attempts":3)");
  const auto settings = with(PacerConfig{.qps = 10});
  const Played played(again, settings);
  ASSERT_EQ(played.repeats.size(), 2U);
  EXPECT_EQ(played.repeats[0].at, kMorning + 100'000);
  EXPECT_EQ(played.repeats[1].at, kMorning + 200'000);
  auto once = settings;
  once.retry = RetryConfig::off();
  EXPECT_TRUE(Played(again, once).repeats.empty());
  auto twice = settings;
  twice.retry.attempts = 2;
  EXPECT_EQ(Played(again, twice).repeats.size(), 1U);
}

TEST(Replay, plays_no_more_repeats_than_may_be_and_counts_the_others) {
  const Played played(crowd(3, 10'000, R"("attempts":4)"), {}, one_place, 5);
  EXPECT_EQ(played.repeats.size(), 5U);
  EXPECT_EQ(played.left_out, 4U);
}

TEST(Replay, has_a_place_for_so_many_tunnels) {
  UpstreamSettings settings;
  settings.max_tunnels = 1;
  EXPECT_THAT(Played(crowd(2, 10'000, R"("tunnel":true)"), settings).waits(), ElementsAre(0, 10'000));
  EXPECT_THAT(Played(crowd(2, 10'000), settings).waits(), ElementsAre(0, 0));
}

TEST(Replay, leaves_alone_what_no_setting_turned_away) {
  const auto denied = line("refused", "a", 5'000, R"("status":403,"refusal":"destination_denied","waitMs":2.000)");
  const Played played(denied, {});
  EXPECT_THAT(played.fates(), ElementsAre(Fate::other));
  EXPECT_THAT(played.waits(), ElementsAre(2'000));
}

}  // namespace
}  // namespace penstock::replay
