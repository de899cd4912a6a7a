// SPDX-License-Identifier: Apache-2.0
// The judges of calls to Redis, and of waits that requests were told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "simulation/hand_made.h"

namespace penstock::simulation {
namespace {

using testing::SizeIs;

/// A grant has three requests: 0.433 calls a request, plus one a second of each process.
TEST(Calls, are_fewer_than_requests_under_load) {
  for (const auto& [calls, broken] : {std::pair{433 + 2 * 10, 0u}, std::pair{433 + 2 * 11, 1u}}) {
    HandMade run({pacer(100)}, 2);
    queue_of(run, 100, 10 * kSecond - 20'000, [](Time) { return false; });
    run.journal.ended = 10 * kSecond;
    for (int n = 0; n < calls; ++n) run.journal.calls.push_back({.at = n * 20'000});
    EXPECT_THAT(run.broken("calls"), SizeIs(broken));
  }
}

TEST(Calls, are_one_for_a_request_that_need_not_wait) {
  for (const auto& [calls, broken] : {std::pair{1'200 + 10, 0u}, std::pair{1'200 + 11, 1u}}) {
    HandMade run({pacer(1'000)});
    for (int n = 1; n <= 1'000; ++n) run.pass(n * 10'000, 1);
    for (int n = 0; n < calls; ++n) run.journal.calls.push_back({.at = n * 8'000});
    EXPECT_THAT(run.broken("calls"), SizeIs(broken));
  }
}

/// A told wait is wrong if it is off by more than two grants of three and a horizon: one of 100 may be, two may not.
TEST(Told, comes_true_for_99_of_100) {
  for (const int wrong : {1, 2}) {
    HandMade run({pacer(100)});
    for (int n = 1; n <= 100; ++n) {
      const Time wait = n * 10'000;
      run.add({.arrived = 10'000, .departed = 10'000 + wait}).told =
          wait + (n >= 50 && n < 50 + wrong ? 110'001 : 110'000);
    }
    // These requests keep the process wanting to send from the begin to the end.
    run.journal.requests.insert(run.journal.requests.begin(),
                                {.departed = 5'000, .ended = 5'000, .end = Request::End::served});
    run.journal.requests.insert(run.journal.requests.begin() + 1,
                                {.departed = 15'000, .ended = 15'000, .end = Request::End::served});
    run.add({.arrived = 10'001, .departed = 1'200'000});
    EXPECT_EQ(run.judged().figures.told, 100u);
    EXPECT_THAT(run.broken("told"), SizeIs(wrong == 2 ? 1 : 0));
  }
}

/// A request comes at 2 s, and leaves later than it was told by more than two grants and a horizon, while another
/// process wants to send from the begin on and gets as much. It is not judged if its process last asked just after the
/// other began to want, or if the other gets a fifth, because it has no more waiting.
TEST(Told, is_judged_where_it_could_be_known) {
  for (const auto& [asked, one_of, judged] :
       {std::tuple{1'900'000, 1, 1u}, std::tuple{500'000, 1, 0u}, std::tuple{1'900'000, 5, 0u}}) {
    HandMade run({pacer(100)}, 2);
    queue_of(run, 100, 10 * kSecond, [&](Time at) { return at / 10'000 % 2 == 1 && at / 20'000 % one_of != 0; });
    run.journal.calls = {{.at = asked, .member = 0}};
    run.add({.arrived = 2 * kSecond, .departed = 6 * kSecond + 1}).told = 2 * kSecond;
    EXPECT_EQ(run.judged().figures.told, judged);
    EXPECT_THAT(run.broken("told"), SizeIs(judged));
  }
}

TEST(Told, refuses_nobody_for_a_wait_that_later_ones_had_not) {
  for (const auto& [later, broken] : {std::pair{960'001, 0u}, std::pair{959'000, 1u}}) {  // less a grant and 50 ms
    HandMade run({pacer(100)});
    run.plan.members[0].settings.max_wait = kSecond + 40'000;
    run.refuse(0, flow::Refused::wait_over);
    run.add({.arrived = 100, .departed = later});
    EXPECT_THAT(run.broken("told"), SizeIs(broken));
  }
}

}  // namespace
}  // namespace penstock::simulation
