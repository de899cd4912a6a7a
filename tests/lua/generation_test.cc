// SPDX-License-Identifier: Apache-2.0
// Redis forgets everything while three processes are at it: how many depart that should not have.
#include <gtest/gtest.h>

#include "lua/crowd.h"
#include "support/scenario.h"

namespace penstock::lua {
namespace {

using namespace scenarios;

class Forgetting : public testing::Test {
 protected:
  std::vector<Crowd::Departure> departures(const LimitConfig& limit, unsigned seed, std::size_t at_least = 1'150) {
    server_.run({"FLUSHALL"});
    Crowd crowd(scripts_, {.limits = {limit}, .round_trips = {200, 300, 400}, .workers = 50, .length = sec(3)}, seed);
    crowd.happens(sec(1.5) + static_cast<Time>(seed) * 7'919, [this] { server_.run({"FLUSHALL"}); });
    crowd.run();
    EXPECT_GE(crowd.departures().size(), at_least) << "work goes on";
    return crowd.departures();
  }
  /// How many more than `allowed(Δ)` in the worst stretch of time of all seeds.
  template <typename Allowed>
  int excess(const LimitConfig& limit, Allowed allowed, std::size_t at_least = 1'150) {
    int worst = 0;
    for (unsigned seed = 1; seed <= kSeeds; ++seed) {
      const auto all = departures(limit, seed, at_least);
      for (auto first = all.begin(); first != all.end(); ++first) {
        for (auto last = first; last != all.end(); ++last) {
          worst = std::max(worst, static_cast<int>(last - first) + 1 - allowed(last->at - first->at));
        }
      }
    }
    return worst;
  }

  static constexpr unsigned kSeeds = 20;
  static constexpr int kLate = 1;  // at the wire: an answer comes after the time that it tells
  test::RedisServer server_;
  Scripts scripts_{server_};
};

TEST_F(Forgetting, costs_a_pacer_nothing) {
  EXPECT_LE(excess(pacer(400), [](Time length) { return static_cast<int>(length / 2'500) + 1; }), kLate);
}
TEST_F(Forgetting, costs_a_burst_nothing) {
  EXPECT_LE(excess(pacer(400, 50), [](Time length) { return static_cast<int>(length / 2'500) + 51; }), kLate);
}
TEST_F(Forgetting, costs_a_sliding_window_nothing) {
  EXPECT_LE(excess(sliding(200, ms(500)), [](Time length) { return 200 + 200 * static_cast<int>(length / ms(500)); }),
            0);
}
TEST_F(Forgetting, costs_a_large_bucket_one_refill_at_most) {
  const auto allowed = [](Time length) { return 400 + 200 * static_cast<int>(length / ms(500)); };
  EXPECT_LE(excess(bucket(200, 200, ms(500)), allowed, 1'150 - 200), 0);
}
TEST_F(Forgetting, costs_a_large_bucket_that_is_refilled_bit_by_bit_at_most_five) {
  const auto allowed = [](Time length) { return 201 + static_cast<int>(length / 2'500); };
  EXPECT_LE(excess(bucket(200, 1, 2'500), allowed), 5);
}
TEST_F(Forgetting, costs_a_bucket_of_one_at_most_five) {
  EXPECT_LE(excess(bucket(1, 1, 2'500), [](Time length) { return 2 + static_cast<int>(length / 2'500); }), 5);
}
TEST_F(Forgetting, costs_a_window_nothing) {
  for (unsigned seed = 1; seed <= kSeeds; ++seed) {
    std::map<Time, int> windows;
    for (const auto& departure : departures(window(200, ms(500)), seed)) ++windows[departure.at / ms(500)];
    for (const auto& [window, count] : windows) EXPECT_LE(count, 200) << "window " << window << ", seed " << seed;
  }
}

TEST_F(Forgetting, closes_the_generation_until_all_have_handed_in) {
  Asker a(scripts_, "api", "a", {window(10, sec(10))}, kStart), b(scripts_, "api", "b", {window(10, sec(10))}, kStart);
  EXPECT_EQ(a.ask(ms(1), {.count = 4}, true).booking.departures.size(), 4U);
  EXPECT_EQ(b.ask(ms(2), {.count = 5}, true).booking.departures.size(), 5U);
  EXPECT_EQ(a.ask(ms(3), {.count = 0}, true).alive, 2);
  server_.run({"FLUSHALL"});
  EXPECT_EQ(a.ask(ms(4), {}).status, "stale");
  EXPECT_EQ(a.ask(ms(5), {}).status, "closed");
  const std::string start = std::to_string(static_cast<std::int64_t>(kStart));
  EXPECT_EQ(a.replay(ms(6), "", {"1w " + start + " 4 10000000"}).items.at(0).text, "closed");
  EXPECT_EQ(a.replay(ms(7), "", {"1w " + start + " 4 10000000"}).items.at(0).text, "closed") << "twice is once";
  EXPECT_EQ(b.ask(ms(8), {}).status, "stale");
  EXPECT_EQ(b.replay(ms(9), "", {"1w " + start + " 5 10000000"}).items.at(0).text, "open");
  EXPECT_EQ(a.ask(ms(10), {.count = 4}).booking.departures.size(), 1U);
}
TEST_F(Forgetting, opens_after_a_second_whoever_is_missing) {
  Asker a(scripts_, "api", "a", {pacer(10)}, kStart);
  a.ask(0, {}, true);
  a.know(a.generation(), 3);
  server_.run({"FLUSHALL"});
  EXPECT_EQ(a.ask(ms(1), {}).status, "stale");
  const Answer answer = a.ask(ms(999), {});
  EXPECT_EQ(answer.status, "closed");
  EXPECT_EQ(answer.booking.ask_again, ms(1'001));
  EXPECT_EQ(a.ask(ms(1'001), {}).status, "ok");
}
TEST_F(Forgetting, writes_nothing_for_one_that_is_stale) {
  Asker a(scripts_, "api", "a", {pacer(10)}, kStart), b(scripts_, "api", "b", {pacer(10)}, kStart);
  a.ask(0, {});
  b.know("another", 1);
  const std::string before = server_.run({"GET", a.key("pacer")}).text;
  EXPECT_EQ(b.ask(ms(1), {}).status, "stale");
  EXPECT_EQ(server_.run({"GET", a.key("pacer")}).text, before);
  EXPECT_EQ(b.generation(), a.generation());
}

}  // namespace
}  // namespace penstock::lua
