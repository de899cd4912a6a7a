// SPDX-License-Identifier: Apache-2.0
// By how many limits are divided while a process is alone, by what it knows.
#include <gtest/gtest.h>

#include "redis/limits/divide_limits.h"
#include "redis/limits/seen_processes.h"

namespace penstock::redis {
namespace {

TEST(Sharers, are_those_at_the_upstream_where_redis_has_just_told) {
  EXPECT_EQ(sharers({.at_upstream = 2, .of_prefix = 5}), 2);
}

TEST(Sharers, are_all_processes_where_nobody_has_told_who_uses_the_upstream) {
  EXPECT_EQ(sharers({.of_prefix = 5, .remembered = 9}), 5);
}

TEST(Sharers, are_never_fewer_than_configured) {
  EXPECT_EQ(sharers({.at_upstream = 2, .of_prefix = 3, .configured = 4}), 4);
  EXPECT_EQ(sharers({.at_upstream = 5, .configured = 4}), 5) << "more were seen";
  EXPECT_EQ(sharers({.configured = 4, .remembered = 9}), 4) << "who wrote it may know that some were taken away";
}

TEST(Sharers, of_a_process_that_has_seen_nobody_are_those_of_an_earlier_run) {
  EXPECT_EQ(sharers({.remembered = 3}), 3);
  EXPECT_EQ(sharers({}), 1) << "itself";
}

TEST(SeenProcesses, are_none_before_anybody_says) { EXPECT_EQ(SeenProcesses{}.count(), 0); }

/// Of a Redis that has lost its memory the first to call is alone.
TEST(SeenProcesses, are_the_most_that_the_last_four_seconds_told_however_many_answers_came) {
  for (const flow::Time apart : {1'000'000, 500'000}) {
    SeenProcesses seen;
    seen.note(7, 3);
    EXPECT_EQ(seen.count(), 3);
    flow::Time now = 7 + 1'000'000;
    for (; now < 7 + 4'000'000; now += apart) {
      seen.note(now, 1);
      EXPECT_EQ(seen.count(), 3);
    }
    seen.note(now, 1);
    EXPECT_EQ(seen.count(), 1);
    seen.note(now + 1'000'000, 2);
    EXPECT_EQ(seen.count(), 2);
  }
}

}  // namespace
}  // namespace penstock::redis
