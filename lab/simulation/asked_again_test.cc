// SPDX-License-Identifier: Apache-2.0
// What an upstream refuses is asked again, by fleets in virtual time: how often it is asked, what becomes of each
// request, and when. The bounds are exact, whatever the seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "simulation/fleet.h"

namespace penstock::simulation {
namespace {

constexpr int kClients = 100;
constexpr Time kComes = 2 * kSecond;  // by then the processes know each other
constexpr std::uint64_t kSeeds = 8;

/// A hundred requests come at once, to that many processes.
Plan hundred(std::uint64_t seed, int processes, int at_once) {
  Plan plan{.seed = seed, .refusing = Refusing{}, .length = 12 * kSecond};
  for (int i = 0; i < processes; ++i) {
    const int share = kClients / processes + (i < kClients % processes ? 1 : 0);
    plan.members.push_back(
        {.settings = {.max_concurrent = at_once, .max_pending = 1'000, .max_wait = 30 * kSecond},
         .demand = {.spike = share, .spike_at = kComes, .flight = 20 * kMillisecond, .flight_varies = true}});
  }
  return plan;
}

std::ptrdiff_t refused_at_origin(const Journal& journal) {
  return std::ranges::count_if(journal.sendings, &Sending::refused);
}

Time first_refusal(const Journal& journal) { return std::ranges::find_if(journal.sendings, &Sending::refused)->came; }

/// `at_once`: how many may be refused before the first refusal is known everywhere.
void expect_nobody_refused(const Plan& plan, int at_once) {
  const Journal journal = run(plan);
  ASSERT_EQ(journal.requests.size(), std::size_t{kClients});
  const Time recovers = plan.refusing->until, pause = plan.refusing->pause;
  for (const Request& request : journal.requests) {
    EXPECT_EQ(request.end, Request::End::served);
    EXPECT_FALSE(request.turned_away) << "its client sees a refusal";
    EXPECT_LE(request.ended, recovers + pause + kSecond);
  }
  if (std::getenv("PENSTOCK_FIGURES"))
    std::printf("%zu processes, %d at once: %d refused, all served after %d ms\n", plan.members.size(), at_once,
                static_cast<int>(refused_at_origin(journal)),
                static_cast<int>((std::ranges::max(journal.requests, {}, &Request::ended).ended - recovers) / 1000));
  const auto pauses = (recovers - first_refusal(journal)) / pause;
  EXPECT_GE(pauses, 3);
  EXPECT_LE(refused_at_origin(journal), at_once + pauses);
  EXPECT_GT(refused_at_origin(journal), pauses) << "else nothing is shown";
}

TEST(AskedAgain, a_hundred_clients_see_no_refusal) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const int processes : {1, 3}) {
      for (const int at_once : {20, 64}) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(processes) + " processes, " +
                     std::to_string(at_once) + " at once");
        Plan plan = hundred(seed, processes, at_once);
        plan.refusing->until = kComes + 3'200 * kMillisecond;
        plan.refusing->method = seed % 2 == 0 ? "GET" : "POST";
        // Without a limit that is shared each process has so many in flight before it hears of the pause.
        expect_nobody_refused(plan, std::min(kClients, processes * at_once));
        plan.limits = {{.kind = SemaphoreConfig{at_once, std::chrono::seconds(6)}}};
        for (Member& member : plan.members) member.settings.max_concurrent = kClients;
        expect_nobody_refused(plan, at_once);
      }
    }
  }
}

/// Each gets its own last refusal, if there was one, and else ours, which names the pause.
void expect_ends(const Journal& journal, Time max_wait, Time pause) {
  for (const Request& request : journal.requests) {
    const bool used_up = request.end == Request::End::served;  // what the client sees then is its refusal
    EXPECT_TRUE(used_up || request.end == Request::End::refused);
    if (used_up) {
      EXPECT_TRUE(request.turned_away);
      EXPECT_TRUE(request.attempts == RetryConfig{}.attempts || request.ended + pause > request.arrived + max_wait);
    } else {
      EXPECT_EQ(request.refused, flow::Refused::wait_over);
      EXPECT_LE(request.ended, request.arrived + max_wait);
      EXPECT_TRUE(request.attempts > 0 || request.limited_by == flow::kPause);
    }
  }
  for (const Sending& sending : journal.sendings)
    EXPECT_LE(sending.departed, journal.requests[sending.id].arrived + max_wait) << "sent after its deadline";
}

