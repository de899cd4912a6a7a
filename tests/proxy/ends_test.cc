// SPDX-License-Identifier: Apache-2.0
// Ends that come from this side: requesters that leave, at whatever stage, and a proxy that comes to rest. Each frees
// its slot once.
#include <chrono>
#include <map>

#include "proxy/dispatcher_fixture.h"

namespace penstock::proxy {
namespace {

using namespace std::chrono_literals;

/// Takes a head, says this, and holds the line; notes down when the peer has gone.
test::Origin::Script half(std::string bytes) {
  return [bytes = std::move(bytes)](test::Origin& origin, test::Socket& peer, int) {
    origin.note(peer.read_until("\r\n\r\n").substr(0, 4));
    peer.send(bytes);
    peer.read_to_end();
    origin.note("gone");
  };
}

const std::string kHalf = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello";

class EndsTest : public DispatcherTest {
 protected:
  EndsTest() { config_.unmatched.max_concurrent = 1; }

  void expect_left(const Asker& asker, int status) {
    EXPECT_EQ(told_.back().kind, EventKind::error);
    EXPECT_EQ(told_.back().outcome, Outcome::client_gone);
    EXPECT_EQ(told_.back().status, status);
    EXPECT_EQ(told_.back().in_flight, 0u);
    expect_at_rest();
    run_.run_for(20'000);
    EXPECT_EQ(asker.outcomes(), 0) << "it hears no more";
  }

  Asker asker_;
};

TEST_F(EndsTest, leaving_at_once_frees_the_slot) {
  test::Origin origin(half(""));
  get(asker_, origin.host());
  leave(asker_);
  expect_left(asker_, 0);
}

TEST_F(EndsTest, leaving_while_the_upstream_is_dialled_frees_the_slot) {
  const test::ListeningSocket full(0);
  const auto one = test::connect_to(full.port());  // takes the only place in the queue
  get(asker_, "127.0.0.1:" + std::to_string(full.port()));
  run_.run_for(20'000);
  leave(asker_);
  expect_left(asker_, 0);
}

TEST_F(EndsTest, leaving_while_an_answer_is_awaited_frees_the_slot_and_the_upstream_sees_it) {
  test::Origin origin(half(""));
  get(asker_, origin.host());
  ASSERT_TRUE(run_.run_until([&] { return origin.notes().size() == 1; }));
  leave(asker_);
  EXPECT_TRUE(run_.run_until([&] { return origin.notes().size() == 2; }));
  expect_left(asker_, 0);
}

TEST_F(EndsTest, leaving_in_the_middle_of_an_answer_frees_the_slot) {
  test::Origin origin(half(kHalf));
  get(asker_, origin.host());
  ASSERT_TRUE(run_.run_until([&] { return asker_.body == "hello"; }));
  leave(asker_);
  expect_left(asker_, 200);
  EXPECT_EQ(told_.back().bytes_in, 5u);
}

TEST_F(EndsTest, leaving_while_the_answer_is_paused_frees_the_slot) {
  test::Origin origin(half(kHalf));
  asker_.room = false;
  get(asker_, origin.host());
  ASSERT_TRUE(run_.run_until([&] { return asker_.status == 200; }));
  leave(asker_);
  expect_left(asker_, 200);
}

TEST_F(EndsTest, leaving_in_the_middle_of_an_upload_frees_the_slot) {
  test::Origin origin(half(""));
  ask(asker_, with_length(head("POST", "http://" + origin.host() + "/"), 10));
  give(asker_, "hello", false);
  ASSERT_TRUE(run_.run_until([&] { return origin.notes().size() == 1; }));
  leave(asker_);
  expect_left(asker_, 0);
}

TEST_F(EndsTest, the_slot_of_one_who_left_is_the_next_ones) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int number) {
    self.note(peer.read_until("\r\n\r\n").substr(0, 6));
    if (number > 1) peer.send(kOk);
    peer.read_to_end();
  });
  Asker next;
  get(asker_, origin.host(), "/1");
  get(next, origin.host(), "/2");
  ASSERT_TRUE(run_.run_until([&] { return origin.notes().size() == 1; }));
  leave(asker_);
  EXPECT_EQ(course(), "dispatch error dispatch");
  ASSERT_TRUE(finish(next));
  EXPECT_EQ(next.status, 200);
  EXPECT_EQ(course(), "dispatch error dispatch complete");
}

TEST_F(EndsTest, many_that_leave_at_random_leave_nothing_behind) {
  config_.unmatched.max_concurrent = 5;
  test::Origin origin(test::always(kOk));
  std::vector<std::unique_ptr<Asker>> all;
  for (std::size_t i = 0; i < 300; ++i) {
    all.push_back(std::make_unique<Asker>());
    get(*all.back(), origin.host());
    const std::size_t chosen = i * 7 % all.size();
    if (i % 3 == 0 && all[chosen]->exchange) leave(*all[chosen]);
    if (i % 20 == 0) run_.run_for(500);
  }
  ASSERT_TRUE(run_.run_until([&] {
    const auto now = upstream(origin.host());
    return now.pending + now.in_flight == 0;
  }));
  expect_at_rest();
  std::map<std::string, int> ends;
  for (const auto& one : told_) ends[one.id] += one.kind != EventKind::dispatch;
  EXPECT_EQ(ends.size(), 300u);
  for (const auto& [id, count] : ends) EXPECT_EQ(count, 1) << "one end each";
  const auto totals = upstream(origin.host()).totals;
  EXPECT_EQ(totals.success + totals.client_gone + totals.client_gone_pending, 300u);
  EXPECT_EQ(totals.dispatched, totals.success + totals.client_gone);
}

TEST_F(EndsTest, ending_all_refuses_who_waits_and_who_has_no_answer_yet_and_breaks_off_the_rest) {
  config_.unmatched.max_concurrent = 2;
  test::Origin origin([](test::Origin& self, test::Socket& peer, int number) {
    self.note(peer.read_until("\r\n\r\n").substr(0, 4));
    if (number == 1) peer.send(kHalf);
    peer.read_to_end();
  });
  Asker answered, unanswered, waiting;
  get(answered, origin.host());
  ASSERT_TRUE(run_.run_until([&] { return answered.body == "hello"; }));
  get(unanswered, origin.host());
  get(waiting, origin.host());
  ASSERT_TRUE(run_.run_until([&] { return origin.notes().size() == 2; }));
  dispatcher_->end_all();
  EXPECT_EQ(answered.breaks, 1);
  ASSERT_EQ(unanswered.refusals.size(), 1u);
  EXPECT_EQ(unanswered.refusals[0].why, http::Reason::draining);
  ASSERT_EQ(waiting.refusals.size(), 1u);
  EXPECT_EQ(waiting.refusals[0].why, http::Reason::draining);
  EXPECT_EQ(waiting.refusals[0].status_code(), 503);
  EXPECT_EQ(course(), "dispatch dispatch refused error error") << "nobody takes off in the middle of it";
  expect_at_rest();
  EXPECT_EQ(answered.outcomes() + unanswered.outcomes() + waiting.outcomes(), 3);
}

TEST_F(EndsTest, ending_all_with_nothing_under_way_does_nothing) {
  dispatcher().end_all();
  EXPECT_EQ(course(), "");
}

TEST_F(EndsTest, draining_refuses_newcomers_and_waits_for_the_others) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int) {
    for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
      self.wait_for_release();
      peer.send(kOk);
    }
  });
  Asker flying, waiting, late;
  get(flying, origin.host());
  get(waiting, origin.host());
  int empty = 0;
  dispatcher_->drain([&] { ++empty; });
  EXPECT_TRUE(dispatcher_->draining());
  EXPECT_TRUE(snapshot().draining);
  get(late, origin.host());
  ASSERT_EQ(late.refusals.size(), 1u);
  EXPECT_EQ(late.refusals[0].why, http::Reason::draining);
  EXPECT_TRUE(late.refusals[0].retry_after);
  EXPECT_EQ(empty, 0);
  origin.release();
  ASSERT_TRUE(run_.run_until([&] { return empty > 0; }));
  EXPECT_EQ(flying.status, 200);
  EXPECT_EQ(waiting.status, 200);
  run_.run_for(10'000);
  EXPECT_EQ(empty, 1);
}

TEST_F(EndsTest, draining_with_nothing_under_way_is_over_at_once) {
  int empty = 0;
  dispatcher().drain([&] { ++empty; });
  EXPECT_EQ(empty, 1);
}

TEST_F(EndsTest, draining_ends_with_the_last_whatever_its_end) {
  test::Origin origin(half(""));
  get(asker_, origin.host());
  int empty = 0;
  dispatcher_->drain([&] { ++empty; });
  EXPECT_EQ(empty, 0);
  leave(asker_);
  EXPECT_EQ(empty, 1);
}

TEST_F(EndsTest, a_dispatcher_may_go_with_requests_in_every_stage) {
  test::Origin origin(half(kHalf));
  config_.dns.servers = {"127.0.0.1:9"};
  std::vector<std::unique_ptr<Asker>> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(std::make_unique<Asker>());
    get(*all.back(), origin.host());
  }
  Asker looking;
  get(looking, "name.test");
  ASSERT_TRUE(run_.run_until([&] { return all[0]->body == "hello"; }));
  dispatcher_.reset();
  run_.run_for(20'000);
  for (const auto& one : all) EXPECT_EQ(one->outcomes(), 0);
}

}  // namespace
}  // namespace penstock::proxy
