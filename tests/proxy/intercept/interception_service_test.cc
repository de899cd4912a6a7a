// SPDX-License-Identifier: Apache-2.0
// Turns of handshakes: in order, and few in one turn of the loop.
#include "proxy/intercept/interception_service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "loop/iteration_end.h"
#include "support/test_loop.h"

namespace penstock::proxy {
namespace {

class InterceptorTest : public testing::Test {
 protected:
  InterceptorTest() {
    run_.loop.at_iteration_end([this] { ++turns_; });
  }
  /// What takes so long that few have room in one turn.
  void work() {
    const auto until = run_.loop.now() + 1'000;
    while (run_.loop.now() < until) continue;
  }

  test::TestLoop run_;
  InterceptionService interception_{run_.loop};
  std::deque<InterceptionService::HandshakeSlot> all_;
  int turns_ = 0;
};

TEST_F(InterceptorTest, has_handshakes_begin_in_order) {
  std::vector<int> begun;
  for (int i = 0; i < 30; ++i) all_.emplace_back(interception_, [&, i] { begun.push_back(i); });
  EXPECT_TRUE(begun.empty()) << "not inside the call";
  ASSERT_TRUE(run_.run_until([&] { return begun.size() == 30; }));
  EXPECT_TRUE(std::ranges::is_sorted(begun));
}

/// What begins may do its work later in the turn, as a stream does.
TEST_F(InterceptorTest, leaves_the_loop_to_others_between_a_few_of_them) {
  std::multiset<int> worked;  // by the loop's turn
  std::deque<loop::IterationEnd> later;
  for (int i = 0; i < 30; ++i) {
    auto& mine = later.emplace_back(run_.loop, [&] {
      work();
      worked.insert(turns_);
    });
    all_.emplace_back(interception_, [&mine] { mine.ask(); });
  }
  ASSERT_TRUE(run_.run_until([&] { return worked.size() == 30; }));
  for (const int turn : worked) EXPECT_LE(worked.count(turn), 6u);
}

TEST_F(InterceptorTest, forgets_who_has_gone) {
  bool last = false;
  all_.emplace_back(interception_, [] { ADD_FAILURE() << "it has gone"; });
  all_.emplace_back(interception_, [&] { last = true; });
  all_.pop_front();
  EXPECT_TRUE(run_.run_until([&] { return last; }));
}

TEST_F(InterceptorTest, lets_a_turn_end_those_behind_it) {
  bool first = false;
  all_.emplace_back(interception_, [&] {
    first = true;
    all_.pop_back();
  });
  all_.emplace_back(interception_, [] { ADD_FAILURE() << "it has gone"; });
  EXPECT_TRUE(run_.run_until([&] { return first; }));
  run_.run_for(10'000);
}

TEST_F(InterceptorTest, tells_of_hosts_that_are_spoken_to_by_http_2_alone_once_each_and_of_a_thousand_at_most) {
  std::vector<Notice> told;
  InterceptionService telling(run_.loop, [&](const Notice& notice) { told.push_back(notice); });
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 1500; ++i) telling.tell_of_h2("host-" + std::to_string(i) + ".test");
  }
  ASSERT_EQ(told.size(), 1000u);
  EXPECT_NE(told.back().text.find("host-999.test"), std::string::npos);
  interception_.tell_of_h2("nobody.wants.notices.test");
}

}  // namespace
}  // namespace penstock::proxy
