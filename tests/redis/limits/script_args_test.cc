// SPDX-License-Identifier: Apache-2.0
// Keys and arguments as the scripts want them.
#include "redis/limits/script_args.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "redis/limits/limits_text.h"

namespace penstock::redis {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Scope = flow::Booking::Scope;

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
                            .weight = 2,
                            .more = 30,
                            .permits = permits_});
  EXPECT_THAT(texts(call_.keys),
              ElementsAre("p:{up}:head", "p:{up}:alive", "p:{up}:pause", "p:{up}:pause:0123", "p:{up}:line:0123",
                          "p:{up}:pacer", "p:{up}:daily:0123", "p:{up}:semaphore", "p:{up}:bucket"));
  EXPECT_THAT(texts(call_.arguments),
              ElementsAre("me", "g1", "g2", "3", "1", "0123", "4", "2", "30", script_args_.limits_report(),          //
                          "pacer", "u", "d", "0.1", "2", "0.5",                                                      //
                          "counter", "g", "r", "7", "1000000", "0", "semaphore", "u", "d", "3", "30000000", "told",  //
                          "tokenBucket", "u", "d", "9", "2", "3000"));
}

TEST_F(SpellingTest, of_what_an_answer_tells_names_its_limit_alone) {
  script_args_.learned(call_, "g1", "0123", {.limit = 2, .departed = 100, .count = 5, .resets = 900});
  EXPECT_THAT(texts(call_.keys), ElementsAre("p:{up}:head", "p:{up}:daily:0123"));
  EXPECT_THAT(texts(call_.arguments), ElementsAre("g1", "100", "5", "900", "counter", "g", "r", "7", "1000000", "0"));
}

TEST_F(SpellingTest, of_an_ask_without_a_touch_has_the_hash_of_the_limits_alone) {
  script_args_.book(call_, {.fresh_generation = "g", .alive = 1});
  EXPECT_EQ(texts(call_.arguments)[9], hash_of(kLimits));
  EXPECT_THAT(script_args_.limits_report(), testing::StartsWith(hash_of(kLimits) + " "));
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
  script_args_.cancel_wait(call_, "g", "0123", Scope::group);
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
  script_args_.cancel_wait(call_, "g", "0123", Scope::upstream);
  EXPECT_THAT(texts(call_.keys), ElementsAre("p:{up}:head"));
  EXPECT_THAT(texts(call_.arguments), ElementsAre("me", "g", "p:to:", "up", "0123", "u"));
  call_.clear();
  script_args_.cancel_wait(call_, "g", "0123", Scope::group);
  EXPECT_THAT(texts(call_.keys), ElementsAre("p:{up}:head", "p:{up}:line:0123"));
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
