// SPDX-License-Identifier: Apache-2.0
// The semaphore's leases: single calls of the script on a real Redis, with a clock of the tests; their answers, and
// what other processes are told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "lua/post.h"
#include "lua/scripts.h"
#include "redis/limits/permits.h"

namespace penstock::lua {
namespace {

using flow::Time;
using redis::Permits;

constexpr Time kMs = 1'000, kSecond = 1'000'000;
constexpr Time kLease = 3 * kSecond;
constexpr std::string_view kKey = "penstock:{api}:semaphore";

/// Each process tells what the test says; what it is answered and what others are told stands in words.
class SemaphoreCalls : public testing::Test {
 protected:
  SemaphoreCalls() {
    for (const auto* who : {"a", "b", "c"}) post_.subscribe(who, true);
    call("nobody", {});  // a generation begins
    now_ += kLease;
  }

  /// "granted lost sharers look"
  std::string call(const std::string& who, const Permits::Telling& telling, std::int64_t held = 0,
                   std::int64_t returned = 0, int capacity = 4) {
    Permits permits(kLease);
    permits.granted(returned);
    permits.return_spare();
    permits.granted(returned + held);
    const auto reply =
        scripts_.call(Script::permits, now_, {"penstock:{api}:head", std::string(kKey)},
                      {who, "g", "1", std::to_string(capacity), std::to_string(kLease), permits.told(telling)});
    std::string words;
    for (const std::size_t item : {1, 2, 3, 4}) {
      words += (words.empty() ? "" : " ") + std::to_string(reply.items.at(item).integer);
    }
    return words;
  }
  /// "who word number", of each message.
  std::vector<std::string> told() {
    std::vector<std::string> all;
    for (const auto& message : post_.take()) {
      const auto end = message.text.rfind(' '), begin = message.text.find("permits ") + 8;
      EXPECT_EQ(message.text.substr(end + 1), kKey);
      all.push_back(message.who + " " + message.text.substr(begin, end - begin));
    }
    return all;
  }

