// SPDX-License-Identifier: Apache-2.0
// Keys and arguments as the scripts want them.
#include "redis/limits/script_args.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "redis/limits/limits_text.h"

namespace penstock::redis {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> texts(const Words& words) { return {words.all().begin(), words.all().end()}; }

const std::vector<LimitConfig> kLimits{
    {.kind = PacerConfig{.qps = 0.1, .max_burst = 2}, .name = "pacer"},
    {.kind = WindowConfig{.reservoir = 5, .interval = 10s}, .name = "own", .shared = false},
    {.kind = CounterConfig{.max = 7, .period = 1s},
     .name = "daily",
     .per = LimitConfig::Per::group,
     .mode = LimitConfig::Mode::refuse},
    {.kind = SemaphoreConfig{.capacity = 3}, .name = "semaphore"},
    {.kind = TokenBucketConfig{.capacity = 9, .refill_amount = 2, .refill_frequency = 3ms}, .name = "bucket"},
};

class SpellingTest : public testing::Test {
 protected:
  ScriptArgs script_args_{"p", "up", "me", kLimits};
  /// The kinds that a call names, behind so many other arguments.
  std::vector<std::string> kinds(std::size_t first) const {
    std::vector<std::string> kinds;
    for (const auto all = texts(call_.arguments); first < all.size(); first += 6) kinds.push_back(all[first]);
    return kinds;
  }
  ScriptCall call_;
  const std::vector<std::string> permits_{"told"};
};

TEST_F(SpellingTest, of_an_ask_names_every_shared_limit_with_its_numbers) {
  script_args_.book(call_, {.generation = "g1",
                            .fresh_generation = "g2",
                            .alive = 3,
                            .touch = true,
                            .group = "0123",
                            .count = 4,
                            .load = 2,
                            .more = 30,
                            .permits = permits_});
  EXPECT_THAT(texts(call_.keys),
              ElementsAre("p:{up}:head", "p:{up}:alive", "p:{up}:pause", "p:{up}:pause:0123", "p:{up}:line:0123",
                          "p:{up}:pacer", "p:{up}:daily:0123", "p:{up}:semaphore", "p:{up}:bucket"));
  EXPECT_THAT(texts(call_.arguments),
              ElementsAre("me", "g1", "g2", "3", "1", "0123", "4", "2", "30", script_args_.limits_report(),          //
                          "pacer", "u", "d", "0.1", "2", "0.5",                                                      //
                          "counter", "n", "r", "7", "1000000", "0", "semaphore", "u", "d", "3", "30000000", "told",  //
                          "tokenBucket", "u", "d", "9", "2", "3000"));
}

TEST_F(SpellingTest, of_what_an_answer_tells_names_its_limit_alone) {
  script_args_.learned(call_, "g1", "0123", {.limit = 2, .departed = 100, .count = 5, .resets = 900});
  EXPECT_THAT(texts(call_.keys), ElementsAre("p:{up}:head", "p:{up}:daily:0123"));
  EXPECT_THAT(texts(call_.arguments), ElementsAre("g1", "100", "5", "900", "counter", "n", "r", "7", "1000000", "0"));
}

TEST_F(SpellingTest, of_an_ask_without_a_touch_has_the_hash_of_the_limits_alone) {
  script_args_.book(call_, {.fresh_generation = "g", .alive = 1});
  EXPECT_EQ(texts(call_.arguments)[9], hash_of(kLimits));
  EXPECT_THAT(script_args_.limits_report(), testing::StartsWith(hash_of(kLimits) + " "));
}

TEST_F(SpellingTest, of_an_ask_says_how_much_of_what_is_left_is_to_be_told) {
  const auto word = [&](bool touch, bool left, bool lists) {
    call_.clear();
    script_args_.book(call_, {.fresh_generation = "g", .touch = touch, .left = left, .lists = lists});
    return texts(call_.arguments)[4];
  };
  EXPECT_EQ(word(false, true, false), "0");
  EXPECT_EQ(word(false, true, true), "0+");
  EXPECT_EQ(word(false, false, false), "2");
  EXPECT_EQ(word(true, true, true), "1");
  EXPECT_EQ(word(true, false, false), "3");
}

TEST_F(SpellingTest, of_an_ask_without_a_group_leaves_its_limits_out) {
  script_args_.book(call_, {.generation = "", .fresh_generation = "g", .alive = 1});
  EXPECT_THAT(texts(call_.keys), ElementsAre("p:{up}:head", "p:{up}:alive", "p:{up}:pause", "p:{up}:pacer",
                                             "p:{up}:semaphore", "p:{up}:bucket"));
  EXPECT_EQ(call_.arguments.size(), 10u + 3 * 6);
}

TEST_F(SpellingTest, of_an_ask_without_a_limit_keeps_the_places_of_the_others) {
  const std::vector<flow::LimitIndex> without{2};
  script_args_.book(call_, {.fresh_generation = "g", .group = "0123", .permits = permits_, .without = without});
  EXPECT_THAT(kinds(10), ElementsAre("pacer", "-", "semaphore", "tokenBucket"));
}

TEST_F(SpellingTest, keeps_all_keys_of_an_upstream_under_one_hash_tag) {
  script_args_.book(call_, {.fresh_generation = "g", .group = "0123"});
  script_args_.cancel_wait(call_, "g", "0123");
  script_args_.pause(call_, "0123", 7);
  script_args_.reset(call_, "g", "0123", 2);
  EXPECT_THAT(texts(call_.keys), Each(HasSubstr("{up}")));
}

TEST_F(SpellingTest, of_a_limit_leads_back_to_its_place_in_the_file) {
  EXPECT_THAT(script_args_.places(), ElementsAre(0, 2, 3, 4));
  EXPECT_FALSE(script_args_.shares(1));
  EXPECT_TRUE(script_args_.shares(2));
}

TEST_F(SpellingTest, of_what_is_taken_back) {
  script_args_.give_back(call_, "g", "0123", 5'000'000'000, 2);
  EXPECT_THAT(texts(call_.keys),
              ElementsAre("p:{up}:head", "p:{up}:pacer", "p:{up}:daily:0123", "p:{up}:semaphore", "p:{up}:bucket"));
  EXPECT_EQ(texts(call_.arguments)[2], "5000000000");
  EXPECT_THAT(kinds(4), ElementsAre("pacer", "counter", "-", "tokenBucket")) << "no permit goes back by it";
}

// Its state is under another key than that of the same limit with another unit.
TEST_F(SpellingTest, of_limits_that_count_the_cost) {
  const ScriptArgs costs("p", "up", "me",
                         {{.kind = SlidingWindowConfig{.max = 9, .interval = Duration(7)}, .unit = "tokens"},
                          {.kind = PacerConfig{.qps = 5},
                           .name = "each",
                           .per = LimitConfig::Per::group,
                           .mode = LimitConfig::Mode::refuse,
                           .unit = "tokens"},
                          {.kind = CounterConfig{.max = 3, .period = Duration(8)}}});
  EXPECT_TRUE(costs.counts_cost(0) && costs.counts_cost(1) && !costs.counts_cost(2));
  costs.give_back(call_, "g", "0123", 7, flow::Load(2, 900));
  EXPECT_EQ(texts(call_.arguments)[3], "2 900");
  call_.clear();
  costs.settle(call_, "g", "0123", {.in_redis = 5'000'020'000, .cost = 900, .late_in_redis = 20'000}, 20);
  EXPECT_THAT(texts(call_.keys), ElementsAre("p:{up}:head", "p:{up}:line:0123", "p:{up}:slidingWindow,tokens",
                                             "p:{up}:each,tokens:0123", "p:{up}:counter"));
  EXPECT_THAT(texts(call_.arguments),
              ElementsAre("g", "5000020000", "5000000000", "900 20", "p:to:", "up", "0123", "slidingWindow", "u", "D",
                          "9", "7", "0", "pacer", "n", "R", "5", "0", "0.5", "-", "u", "d", "3", "8", "0"));
}

TEST_F(SpellingTest, of_departures_that_left_late) {
  script_args_.report_late(call_, "g", "0123",
                           std::vector<ScriptArgs::Move>{{5'000'000'000, 5'000'020'000, 2}, {6, 7, 1}});
  EXPECT_THAT(texts(call_.keys),
              ElementsAre("p:{up}:head", "p:{up}:pacer", "p:{up}:daily:0123", "p:{up}:semaphore", "p:{up}:bucket"));
  auto arguments = texts(call_.arguments);
  EXPECT_THAT(kinds(8), ElementsAre("pacer", "counter", "-", "tokenBucket"));
  arguments.resize(8);
  EXPECT_THAT(arguments, ElementsAre("g", "2", "5000000000", "5000020000", "2", "6", "7", "1"));
}

TEST_F(SpellingTest, of_a_turn_that_is_given_up) {
  script_args_.cancel_wait(call_, "g", "");
  EXPECT_THAT(texts(call_.keys), ElementsAre("p:{up}:head"));
  EXPECT_THAT(texts(call_.arguments), ElementsAre("me", "g", "p:to:", "up", ""));
  call_.clear();
  script_args_.cancel_wait(call_, "g", "0123");
  EXPECT_THAT(texts(call_.keys), ElementsAre("p:{up}:head", "p:{up}:line:0123"));
  EXPECT_THAT(texts(call_.arguments), ElementsAre("me", "g", "p:to:", "up", "0123"));
}

TEST_F(SpellingTest, of_a_pause) {
  script_args_.pause(call_, "", 1'000);
  EXPECT_THAT(texts(call_.keys), ElementsAre("p:{up}:head", "p:{up}:pause"));
  EXPECT_THAT(texts(call_.arguments), ElementsAre("1000"));
  call_.clear();
  script_args_.pause(call_, "0123", 1'000);
  EXPECT_THAT(texts(call_.keys), ElementsAre("p:{up}:head", "p:{up}:pause:0123"));
}

TEST_F(SpellingTest, of_a_reset) {
  script_args_.reset(call_, "g", "0123", 2);
  EXPECT_THAT(texts(call_.keys), ElementsAre("p:{up}:head", "p:{up}:daily:0123", "p:{up}:line:0123"));
  EXPECT_THAT(texts(call_.arguments), ElementsAre("me", "g", "7", "1000000", "p:to:", "up", "0123"));
}

TEST_F(SpellingTest, of_what_is_handed_in) {
  script_args_.begin_replay(call_, "g", ScriptArgs::Replay::last, {.booked_in = "f", .lately = "7"});
  script_args_.add_state(call_, 0, "", "2p 1 1 2 9", "2p 1 1 1 9");
  script_args_.add_state(call_, 1, "", "not shared");
  script_args_.add_state(call_, 2, "0123", "1c 1 2 3 0 - 0");
  EXPECT_THAT(texts(call_.keys), ElementsAre("p:{up}:head", "p:{up}:alive", "p:{up}:pacer", "p:{up}:daily:0123"));
  EXPECT_THAT(texts(call_.arguments),
              ElementsAre("me", "g", "1", "f", "7", "pacer", "0.1", "2", "0.5", "2p 1 1 2 9", "2p 1 1 1 9",  //
                          "counter", "7", "1000000", "0", "1c 1 2 3 0 - 0", ""));
}

// ---- routes ---------------------------------------------------------------------------------------------------------

/// Of the route "search", which stands in keys as this.
constexpr const char* kSearchKey = "@0815";

LimitConfig of_search(LimitConfig limit) {
  limit.route = "search";
  return limit;
}

class SpellingOfRoutes : public testing::Test {
 protected:
  /// With the hash of the route's name replaced.
  std::vector<std::string> keys() const {
    auto all = texts(call_.keys);
    for (std::string& key : all) shorten(key);
    return all;
  }
  std::vector<std::string> arguments() const {
    auto all = texts(call_.arguments);
    for (std::string& argument : all) shorten(argument);
    return all;
  }
  static void shorten(std::string& text) {
    if (const auto at = text.find('@'); at != std::string::npos) text.replace(at, 17, kSearchKey);
  }
  const std::vector<LimitConfig> limits_{
      {.kind = PacerConfig{.qps = 1}, .name = "wide"},
      of_search({.kind = CounterConfig{.max = 7, .period = 1s}, .name = "wide"}),
      {.kind = PacerConfig{.qps = 1}, .name = "other", .route = "write"},
  };
  ScriptArgs script_args_{"p", "up", "me", limits_};
  ScriptCall call_;
};

TEST_F(SpellingOfRoutes, an_ask_of_a_lane_without_one_is_as_if_there_were_none) {
  script_args_.book(call_, {.fresh_generation = "g"});
  EXPECT_THAT(texts(call_.keys), ElementsAre("p:{up}:head", "p:{up}:alive", "p:{up}:pause", "p:{up}:wide"));
  EXPECT_EQ(call_.arguments.size(), 10u + 6);
  EXPECT_THAT(script_args_.routes().places_of({}), ElementsAre(0));
}

TEST_F(SpellingOfRoutes, an_ask_has_the_limits_of_its_route_as_narrow_ones) {
  script_args_.book(call_, {.fresh_generation = "g", .route = "search"});
  EXPECT_THAT(keys(), ElementsAre("p:{up}:head", "p:{up}:alive", "p:{up}:pause", "p:{up}:pause:@0815",
                                  "p:{up}:line:@0815", "p:{up}:wide", "p:{up}:counter@0815"));
  const auto all = arguments();
  EXPECT_EQ(all[5], kSearchKey) << "where a group stands otherwise";
  EXPECT_THAT(std::vector(all.begin() + 10, all.end()),
              ElementsAre("pacer", "u", "d", "1", "0", "0.5", "counter", "n", "d", "7", "1000000", "0"));
  EXPECT_THAT(script_args_.routes().places_of(flow::LaneKey("", "search")), ElementsAre(0, 1));
  EXPECT_THAT(script_args_.routes().places_of(flow::LaneKey("", "write")), ElementsAre(0, 2));
}

TEST_F(SpellingOfRoutes, a_route_that_no_shared_limit_has_is_as_none) {
  script_args_.book(call_, {.fresh_generation = "g", .group = "0123", .route = "delete"});
  EXPECT_THAT(texts(call_.keys), ElementsAre("p:{up}:head", "p:{up}:alive", "p:{up}:pause", "p:{up}:pause:0123",
                                             "p:{up}:line:0123", "p:{up}:wide"));
}

TEST_F(SpellingOfRoutes, lanes_of_all_groups_stand_in_one_line_unless_limits_are_per_group) {
  const flow::LaneKey lane("0123", "search");
  script_args_.book(call_, {.fresh_generation = "g", .group = "0123", .route = "search"});
  EXPECT_THAT(keys(), testing::IsSupersetOf({"p:{up}:pause:0123", "p:{up}:line:@0815"}));
  EXPECT_EQ(script_args_.routes().narrowed(lane), flow::LaneKey("", "search"));
  EXPECT_TRUE(script_args_.routes().share_line("search"));
  EXPECT_TRUE(script_args_.routes().lines_of(lane).shared());
  auto limits = limits_;
  limits.push_back({.kind = PacerConfig{.qps = 1}, .name = "each", .per = LimitConfig::Per::group});
  script_args_.set_limits(limits);
  call_.clear();
  script_args_.book(call_, {.fresh_generation = "g", .group = "0123", .route = "search"});
  EXPECT_THAT(keys(), testing::IsSupersetOf({"p:{up}:pause:0123", "p:{up}:line:0123@0815", "p:{up}:each:0123"}));
  EXPECT_EQ(script_args_.routes().narrowed(lane), lane);
  EXPECT_FALSE(script_args_.routes().share_line("search"));
  EXPECT_FALSE(script_args_.routes().lines_of(lane).shared());
}

TEST_F(SpellingOfRoutes, a_limit_of_each_group_of_a_route_has_both_in_its_key) {
  const auto each = of_search({.kind = PacerConfig{.qps = 1}, .name = "wide", .per = LimitConfig::Per::group});
  script_args_.set_limits({each, {.kind = PacerConfig{.qps = 1}, .name = "wide"}});
  script_args_.give_back(call_, "g", flow::LaneKey("0123456789abcdef", "search"), 5, 1);
  EXPECT_THAT(keys(), ElementsAre("p:{up}:head", "p:{up}:pacer@0815:0123456789abcdef", "p:{up}:wide"));
  const std::string key = texts(call_.keys)[1];
  const auto found = script_args_.limit_of(key);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 0);
  EXPECT_EQ(found->second, "0123456789abcdef");
  EXPECT_EQ(script_args_.limit_of("p:{up}:wide")->first, 1);
}

/// A script that meets a foreign value names the key; behind a blank, Redis says where that was.
TEST_F(SpellingOfRoutes, keys_of_limits_have_no_blank_and_are_of_one_length_whatever_the_names) {
  for (const std::string route : {"a", "GET /search X-Tier", "POST,PATCH,PUT,DELETE /a/{b}/{c}/{d}/{e}/{f}/{g} @:{}"}) {
    script_args_.set_limits({{.kind = PacerConfig{.qps = 1}, .name = route + ":rate", .route = route}});
    call_.clear();
    script_args_.give_back(call_, "g", flow::LaneKey("", route), 5, 1);
    EXPECT_THAT(keys(), ElementsAre("p:{up}:head", "p:{up}:pacer@0815"));
  }
}

TEST_F(SpellingOfRoutes, keys_of_two_limits_differ_by_route_by_name_and_by_kind) {
  script_args_.set_limits({{.kind = PacerConfig{.qps = 1}, .name = "one", .route = "search"},
                           {.kind = PacerConfig{.qps = 1}, .name = "two", .route = "search"},
                           {.kind = CounterConfig{.max = 1, .period = 1s}, .name = "one", .route = "search"},
                           {.kind = PacerConfig{.qps = 1}, .name = "one", .route = "write"}});
  script_args_.give_back(call_, "g", flow::LaneKey("", "search"), 5, 1);
  script_args_.give_back(call_, "g", flow::LaneKey("", "write"), 5, 1);
  auto all = texts(call_.keys);
  std::erase(all, "p:{up}:head");
  std::ranges::sort(all);
  EXPECT_THAT(all, testing::SizeIs(4));
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
}

/// A limit of groups has a key for each, which begins with its name.
TEST_F(SpellingOfRoutes, a_key_is_of_the_limit_of_groups_only_if_it_ends_with_a_group) {
  script_args_.set_limits({{.kind = PacerConfig{.qps = 1}, .name = "search", .per = LimitConfig::Per::group},
                           {.kind = PacerConfig{.qps = 1}, .name = "search:rate", .route = "search"}});
  script_args_.give_back(call_, "g", flow::LaneKey("0123456789abcdef", "search"), 5, 1);
  const auto all = texts(call_.keys);
  EXPECT_EQ(script_args_.limit_of(all.at(1)), std::pair(flow::LimitIndex{0}, std::string_view("0123456789abcdef")));
  EXPECT_EQ(script_args_.limit_of(all.at(2)), std::pair(flow::LimitIndex{1}, std::string_view()));
  EXPECT_FALSE(script_args_.limit_of("p:{up}:search:rate@0123456789abcdef"));
  EXPECT_FALSE(script_args_.limit_of("p:{up}:search:"));
}

TEST_F(SpellingOfRoutes, a_reset_and_a_wait_that_is_given_up_name_the_line) {
  script_args_.reset(call_, "g", flow::LaneKey("0123", "search"), 1);
  EXPECT_THAT(keys(), ElementsAre("p:{up}:head", "p:{up}:counter@0815", "p:{up}:line:@0815"));
  EXPECT_EQ(arguments().back(), kSearchKey);
  call_.clear();
  script_args_.cancel_wait(call_, "g", script_args_.routes().lines_of(flow::LaneKey("0123", "search")).line);
  EXPECT_THAT(keys(), ElementsAre("p:{up}:head", "p:{up}:line:@0815"));
  EXPECT_THAT(arguments(), ElementsAre("me", "g", "p:to:", "up", kSearchKey));
}

TEST_F(SpellingOfRoutes, processes_whose_routes_differ_have_other_limits) {
  auto others = limits_;
  others[1].route = "find";
  EXPECT_NE(hash_of(limits_), hash_of(others));
  EXPECT_THAT(text_of(limits_), HasSubstr("route: search"));
}

TEST(Spelt, numbers_lose_nothing) {
  EXPECT_EQ(spelt(0.1), "0.1");
  EXPECT_EQ(spelt(400.0), "400");
  EXPECT_EQ(spelt(100000.0), "1e+05");  // Lua reads that too
  EXPECT_EQ(spelt(1.0 / 3), "0.3333333333333333");
}

TEST(Words, are_kept_while_more_come) {
  Words words;
  for (int round = 0; round < 2; ++round) {
    words.clear();
    for (int i = 0; i < 200; ++i) words.join({"number ", std::to_string(i)});
    EXPECT_EQ(words.all()[0], "number 0");
    EXPECT_EQ(words.all()[199], "number 199");
  }
}

}  // namespace
}  // namespace penstock::redis
