// SPDX-License-Identifier: Apache-2.0
// How requests end that wait to be sent again, or were: what their clients get, what their events say, and what they
// hold until then.
#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <utility>

#include "proxy/retry_fixture.h"

namespace penstock::proxy {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kBusyFor1s = "HTTP/1.1 429 Slow down\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nbusy";
const std::string kBusyFor20ms = "HTTP/1.1 429 Slow down\r\nRetry-After-Ms: 20\r\nContent-Length: 4\r\n\r\nbusy";

class RetryEnds : public RetryTest {
 protected:
  /// A POST of three bytes has been refused, and waits behind a pause of a second for a while.
  void wait_again(const test::Origin& origin) {
    ask(asker_, with_length(head("POST", "http://" + origin.host() + "/"), 3));
    give(asker_, "abc");
    ASSERT_TRUE(waits_again(asker_));
    const auto since = run_.loop.now();
    ASSERT_TRUE(run_.run_until([&] { return run_.loop.now() >= since + 30'000; }));
  }
  void expect_an_end_of_what_waited_for(std::string_view limit, std::int64_t at_least) {
    const Told& end = told_.back();
    EXPECT_EQ(end.in_flight, 0u);
    EXPECT_EQ(end.pending, 0u);
    EXPECT_EQ(end.limited_by, limit);
    EXPECT_TRUE(end.waited_again);
    EXPECT_GE(end.wait.value_or(Duration{0}).count(), at_least);
    EXPECT_LT(end.flight.value_or(1s), 1s);
    EXPECT_EQ(end.attempts, 1);
  }
  /// Refuses the first request, and hangs up when it has got another.
  static test::Origin::Script refuses_and_hangs_up(std::string refusal) {
    return [refusal = std::move(refusal)](test::Origin& self, test::Socket& peer, int) {
      for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
        self.note(head);
        if (self.notes().size() > 1) return;
        peer.send(refusal);
      }
    };
  }
  static test::Origin::Script refuses_and_holds(std::string then) {
    return [then = std::move(then)](test::Origin& self, test::Socket& peer, int) {
      self.note(peer.read_until("\r\n\r\n"));
      peer.send(kBusy);
      self.note(peer.read_until("\r\n\r\n"));
      self.wait_for_release();
      peer.send(then);
      peer.read_to_end();
    };
  }
};

// ---- events ---------------------------------------------------------------------------------------------------------

TEST_F(RetryEnds, a_client_that_leaves_counts_no_more_and_has_waited_for_the_pause) {
  test::Origin origin(refuses(1, kBusyFor1s, 3));
  wait_again(origin);
  leave(asker_);
  expect_an_end_of_what_waited_for("pause", 30'000);
  EXPECT_EQ(told_.back().outcome, Outcome::client_gone);
  EXPECT_EQ(told_.back().status, 0);
  EXPECT_EQ(told_.back().bytes_out, 3u);
  EXPECT_EQ(told_.back().bytes_in, 4u);
}

TEST_F(RetryEnds, a_body_that_is_malformed_ends_what_waits_likewise) {
  test::Origin origin(refuses(1, kBusyFor1s, 3));
  wait_again(origin);
  dispatcher_->reject(*asker_.exchange, {.why = http::Reason::malformed, .details = "bad chunk"});
  expect_an_end_of_what_waited_for("pause", 30'000);
  EXPECT_EQ(told_.back().status, 400);
  ASSERT_EQ(asker_.refusals.size(), 1u);
}

TEST_F(RetryEnds, a_stop_likewise) {
  test::Origin origin(refuses(1, kBusyFor1s, 3));
  wait_again(origin);
  dispatcher_->end_all();
  expect_an_end_of_what_waited_for("pause", 30'000);
  EXPECT_EQ(told_.back().status, 429);
}

TEST_F(RetryEnds, a_deadline_likewise) {
  config_.unmatched.limits = {{.kind = CounterConfig{.max = 1, .period = 24h}}};
  test::Origin origin(refuses(1, kBusyFor20ms));
  get(asker_, origin.host());
  ASSERT_TRUE(finish(asker_));
  expect_an_end_of_what_waited_for("counter", 5'000);
  EXPECT_EQ(told_.back().status, 429);
}

TEST_F(RetryEnds, what_is_served_at_last_has_waited_for_the_pause) {
  test::Origin origin(refuses(1, kBusyFor20ms));
  get(asker_, origin.host());
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(told_.back().status, 200);
  EXPECT_EQ(told_.back().limited_by, "pause");
  EXPECT_TRUE(told_.back().waited_again);
  EXPECT_GE(told_.back().wait.value_or(0s), 5ms);
  EXPECT_EQ(told_.back().in_flight, 0u);
}

// ---- the last answer ------------------------------------------------------------------------------------------------

TEST_F(RetryEnds, the_refusal_is_given_where_the_next_attempt_brings_no_answer) {
  test::Origin origin(refuses_and_hangs_up(
      "HTTP/1.1 429 No\r\nRetry-After-Ms: 5\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy"));
  get(asker_, origin.host());
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(origin.notes().size(), 2u);
  EXPECT_EQ(asker_.status, 429);
  EXPECT_EQ(asker_.body, "busy");
  EXPECT_EQ(asker_.outcomes(), 1);
  EXPECT_THAT(asker_.fields, HasSubstr("Proxy-Status: penstock; attempts=2\n"));
  EXPECT_EQ(course(), "dispatch complete");
  EXPECT_EQ(told_.back().status, 429);
  EXPECT_EQ(told_.back().attempts, 2);
  EXPECT_EQ(told_.back().error, "connection_terminated") << "why there is no better one";
  EXPECT_EQ(told_.back().in_flight, 0u);
  expect_at_rest();
}

TEST_F(RetryEnds, a_whole_refusal_is_given_rather_than_what_broke_off_after_it) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int number) {
    self.note(peer.read_until("\r\n\r\n"));
    const std::string busy = "HTTP/1.1 429 No\r\nRetry-After-Ms: 5\r\nContent-Length: 4\r\nConnection: close\r\n\r\n";
    if (number <= 2) peer.send(busy + (number == 1 ? "busy" : "bu"));
  });
  get(asker_, origin.host());
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(origin.notes().size(), 3u);
  EXPECT_EQ(asker_.status, 429);
  EXPECT_EQ(asker_.body, "busy");
  EXPECT_EQ(asker_.ends, 1);
  EXPECT_EQ(told_.back().attempts, 3);
}

TEST_F(RetryEnds, the_refusal_is_kept_and_counts_until_a_head_has_come) {
  test::Origin origin(refuses_and_holds("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"));
  get(asker_, origin.host());
  ASSERT_TRUE(run_.run_until([&] { return origin.notes().size() == 2; }));
  EXPECT_GT(snapshot().pending_bytes, 0u);
  origin.release();
  ASSERT_TRUE(run_.run_until([&] { return asker_.body == "o"; }));
  EXPECT_EQ(asker_.status, 200);
  EXPECT_EQ(snapshot().pending_bytes, 0u);
  leave(asker_);
  expect_at_rest();
}

TEST_F(RetryEnds, a_stop_in_the_next_attempt_gives_the_refusal) {
  test::Origin origin(refuses_and_holds(kOk));
  get(asker_, origin.host());
  ASSERT_TRUE(run_.run_until([&] { return origin.notes().size() == 2; }));
  dispatcher_->end_all();
  EXPECT_EQ(asker_.status, 429);
  EXPECT_EQ(asker_.outcomes(), 1);
  expect_at_rest();
  origin.release();
}

TEST_F(RetryEnds, a_stop_starts_nothing_of_what_waits_again) {
  config_.unmatched.max_concurrent = 2;
  config_.unmatched.pause_scope = PauseScope::credentials;
  test::Origin origin([](test::Origin& self, test::Socket& peer, int) {
    const std::string head = peer.read_until("\r\n\r\n");
    self.note(head.substr(0, head.find(" HTTP")));
    if (head.starts_with("GET /busy"))
      return void(
          peer.send("HTTP/1.1 429 No\r\nRetry-After-Ms: 100\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbusy"));
    peer.read_to_end();
  });
  const auto ask_as = [&](Asker& asker, const std::string& path) {
    auto what = head("GET", "http://" + origin.host() + path);
    what.fields.add("Authorization", "Bearer " + path);
    ask(asker, std::move(what));
  };
  Asker first, last;
  ask_as(first, "/first");
  ask_as(asker_, "/busy");
  ASSERT_TRUE(waits_again(asker_));
  ask_as(last, "/last");
  ASSERT_TRUE(run_.run_until([&] { return origin.notes().size() == 3 && upstream(origin.host()).pauses == 0; }));
  ASSERT_EQ(upstream(origin.host()).in_flight, 2u) << "no slot is free for what waits";
  dispatcher_->end_all();
  EXPECT_EQ(asker_.status, 429);
  EXPECT_EQ(asker_.outcomes(), 1);
  for (const auto& one : told_) EXPECT_EQ(one.attempts, 1);
  EXPECT_EQ(upstream(origin.host()).totals.again_refused, 0u);
  expect_at_rest();
}

// ---- what is sent again spends --------------------------------------------------------------------------------------

TEST_F(RetryEnds, what_there_is_no_room_for_takes_nothing_of_the_budget) {
  config_.unmatched.retry.failures = RetryConfig::Failures::safe;
  const auto memory = std::exchange(config_.caps.pending_memory, 1);
  test::Origin origin(refuses(11, "HTTP/1.1 502 Down\r\nContent-Length: 0\r\n\r\n"));
  for (int i = 0; i < 10; ++i) {
    Asker asker;
    get(asker, origin.host());
    ASSERT_TRUE(finish(asker));
    ASSERT_EQ(asker.status, 502);
  }
  config_.caps.pending_memory = memory;
  get(asker_, origin.host());
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.status, 200);
  EXPECT_EQ(told_.back().attempts, 2);
}

class RetryEndsWhileHeld : public RetryEnds {
 protected:
  /// All of a refusal but its end.
  test::Origin origin_{[](test::Origin& self, test::Socket& peer, int) {
    self.note(peer.read_until("\r\n\r\n"));
    peer.send("HTTP/1.1 429 No\r\nRetry-After-Ms: 5\r\nContent-Length: 50000\r\n\r\n" + std::string(40'000, 'b'));
    self.wait_for_release();
    peer.send(std::string(10'000, 'b'));
    peer.read_to_end();
  }};
};

TEST_F(RetryEndsWhileHeld, a_refusal_counts_as_it_comes) {
  get(asker_, origin_.host());
  EXPECT_TRUE(run_.run_until([&] { return snapshot().pending_bytes >= 40'000; }));
  EXPECT_EQ(asker_.status, 0);
  leave(asker_);
  expect_at_rest();
  origin_.release();
}

TEST_F(RetryEndsWhileHeld, a_refusal_is_passed_on_as_soon_as_there_is_no_room_for_it) {
  config_.caps.pending_memory = 20'000;
  get(asker_, origin_.host());
  EXPECT_TRUE(run_.run_until([&] { return asker_.body.size() == 40'000; }));
  EXPECT_EQ(asker_.status, 429);
  EXPECT_EQ(snapshot().pending_bytes, 0u);
  origin_.release();
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.body.size(), 50'000u);
  EXPECT_EQ(origin_.notes().size(), 1u);
}

// ---- connections that were dead, and a pause ------------------------------------------------------------------------

class StaleInAPause : public RetryEnds {
 protected:
  StaleInAPause() { config_.unmatched.queue.max_wait = 300ms; }

  /// GET /stale goes over a kept connection that dies once another request has drawn a pause of a second.
  void go_stale() {
    Asker first, busy;
    ask_as_owner(first, "/first");
    ASSERT_TRUE(finish(first));
    ask_as_owner(asker_, "/stale");
    ASSERT_TRUE(run_.run_until([&] { return origin_.notes().size() == 2; }));
    ask_as_owner(busy, "/busy");
    ASSERT_TRUE(finish(busy));
    ASSERT_EQ(busy.status, 429);
    ASSERT_EQ(upstream(origin_.host()).pauses, 1u);
    told_.clear();
    origin_.release();
  }
  void ask_as_owner(Asker& asker, const std::string& path) {
    auto what = head("GET", "http://" + origin_.host() + path);
    what.fields.add("Authorization", "Bearer mine");
    ask(asker, std::move(what));
  }
  void expect_a_refusal_in_time() {
    ASSERT_TRUE(finish(asker_));
    ASSERT_EQ(asker_.refusals.size(), 1u) << asker_.status;
    EXPECT_EQ(asker_.refusals[0].why, http::Reason::wait_over);
    EXPECT_THAT(origin_.notes(), ElementsAre("1: GET /first", "1: GET /stale", "2: GET /busy"));
    EXPECT_EQ(course(), "error");
    EXPECT_EQ(told_.back().status, 503);
    EXPECT_EQ(told_.back().attempts, 1);
    EXPECT_EQ(told_.back().limited_by, "pause");
    expect_at_rest();
  }

  test::Origin origin_{[](test::Origin& self, test::Socket& peer, int number) {
    for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
      self.note(std::to_string(number) + ": " + head.substr(0, head.find(" HTTP")));
      if (head.starts_with("GET /stale") && number == 1) return self.wait_for_release();
      peer.send(head.starts_with("GET /busy") ? kBusyFor1s : kOk);
    }
  }};
};

TEST_F(StaleInAPause, what_was_sent_over_a_dead_connection_waits_no_longer_than_its_deadline) {
  go_stale();
  expect_a_refusal_in_time();
}

TEST_F(StaleInAPause, it_stays_out_of_the_pause_of_its_credentials) {
  config_.unmatched.pause_scope = PauseScope::credentials;
  go_stale();
  expect_a_refusal_in_time();
}

TEST_F(StaleInAPause, it_is_sent_once_more_when_the_pause_is_over) {
  config_.unmatched.queue.max_wait = 20s;
  config_.unmatched.retry = RetryConfig::off();
  go_stale();
  ASSERT_TRUE(waits_again(asker_));
  EXPECT_EQ(upstream(origin_.host()).in_flight, 0u) << "it holds no slot meanwhile";
  EXPECT_EQ(upstream(origin_.host()).pending, 1u);
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.status, 200);
  EXPECT_THAT(origin_.notes(), ElementsAre("1: GET /first", "1: GET /stale", "2: GET /busy", "3: GET /stale"));
  EXPECT_EQ(course(), "complete");
  EXPECT_EQ(told_.back().attempts, 1);
  EXPECT_EQ(upstream(origin_.host()).totals.again_refused, 0u);
  EXPECT_EQ(upstream(origin_.host()).totals.again_failed, 0u);
  expect_at_rest();
}

}  // namespace
}  // namespace penstock::proxy
