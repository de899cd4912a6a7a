// SPDX-License-Identifier: Apache-2.0
// The judges of what processes know of each other, on runs made by hand: what they let pass, and what not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulation/hand_made.h"

namespace penstock::simulation {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST(Presences, are_one_a_second) {
  for (const auto& [apart, broken] : {std::pair{kSecond, 0u}, std::pair{kSecond / 3, 5u}}) {
    HandMade run({pacer(100)});
    for (int n = 0; n < 6; ++n) run.journal.presences.push_back({.at = n * apart});
    run.journal.ended = 10 * kSecond;
    EXPECT_THAT(run.broken("calls"), SizeIs(broken));
  }
}

TEST(Presences, do_not_come_in_the_horizon_of_a_return) {
  for (const auto& [after, broken] : {std::pair<Time, unsigned>{50'000, 1}, std::pair<Time, unsigned>{50'001, 0}}) {
    HandMade run({pacer(100)});
    run.journal.standings.push_back({.at = 2 * kSecond, .member = 0, .up = false, .degraded = true});
    run.journal.standings.push_back({.at = 4 * kSecond, .member = 0, .up = true});
    run.journal.presences = {{.at = kSecond}, {.at = 4 * kSecond + after}};
    run.journal.ended = 10 * kSecond;
    EXPECT_THAT(run.broken("calls"), SizeIs(broken));
  }
}

TEST(Presences, come_again_while_the_node_that_has_their_key_is_away_and_two_seconds_longer) {
  for (const auto& [after, broken] :
       {std::pair<Time, unsigned>{2'999'999, 0}, std::pair<Time, unsigned>{3'000'000, 1}}) {
    HandMade run({pacer(100)});
    Fault fault{.kind = Fault::Kind::redis_stops, .at = kSecond, .lasts = kSecond};
    fault.elsewhere = true;
    run.plan.faults = {fault};
    run.fail(Fault::Kind::elsewhere, kSecond);
    run.journal.presences = {{.at = kSecond + after - 1'000}, {.at = kSecond + after}};
    run.journal.ended = 10 * kSecond;
    EXPECT_THAT(run.broken("calls"), SizeIs(broken));
  }
}

TEST(Presences, come_at_once_when_a_process_has_just_begun) {
  HandMade run({pacer(100)});
  run.journal.presences = {{.at = 1}};
  EXPECT_THAT(run.broken("calls"), IsEmpty());
}

/// Three processes. The first has the new limits from 1 s on, the second reads them at 10 s, the third at 20 s.
HandMade reloading(double former, double rate) {
  HandMade run({pacer(rate)}, 3);
  const Time moments[] = {kSecond, 10 * kSecond, 20 * kSecond};
  for (std::size_t i = 0; i < 3; ++i) {
    run.plan.members[i].former = {pacer(former)};
    run.plan.members[i].reloads = moments[i];
  }
  return run;
}
/// The first process sends `fast` requests a second, the others `slow`.
void leave_evenly(HandMade& run, double fast, double slow) {
  const double rates[] = {fast, slow, slow};
  for (int member = 0; member < 3; ++member) {
    const double rate = rates[member];
    for (int n = 1; n / rate <= 20; ++n) run.add({.departed = static_cast<Time>(n / rate * 1e6), .member = member});
    run.add({.departed = 21 * kSecond, .member = member});
  }
}

TEST(Reloads, do_not_hold_up_those_that_have_the_higher_rate) {
  for (const auto& [fast, broken] : {std::pair{98.0, 0u}, std::pair{60.0, 1u}}) {
    HandMade run = reloading(1, 100);
    run.plan.members[1].reloads = run.plan.members[2].reloads = 20 * kSecond;
    leave_evenly(run, fast, 0.5);
    EXPECT_THAT(run.broken("reloads"), SizeIs(broken)) << fast;
  }
}

TEST(Reloads, do_not_starve_those_that_have_the_lower_rate) {
  for (const auto& [slow, broken] : {std::pair{2.4, 0u}, std::pair{1.0, 2u}}) {
    HandMade run = reloading(5, 100);
    run.plan.members[1].reloads = run.plan.members[2].reloads = 20 * kSecond;
    leave_evenly(run, 99, slow);
    EXPECT_THAT(run.broken("reloads"), SizeIs(broken)) << slow;
  }
}

}  // namespace
}  // namespace penstock::simulation