  test::RedisServer server_;
  Scripts scripts_{server_};
  Post post_{server_};
  Time now_ = 1'000 * kSecond;
};

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST_F(SemaphoreCalls, grant_all_to_whoever_is_alone) {
  EXPECT_EQ(call("a", {.besides = 9}), "4 0 0 0");
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(SemaphoreCalls, of_one_that_begins_to_wait_have_those_above_the_level_told) {
  call("a", {.besides = 9});
  EXPECT_EQ(call("b", {.besides = 9}), "0 0 2 0");
  EXPECT_THAT(told(), ElementsAre("a share 2"));
  EXPECT_EQ(call("b", {.besides = 9}), "0 0 2 0");
  EXPECT_THAT(told(), IsEmpty()) << "once";
  EXPECT_EQ(call("a", {.besides = 5}, 4), "4 0 2 0") << "and hears it whenever it calls";
}

TEST_F(SemaphoreCalls, keep_what_is_returned_for_whoever_has_the_fewest) {
  call("a", {.besides = 9});
  call("b", {.besides = 9});
  call("c", {.besides = 9});
  told();
  EXPECT_EQ(call("a", {.besides = 9}, 3, 1), "4 0 3 51000") << "it waits for more, and looks 50 ms later";
  EXPECT_THAT(told(), ElementsAre("b take 0"));
  EXPECT_EQ(call("a", {.besides = 9}, 2, 2), "4 0 3 51000");
  EXPECT_THAT(told(), ElementsAre("c take 0"));
  EXPECT_EQ(call("b", {.besides = 9}), "1 0 3 0") << "it has come";
  EXPECT_THAT(told(), IsEmpty()) << "there is one more to look after";
  EXPECT_EQ(call("c", {.besides = 9}), "1 0 3 0");
  EXPECT_THAT(told(), ElementsAre("a look 0"));
}

TEST_F(SemaphoreCalls, pass_by_one_that_does_not_come_until_it_calls) {
  call("a", {.besides = 9});
  call("b", {.besides = 9});
  call("c", {.besides = 9});
  EXPECT_EQ(call("a", {}, 3, 1), "4 0 3 0");
  EXPECT_THAT(told(), ElementsAre("a share 2", "a share 3", "b take 0", "c look 51000")) << "in the order of asking";
  now_ += 49'999;
  EXPECT_EQ(call("c", {.besides = 9}), "0 0 3 1001") << "it is too early";
  now_ += 1;
  EXPECT_EQ(call("c", {.besides = 9}), "1 0 0 0");
  EXPECT_EQ(call("a", {}, 2, 2), "4 0 2 0");
  EXPECT_THAT(told(), ElementsAre("c take 0")) << "b is out of the line";
  EXPECT_EQ(call("c", {.besides = 9}, 1), "2 0 0 0");
  EXPECT_EQ(call("b", {.besides = 9}), "0 0 3 0");
}

TEST_F(SemaphoreCalls, wait_for_twice_the_round_trip_of_one_that_is_far) {
  call("a", {.besides = 9});
  call("b", {.besides = 9, .round_trip = 40'000});
  call("c", {.besides = 9});
  told();
  call("a", {}, 3, 1);
  EXPECT_THAT(told(), ElementsAre("b take 0", "c look 81000"));
  now_ += 79'999;
  EXPECT_EQ(call("b", {.besides = 9}), "1 0 3 0");
}

TEST_F(SemaphoreCalls, end_no_lease_while_redis_was_out_of_reach) {
  call("a", {.besides = 3});
  call("b", {.besides = 9});
  now_ += kLease + kSecond;
  EXPECT_EQ(call("b", {.besides = 9, .away = kLease + kSecond / 2}, 1), "1 0 0 0") << "a has its three still";
  now_ += kLease / 2;
  EXPECT_EQ(call("b", {.besides = 9}, 1), "1 0 0 0");
  now_ += 3 * kSecond - kLease / 2;
  EXPECT_EQ(call("b", {.besides = 9}, 1), "4 0 0 0") << "it did not come";
}

TEST_F(SemaphoreCalls, end_a_lease_as_ever_where_nobody_was_cut_off) {
  call("a", {.besides = 3});
  now_ += kLease / 2;
  EXPECT_EQ(call("b", {.besides = 9}), "1 0 0 0");
  now_ += kLease / 2;
  EXPECT_EQ(call("b", {.besides = 9}, 1), "4 0 0 0");
}

TEST_F(SemaphoreCalls, end_no_lease_while_redis_stood_still_though_a_late_call_does_not_say_so) {
  call("a", {.besides = 3});
  call("b", {.besides = 9});
  now_ += kLease + kSecond;
  EXPECT_EQ(call("b", {.besides = 9, .sent = now_ - kLease}, 1), "1 0 0 0") << "it was sent before Redis stood still";
  EXPECT_EQ(call("a", {.away = kLease + kSecond}, 3), "3 0 2 0");
}

TEST_F(SemaphoreCalls, end_a_lease_that_nobody_saw_end) {
  for (const bool knows_clock : {false, true}) {
    call("a", {.besides = 3});
    now_ += kLease + kSecond;
    const Time sent = knows_clock ? now_ - 200 : 0;
    EXPECT_EQ(call("b", {.besides = 4, .sent = sent}), "4 0 0 0") << "Redis ran all the time";
    call("b", {}, 0, 4);
  }
}

TEST_F(SemaphoreCalls, end_a_lease_though_the_call_of_another_was_long_on_its_way) {
  call("a", {.besides = 3});
  call("c", {.besides = 1});
  now_ += kLease + kSecond / 2;
  call("c", {}, 0, 1);
  now_ += kSecond / 2;
  EXPECT_EQ(call("b", {.besides = 9, .sent = now_ - kLease}), "4 0 0 0") << "others called meanwhile";
}

TEST_F(SemaphoreCalls, let_those_fly_on_that_were_left_to_one_without_its_lease) {
  call("a", {.besides = 4});
  now_ += kLease / 2;
  call("b", {.besides = 9});
  now_ += kLease / 2;
  call("b", {.besides = 9});
  told();
  EXPECT_EQ(call("a", {.alone = 2}, 3), "2 1 2 0")
      << "the third is another's; and nobody has more than two from now on";
  EXPECT_THAT(told(), ElementsAre("b share 2"));
  EXPECT_EQ(call("c", {.besides = 1}, 0), "0 0 3 0");
  EXPECT_EQ(call("b", {}, 3, 1), "4 0 3 0") << "five for four";
  EXPECT_EQ(call("b", {}, 2, 2), "4 0 3 0");
}

TEST_F(SemaphoreCalls, go_on_where_messages_are_refused) {
  server_.run({"ACL", "SETUSER", "default", "-publish"});
  call("a", {.besides = 9});
  EXPECT_EQ(call("b", {.besides = 9}), "0 0 2 0");
  EXPECT_EQ(call("a", {}, 3, 1), "4 0 2 0");
  EXPECT_EQ(call("b", {.besides = 9}), "1 0 0 0");
}

}  // namespace
}  // namespace penstock::lua
