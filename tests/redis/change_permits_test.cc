// SPDX-License-Identifier: Apache-2.0
// Semaphores that change, come and go while permits are held, and limiters that take the place of others.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <random>
#include <regex>

#include "redis/changing.h"

namespace penstock::redis {
namespace {

using testing::IsEmpty;

// ---- permits --------------------------------------------------------------------------------------------------------

TEST_F(RedisChange, a_permit_stays_held_whatever_else_changes) {
  const auto a = grown_up({permits_of(2), pacer(1'000)}), b = grown_up({permits_of(2), pacer(1'000)});
  a->arrive(3);
  ASSERT_TRUE(took_off(*a, 2));
  a->change({long_window(1'000), pacer(500), permits_of(2)});
  b->arrive(1);
  EXPECT_EQ(settled(*a) + b->took_off().size(), 2u);
  a->land(0), a->land(1);
  ASSERT_TRUE(run_.run_until([&] { return a->took_off().size() == 3 && b->took_off().size() == 1; }));
  EXPECT_EQ(a->cut(), 0u);
}

TEST_F(RedisChange, a_raised_capacity_is_for_those_that_wait_at_once) {
  const auto a = grown_up({permits_of(1)});
  a->arrive(4);
  ASSERT_TRUE(took_off(*a, 1));
  a->change({pacer(1'000), permits_of(3)});
  ASSERT_TRUE(took_off(*a, 3));
  EXPECT_EQ(settled(*a), 3u);
}

TEST_F(RedisChange, a_lowered_capacity_cuts_nobody_and_holds_from_the_next_on) {
  const auto a = grown_up({permits_of(3)});
  a->arrive(4);
  ASSERT_TRUE(took_off(*a, 3));
  a->change({permits_of(1)});
  a->land(0);
  a->land(1);
  EXPECT_EQ(settled(*a), 3u);
  EXPECT_EQ(a->cut(), 0u);
  a->land(2);
  ASSERT_TRUE(took_off(*a, 4));
}

TEST_F(RedisChange, a_new_semaphore_counts_those_in_flight_cuts_nobody_and_is_exact_in_the_end) {
  const auto a = grown_up({pacer(1'000)}), b = grown_up({pacer(1'000), permits_of(2)});
  a->arrive(3);
  ASSERT_TRUE(took_off(*a, 3));
  a->change({pacer(1'000), permits_of(2)});
  a->arrive(2);
  b->arrive(1);
  EXPECT_EQ(settled(*a), 3u);
  EXPECT_THAT(b->took_off(), IsEmpty()) << "a has both";
  a->land(0);
  EXPECT_EQ(settled(*a) + b->took_off().size(), 3u) << "two still fly";
  a->land(1), a->land(2);
  ASSERT_TRUE(run_.run_until([&] { return a->took_off().size() + b->took_off().size() == 5; }));
  EXPECT_EQ(settled(*a) + b->took_off().size(), 5u);
  EXPECT_EQ(a->cut() + b->cut(), 0u);
}

TEST_F(RedisChange, what_an_ask_under_way_is_granted_counts_in_a_semaphore_that_is_new) {
  const auto a = grown_up({pacer(1'000)});
  a->arrive(1);
  ASSERT_TRUE(took_off(*a, 1));
  a->land(0);
  server_.pause();
  a->arrive(1);
  a->change({permits_of(1), pacer(1'000)});
  server_.resume();
  ASSERT_TRUE(took_off(*a, 2));
  a->arrive(1);
  EXPECT_EQ(settled(*a), 2u);
  a->land(1);
  ASSERT_TRUE(took_off(*a, 3));
  EXPECT_EQ(settled(*a), 3u);
}

TEST_F(RedisChange, the_permits_of_a_semaphore_that_goes_are_for_others_at_once) {
  const auto a = grown_up({permits_of(2)}), b = grown_up({permits_of(2)});
  a->arrive(2);
  ASSERT_TRUE(took_off(*a, 2));
  b->arrive(3);
  EXPECT_EQ(settled(*b), 0u);
  a->change({pacer(1'000)});
  ASSERT_TRUE(took_off(*b, 2));
  EXPECT_EQ(settled(*b), 2u);
  a->land(0), a->land(1);
  EXPECT_EQ(settled(*b), 2u) << "none is given back twice";
}

TEST_F(RedisChange, an_ask_under_way_for_a_semaphore_that_goes_leaves_no_permit_behind) {
  const auto a = grown_up({permits_of(2)}), b = grown_up({permits_of(2)});
  a->arrive(1);
  ASSERT_TRUE(took_off(*a, 1));
  server_.pause();
  a->arrive(1);
  a->change({pacer(1'000)});
  server_.resume();
  ASSERT_TRUE(took_off(*a, 2));
  b->arrive(2);
  ASSERT_TRUE(took_off(*b, 2)) << "and not when a lease ends";
}

// Redis grants it under a number that flights have taken which are in flight without a permit.
TEST_F(RedisChange, an_ask_under_way_for_a_semaphore_that_goes_and_comes_back_cuts_no_flight) {
  const auto a = grown_up({pacer(1'000)}), b = grown_up({pacer(1'000), permits_of(3)});
  b->arrive(3);
  ASSERT_TRUE(took_off(*b, 3));
  a->arrive(2);
  ASSERT_TRUE(took_off(*a, 2));
  a->change({pacer(1'000), permits_of(3)});
  EXPECT_EQ(settled(*a), 2u);
  b->land(0);
  EXPECT_EQ(settled(*b), 3u);
  server_.pause();
  a->arrive(1);
  run_.run_for(kSecond / 100);
  a->change({pacer(1'000)});
  run_.run_for(kSecond / 100);
  a->change({pacer(1'000), permits_of(3)});
  a->land(0), a->land(1);
  server_.resume();
  ASSERT_TRUE(took_off(*a, 3));
  EXPECT_EQ(settled(*a), 3u);
  EXPECT_EQ(a->cut(), 0u);
  a->land(2), b->land(1), b->land(2);
  a->arrive(2), b->arrive(2);
  ASSERT_TRUE(run_.run_until([&] { return a->took_off().size() + b->took_off().size() == 9; })) << "three of four";
  EXPECT_EQ(settled(*a) + b->took_off().size(), 9u);
  EXPECT_EQ(a->cut() + b->cut(), 0u);
}

TEST_F(RedisChange, a_semaphore_that_goes_and_comes_back_loses_and_invents_no_permit) {
  const auto a = grown_up({permits_of(3)}), b = grown_up({permits_of(3)});
  for (int round = 0; round < 5; ++round) {
    const std::size_t before = a->took_off().size();
    a->arrive(2);
    ASSERT_TRUE(took_off(*a, before + 2));
    a->change({pacer(1'000)});
    if (round % 2 == 0) run_.run_for(kSecond / 20);
    a->change({pacer(1'000), permits_of(3)});
    run_.run_for(kSecond / 20);
    const std::size_t others = b->took_off().size();
    b->arrive(2);
    ASSERT_TRUE(took_off(*b, others + 1));
    EXPECT_EQ(settled(*b), others + 1) << "two are a's";
    a->land(before), a->land(before + 1);
    ASSERT_TRUE(took_off(*b, others + 2));
    b->land(others), b->land(others + 1);
  }
  EXPECT_EQ(a->cut() + b->cut(), 0u);
}

TEST_F(RedisChange, a_semaphore_of_groups_that_is_new_counts_those_of_each) {
  const auto a = grown_up({pacer(1'000)});
  a->arrive(2, "one");
  a->arrive(1, "two");
  ASSERT_TRUE(took_off(*a, 3));
  a->change({of_group(permits_of(2)), pacer(1'000)});
  a->arrive(2, "one");
  a->arrive(2, "two");
  ASSERT_TRUE(took_off(*a, 4));
  EXPECT_EQ(settled(*a), 4u);
  EXPECT_EQ(a->took_off()[3].group, "two");
  a->land(0);
  ASSERT_TRUE(took_off(*a, 5));
  EXPECT_EQ(a->took_off()[4].group, "one");
}

TEST_F(RedisChange, a_shorter_lease_cuts_nobody_whose_longer_one_still_runs) {
  const auto a = grown_up({permits_of(1, 60s)});
  a->arrive(1);
  ASSERT_TRUE(took_off(*a, 1));
  run_.run_for(kSecond + kSecond / 2);
  a->change({permits_of(1, 2s)});
  run_.run_for(3 * kSecond);
  EXPECT_EQ(a->cut(), 0u);
  a->land(0);
  a->arrive(1);
  EXPECT_TRUE(took_off(*a, 2));
}

// ---- another limiter
// -------------------------------------------------------------------------------------------------

TEST_F(RedisChange, to_limits_of_this_process_alone_and_back_loses_nobody) {
  const auto a = desk({pacer(0.05)});
  a->arrive(3);
  ASSERT_TRUE(took_off(*a, 1));
  settled(*a);
  a->change_to_own({own(pacer(1'000))});
  ASSERT_TRUE(took_off(*a, 3));
  server_.pause();
  a->change_to_shared({pacer(1'000)});
  a->arrive(2);
  a->change_to_own({own(long_window(1'000))});
  ASSERT_TRUE(took_off(*a, 5)) << "its ask is void";
  server_.resume();
  a->change_to_shared({pacer(1'000)});
  a->arrive(2);
  ASSERT_TRUE(took_off(*a, 7));
}

TEST_F(RedisChange, to_another_limiter_hands_the_permits_back_and_takes_as_many_again) {
  const auto a = grown_up({permits_of(2)}), b = grown_up({permits_of(2)});
  for (int round = 0; round < 4; ++round) {
    const std::size_t before = a->took_off().size(), others = b->took_off().size();
    a->arrive(2);
    ASSERT_TRUE(took_off(*a, before + 2));
    a->change_to_own({own(permits_of(5))});
    b->arrive(2);
    ASSERT_TRUE(took_off(*b, others + 2)) << "they are for others at once";
    a->arrive(4);
    ASSERT_TRUE(took_off(*a, before + 5)) << "two of five are in flight already";
    EXPECT_EQ(settled(*a), before + 5);
    for (std::size_t n = 0; n < 5; ++n) a->land(before + n);
    ASSERT_TRUE(took_off(*a, before + 6));
    b->land(others);
    a->change_to_shared({permits_of(2)});
    a->arrive(1);
    EXPECT_EQ(settled(*a), before + 6) << "one is b's, and one is in flight already";
    b->land(others + 1);
    ASSERT_TRUE(took_off(*a, before + 7));
    a->land(before + 5), a->land(before + 6);
    EXPECT_EQ(a->cut() + b->cut(), 0u);
  }
}

TEST_F(RedisChange, to_another_limiter_with_an_ask_under_way_leaves_no_permit_behind) {
  const auto a = grown_up({permits_of(2)}), b = grown_up({permits_of(2)});
  server_.pause();
  a->arrive(1);
  a->change_to_own({own(pacer(1'000))});
  server_.resume();
  ASSERT_TRUE(took_off(*a, 1));
  run_.run_for(kSecond / 20);
  b->arrive(2);
  EXPECT_TRUE(took_off(*b, 2)) << "and not when a lease ends";
}

/// As if the first limiter's last words had been lost.
TEST_F(RedisChange, to_another_limiter_and_back_takes_up_no_permit_that_redis_still_knows_of) {
  const auto a = grown_up({permits_of(2)});
  a->arrive(1);
  ASSERT_TRUE(took_off(*a, 1));
  const std::string known = stored("permits");
  std::smatch told;
  ASSERT_TRUE(std::regex_match(known, told, std::regex(R"(2s\|(\w+):\d+:\d+:(\d+)\|\|)"))) << known;
  a->change_to_own({own(pacer(1'000))});
  ASSERT_TRUE(run_.run_until([&] { return stored("permits").empty(); }));
  server_.run({"SET", "penstock:{github}:permits", "2s|" + told.str(1) + ":9:8:" + told.str(2) + "||"});
  a->change_to_shared({permits_of(2)});
  a->arrive(7);
  ASSERT_TRUE(took_off(*a, 2)) << "one was in flight before";
  EXPECT_EQ(settled(*a), 2u);
  EXPECT_EQ(a->cut(), 0u);
}

/// A desk that reads other limits again and again.
struct Restless {
  static constexpr int kCapacity = 3;
  enum class Limits { semaphore, no_semaphore, own };

  std::unique_ptr<LimiterFixture> desk;
  Limits limits = Limits::semaphore;
  std::size_t arrived = 0, landed = 0;
  std::size_t bound =
      0;  ///< the first that arrived since it has had the semaphore: only from then on it needs a permit

  std::size_t in_flight() const { return desk->took_off().size() - landed; }
  std::size_t in_flight_by_permit() const {
    return limits == Limits::semaphore ? desk->took_off().size() - std::min(desk->took_off().size(), first_bound()) : 0;
  }
  void arrive(int count) { arrived += count, desk->arrive(count); }
  void land() { desk->land(landed++); }
  void change(Limits to) {
    if (to == Limits::own) {
      desk->change_to_own({own(pacer(1'000)), own(permits_of(4))});
    } else {
      std::vector<LimitConfig> shared{pacer(1'000)};
      if (to == Limits::semaphore) shared.push_back(permits_of(kCapacity));
      limits == Limits::own ? desk->change_to_shared(shared) : desk->change(shared);
    }
    if (limits != to) bound = arrived;
    limits = to;
  }

 private:
  std::size_t first_bound() const { return std::max(bound, landed); }
};

TEST_F(RedisChange, at_any_moment_cuts_nobody_and_grants_no_permit_twice) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto below = [&](unsigned end) { return static_cast<int>(random() % end); };
    config_.prefix = "seed" + std::to_string(seed);
    server_.run({"SET", config_.prefix + ":{github}:head", "2 1-old - 1 0 -"});
    std::array<Restless, 2> all;
    for (Restless& one : all) {
      one.desk = desk({pacer(1'000), permits_of(Restless::kCapacity)});
      one.desk->fly_on();
    }
    const auto check = [&] {
      EXPECT_LE(all[0].in_flight_by_permit() + all[1].in_flight_by_permit(), std::size_t{Restless::kCapacity});
      EXPECT_EQ(all[0].desk->cut() + all[1].desk->cut(), 0u);
    };
    bool paused = false;
    for (int step = 0; step < 80 && !HasFailure(); ++step) {
      Restless& one = all[random() % all.size()];
      if (!paused && below(3) == 0) server_.pause(), paused = true;
      if (one.arrived - one.landed < 6 && below(2) == 0) one.arrive(1 + below(3));
      if (one.in_flight() > 0 && below(2) == 0) one.land();
      if (below(3) == 0) one.change(static_cast<Restless::Limits>(below(3)));
      if (paused && below(2) == 0) server_.resume(), paused = false;
      run_.run_for(below(4'000));
      check();
    }
    if (paused) server_.resume();
    for (Restless& one : all) one.change(Restless::Limits::semaphore);
    ASSERT_TRUE(run_.run_until([&] {
      for (Restless& one : all) {
        while (one.in_flight() > 0) one.land();
      }
      return std::ranges::all_of(all, [](const Restless& one) { return one.landed == one.arrived; });
    }));
    for (Restless& one : all) one.arrive(4);
    ASSERT_TRUE(run_.run_until([&] { return all[0].in_flight() + all[1].in_flight() >= Restless::kCapacity; }))
        << "none is left behind";
    run_.run_for(kSecond / 20);
    check();
  }
}

TEST_F(RedisChange, to_another_limiter_is_heard_of_by_the_office) {
  const auto a = desk({pacer(1'000)});
  a->change_to_own({own(pacer(1'000))});
  const auto b = desk({own(pacer(1'000))});
  b->change_to_own({own(pacer(1'000))});
  ASSERT_TRUE(all_listen(2));
  const auto until = run_.loop.now() + kSecond;
  a->limiter().pause(run_.loop.now(), {}, until);
  const auto heard = [&] { return b->limiter().ahead(run_.loop.now(), {}, 0, 0) >= until - clock_error(*a, *b); };
  ASSERT_TRUE(run_.run_until(heard));
  b->arrive(1);
  ASSERT_TRUE(took_off(*b, 1));
  EXPECT_GE(b->took_off()[0].at, until - clock_error(*a, *b));
}

}  // namespace
}  // namespace penstock::redis