TEST(AskedAgain, in_vain_costs_one_request_a_pause) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const int processes : {1, 3}) {
      for (const int at_once : {20, 64}) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(processes) + " processes");
        Plan plan = hundred(seed, processes, at_once);
        plan.refusing->until = kDay;
        plan.length = 40 * kSecond;
        const Journal journal = run(plan);
        const auto sends = std::ssize(journal.sendings);
        EXPECT_LE(sends, kClients + 30 + 10);
        EXPECT_LE(sends, std::min(kClients, processes * at_once) + 30) << "a herd at the begin, and no other";
        EXPECT_GE(sends, at_once + 20) << "it is asked all the time";
        EXPECT_TRUE(std::ranges::all_of(journal.sendings, &Sending::refused));
        expect_ends(journal, 30 * kSecond, plan.refusing->pause);
      }
    }
  }
}

/// The budget is that of each process.
TEST(AskedAgain, after_failures_within_the_budget_alone) {
  constexpr int kStretches = 6;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const double rate : {2.0, 30.0, 200.0}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(rate) + " a second");
      Plan plan{.seed = seed,
                .refusing = Refusing{.until = kDay, .status = 503, .pause = 0},
                .length = (10 * kStretches + 1) * kSecond};
      plan.refusing->retry.failures = RetryConfig::Failures::safe;
      plan.members.push_back({.settings = {.max_concurrent = 1'000, .max_pending = 1'000, .max_wait = kMinute},
                              .demand = {.rate = rate, .even = true, .until = 10 * kStretches * kSecond}});
      const Journal journal = run(plan);
      for (int i = 0; i < kStretches; ++i) {
        const auto within = [i](Time at) { return at >= 10 * i * kSecond && at < 10 * (i + 1) * kSecond; };
        const auto sends = std::ranges::count_if(journal.sendings, within, &Sending::departed);
        const auto came = std::ranges::count_if(journal.requests, within, &Request::arrived);
        EXPECT_LE(static_cast<double>(sends), 1.2 * static_cast<double>(came) + 10) << "stretch " << i;
        EXPECT_GT(sends, came) << "stretch " << i << ": some were sent again";
      }
      for (const Request& request : journal.requests) {
        EXPECT_EQ(request.end, Request::End::served);
        EXPECT_TRUE(request.turned_away);
      }
    }
  }
}

TEST(AskedAgain, is_nothing_whose_body_is_too_large_to_keep) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Plan plan = hundred(seed, 1, 20);
    plan.refusing->until = kComes + 3'200 * kMillisecond;
    plan.refusing->keeps_bodies = false;
    const Journal journal = run(plan);
    int refused = 0;
    for (const Request& request : journal.requests) {
      EXPECT_EQ(request.end, Request::End::served);
      EXPECT_EQ(request.attempts, 1);
      if (!request.turned_away) continue;
      ++refused;
      EXPECT_LE(request.ended, request.departed + 50 * kMillisecond) << "there and back: it is passed on at once";
    }
    EXPECT_EQ(refused, refused_at_origin(journal));
    EXPECT_GE(refused, 20);
    EXPECT_LE(refused, 23);
  }
}

/// Of what Redis has granted the other process, some may leave within the horizon. `lasts`: the pause's length.
TEST(AskedAgain, is_nothing_while_another_process_has_been_told_to_pause) {
  constexpr Time kTold = 3 * kSecond, kLasts = 2 * kSecond;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const LimitConfig::Kind& kind : {LimitConfig::Kind(PacerConfig{.qps = 400}),
                                          LimitConfig::Kind(SlidingWindowConfig{400, std::chrono::seconds(1)}),
                                          LimitConfig::Kind(SemaphoreConfig{30, std::chrono::seconds(6)})}) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Plan plan{.seed = seed, .limits = {{.kind = kind}}, .length = 8 * kSecond};
      for (int i = 0; i < 2; ++i) {
        plan.members.push_back({.settings = {.max_concurrent = 100, .max_pending = 1'000, .max_wait = kMinute},
                                .demand = {.clients = 40, .flight = 20 * kMillisecond, .flight_varies = true}});
      }
      plan.faults = {{.kind = Fault::Kind::paused, .at = kTold, .lasts = kLasts, .member = 0}};
      const Journal journal = run(plan);
      Time last = 0, next = kDay;
      for (const std::uint64_t id : journal.departures) {
        const Request& request = journal.requests[id];
        if (request.member != 1) continue;
        if (request.departed < kTold + kSecond) last = std::max(last, request.departed);
        if (request.departed >= kTold + kSecond) next = std::min(next, request.departed);
      }
      EXPECT_GT(last, kTold - 100 * kMillisecond) << "it was at work";
      EXPECT_LE(last, kTold + 50 * kMillisecond);
      EXPECT_GE(next, kTold + kLasts - kMillisecond);
      EXPECT_LE(next, kTold + kLasts + 200 * kMillisecond);
    }
  }
}

}  // namespace
}  // namespace penstock::simulation
