// SPDX-License-Identifier: Apache-2.0
// Groups in their masses: forgotten little by little, in bounded memory, and never all at once.
#include "flow/groups.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <set>
#include <string>

#include "flow/local_limiter.h"
#include "support/machine.h"
#include "support/scenario.h"

namespace penstock::flow {
namespace {

using namespace scenarios;

std::string name(int n) { return "/guilds/" + std::to_string(700'000'000'000'000'000 + n); }

TEST(Groups, finds_what_was_added) {
  Groups<int> groups;
  EXPECT_EQ(groups.find("a"), nullptr);
  for (int n = 0; n < 5'000; ++n) groups.add(name(n), n);
  EXPECT_EQ(groups.size(), 5'000u);
  for (int n = 0; n < 5'000; ++n) ASSERT_EQ(*groups.find(name(n)), n);
  EXPECT_EQ(groups.find(name(5'000)), nullptr);
}

TEST(Groups, forgets_what_may_be_forgotten_and_nothing_else) {
  Groups<int> groups;
  for (int n = 0; n < 5'000; ++n) groups.add(name(n), n);
  for (int i = 0; i < 5'000; ++i) groups.sweep([](int n) { return n % 2 == 1; });
  EXPECT_EQ(groups.size(), 2'500u);
  for (int n = 0; n < 5'000; ++n) ASSERT_EQ(groups.find(name(n)) != nullptr, n % 2 == 0) << n;
}

TEST(Groups, a_sweep_looks_at_a_few) {
  Groups<int> groups;
  for (int n = 0; n < 20'000; ++n) groups.add(name(n), n);
  int most = 0;
  std::set<int> seen;
  for (int i = 0; i < 20'000; ++i) {
    int looks = 0;
    groups.sweep([&](int n) { return ++looks, seen.insert(n), false; });
    most = std::max(most, looks);
  }
  EXPECT_LE(most, 40) << "of 20 000";
  EXPECT_EQ(seen.size(), 20'000u) << "and in the end at all";
}

TEST(Groups, are_as_few_after_a_peak_as_before_it) {
  Groups<int> groups;
  for (int n = 0; n < 100'000; ++n) groups.add(name(n), 0);
  for (int n = 1; n <= 200'000; ++n) {
    groups.sweep([n](int added) { return added <= n - 1'000; });  // 1 000 are in use
    groups.add(name(100'000 + n), n);
  }
  EXPECT_LE(groups.size(), 3'000u);
}

TEST(Groups, a_few_are_kept_whatever_may_be_forgotten) {
  Groups<int> groups;
  for (std::size_t n = 0; n < Groups<int>::kFew; ++n) groups.add(name(static_cast<int>(n)), 0);
  for (int i = 0; i < 10'000; ++i) groups.sweep([](int) { return true; });
  EXPECT_EQ(groups.size(), Groups<int>::kFew);
}

/// One departure of each of so many groups, `apart` µs after each other.
void visit(LocalLimiter& limiter, int first, int count, Time apart) {
  Booking booking;
  for (int n = first; n < first + count; ++n) {
    booking.clear();
    ASSERT_TRUE(limiter.ask(n * apart, {.group = name(n)}, booking));
    ASSERT_EQ(booking.departures.size(), 1u);
  }
}

TEST(ManyGroups, those_that_nobody_uses_are_never_more_than_those_in_use) {
  LocalLimiter limiter({per_group(bucket(1, 1, sec(1)))}, kStart);
  for (int part = 0; part < 8; ++part) {
    visit(limiter, part * 20'000, 20'000, 100);  // 10 000 are in use: those of the last second
    ASSERT_LE(limiter.limits().groups(), 20'000u);
  }
}

TEST(ManyGroups, are_forgotten_by_the_use_of_others) {
  LocalLimiter limiter({per_group(bucket(1, 1, sec(1)))}, kStart);
  visit(limiter, 0, 50'000, 1);
  ASSERT_EQ(limiter.limits().groups(), 50'000u);
  Booking booking;
  for (int i = 0; i < 100'000; ++i) booking.clear(), limiter.ask(sec(10 + i), {.group = "one"}, booking);
  EXPECT_LE(limiter.limits().groups(), Groups<int>::kFew);
}

TEST(ManyGroups, that_are_held_back_or_flying_are_remembered) {
  LocalLimiter limiter({per_group(limit(SemaphoreConfig{.capacity = 1}))}, kStart);
  visit(limiter, 0, 3'000, 1);
  Booking booking;
  for (int i = 0; i < 3'000; ++i) booking.clear(), limiter.ask(sec(3'600), {.group = name(i)}, booking);
  EXPECT_EQ(limiter.limits().groups(), 3'000u);
  for (int i = 0; i < 3'000; ++i) EXPECT_TRUE(limiter.landed(sec(3'600), LaneKey(name(i))));
}

TEST(ManyGroups, are_so_many_at_most_until_some_are_forgotten) {
  constexpr int kMost = static_cast<int>(kMostGroups);
  LocalLimiter limiter({per_group(bucket(1, 1, sec(1)))}, kStart);
  visit(limiter, 0, kMost - 1, 1);
  EXPECT_TRUE(limiter.has_room_for(name(kMost - 1)));
  visit(limiter, kMost - 1, 1, 1);
  EXPECT_FALSE(limiter.has_room_for(name(kMost)));
  EXPECT_TRUE(limiter.has_room_for(name(0))) << "it is known";
  EXPECT_TRUE(limiter.has_room_for(name(kMost - 1)));
  Booking booking;
  limiter.ask(sec(2), {.group = "*:others"}, booking);
  limiter.ask(sec(3), {.group = "*:others"}, booking);
  EXPECT_TRUE(limiter.has_room_for(name(kMost))) << "use of others has made room";
}

TEST(ManyGroups, that_are_paused_count_too) {
  LocalLimiter limiter({}, kStart);
  for (int n = 0; n < static_cast<int>(kMostGroups); ++n) {
    limiter.pause(0, name(n), sec(10));
  }
  EXPECT_TRUE(limiter.has_room_for(name(0)) && limiter.has_room_for(name(1)));
  EXPECT_FALSE(limiter.has_room_for(name(kMostGroups)));
}

TEST(ManyGroups, take_up_little_memory) {
  if (test::kSanitized) GTEST_SKIP() << "counts the memory of malloc";
  LocalLimiter limiter({per_group(window(10, sec(3'600))), pacer(1e9)}, kStart);
  const auto before = mallinfo2().uordblks;
  visit(limiter, 0, 200'000, 1);
  ASSERT_EQ(limiter.limits().groups(), 200'000u);
  const auto bytes = (mallinfo2().uordblks - before) / 200'000;
  RecordProperty("bytes_per_group", static_cast<int>(bytes));
  EXPECT_LE(bytes, 250u);
}

}  // namespace
}  // namespace penstock::flow
