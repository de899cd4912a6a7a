// SPDX-License-Identifier: Apache-2.0
// Between take-off and landing: bodies both ways, what is wrong with an answer, and time that runs out.
#include <gmock/gmock.h>

#include <chrono>
#include <memory>

#include "proxy/dispatcher_fixture.h"
#include "support/held_port.h"
#include "support/machine.h"

namespace penstock::proxy {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

/// Takes a head, says this, and waits for the end.
test::Origin::Script say(std::string bytes) {
  return [bytes = std::move(bytes)](test::Origin& origin, test::Socket& peer, int) {
    origin.note(peer.read_until("\r\n\r\n"));
    peer.send(bytes);
    peer.shut_down();
    peer.read_to_end();
  };
}

/// The same, but stays.
test::Origin::Script say_and_stay(std::string bytes) {
  return [bytes = std::move(bytes)](test::Origin&, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send(bytes);
    peer.read_to_end();
  };
}

class FlightTest : public DispatcherTest {
 protected:
  /// The way a GET to such an upstream ends.
  const Told& end_of(test::Origin::Script script) {
    test::Origin origin(std::move(script));
    get(asker_, origin.host());
    EXPECT_TRUE(finish(asker_));
    EXPECT_EQ(asker_.outcomes(), 1);
    EXPECT_EQ(told_.size(), 2u);
    expect_at_rest();
    return told_.back();
  }
  void expect_refused(const Told& end, int status, const std::string& token) {
    EXPECT_EQ(end.kind, EventKind::error);
    EXPECT_EQ(end.outcome, Outcome::upstream_error);
    EXPECT_EQ(end.status, status);
    EXPECT_EQ(end.error, token);
    ASSERT_EQ(asker_.refusals.size(), 1u);
    EXPECT_EQ(asker_.refusals[0].status_code(), status);
  }
  void expect_broken(const Told& end, const std::string& token) {
    EXPECT_EQ(end.kind, EventKind::error);
    EXPECT_EQ(end.status, 200);
    EXPECT_EQ(end.error, token);
    EXPECT_EQ(asker_.breaks, 1);
  }

  Asker asker_;
};

TEST_F(FlightTest, a_body_of_known_length_is_passed_on) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int) {
    self.note(peer.read_until("\r\n\r\n"));
    self.note(peer.read(11));
    peer.send(kOk);
  });
  ask(asker_, with_length(head("POST", "http://" + origin.host() + "/"), 11));
  give(asker_, "hello ", false);
  run_.run_for(5'000);
  give(asker_, "world");
  ASSERT_TRUE(finish(asker_));
  EXPECT_THAT(origin.notes()[0], HasSubstr("\r\nContent-Length: 11\r\n"));
  EXPECT_EQ(origin.notes()[1], "hello world");
  EXPECT_EQ(told_.back().bytes_out, 11u);
  EXPECT_GT(asker_.wanted, 0);
}

TEST_F(FlightTest, a_body_of_unknown_length_is_passed_on_with_its_trailers) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int) {
    self.note(peer.read_until("\r\n\r\n"));
    self.note(peer.read_until("\r\n\r\n"));
    peer.send(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 9\r\nContent-Length: 5\r\n\r\n");
  });
  ask(asker_, in_chunks(head("POST", "http://" + origin.host() + "/")));
  http::Fields trailers;
  trailers.add("X-Sum", "7");
  trailers.add("Authorization", "no");
  asker_.exchange->body.trailers = std::make_unique<const http::Fields>(std::move(trailers));
  give(asker_, "hello");
  ASSERT_TRUE(finish(asker_));
  EXPECT_THAT(origin.notes()[0], HasSubstr("\r\nTransfer-Encoding: chunked\r\n"));
  EXPECT_EQ(origin.notes()[1], "5\r\nhello\r\n0\r\nX-Sum: 7\r\n\r\n");
  EXPECT_EQ(asker_.body, "abc");
  EXPECT_FALSE(asker_.length);
  EXPECT_EQ(asker_.trailers, "X-Sum: 9\n");
}

TEST_F(FlightTest, an_answer_waits_for_a_requester_without_room) {
  const std::string body(3 << 20, 'b');
  test::Origin origin(
      test::always("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body));
  asker_.room = false;
  get(asker_, origin.host());
  ASSERT_TRUE(run_.run_until([&] { return asker_.status == 200; }));
  run_.run_for(30'000);
  EXPECT_EQ(asker_.body, "");
  EXPECT_EQ(upstream(origin.host()).in_flight, 1u) << "the slot is held";
  asker_.room = true;
  dispatcher_->resume(*asker_.exchange);
  ASSERT_TRUE(finish(asker_));
  EXPECT_TRUE(asker_.body == body);
}

TEST_F(FlightTest, interim_answers_are_passed_on_in_order) {
  test::Origin origin(say("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + kOk));
  get(asker_, origin.host());
  ASSERT_TRUE(finish(asker_));
  EXPECT_THAT(asker_.interims, ElementsAre(103, 102));
  EXPECT_EQ(asker_.status, 200);
}

TEST_F(FlightTest, an_expectation_is_met_when_the_upstream_says_so) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int) {
    self.note(peer.read_until("\r\n\r\n"));
    peer.send("HTTP/1.1 100 Continue\r\n\r\n");
    self.note(peer.read(3));
    peer.send(kOk);
  });
  auto expecting = with_length(head("POST", "http://" + origin.host() + "/"), 3);
  expecting.expect_continue = true;
  ask(asker_, std::move(expecting));
  ASSERT_TRUE(run_.run_until([&] { return !asker_.interims.empty(); }));
  EXPECT_EQ(origin.notes().size(), 1u);
  EXPECT_THAT(origin.notes()[0], HasSubstr("\r\nExpect: 100-continue\r\n"));
  give(asker_, "abc");
  ASSERT_TRUE(finish(asker_));
  EXPECT_THAT(asker_.interims, ElementsAre(100));
  EXPECT_EQ(origin.notes()[1], "abc");
}

TEST_F(FlightTest, an_expectation_is_met_after_a_second_where_the_upstream_says_nothing) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    self.note(peer.read(3));
    peer.send(kOk);
  });
  auto expecting = with_length(head("POST", "http://" + origin.host() + "/"), 3);
  expecting.expect_continue = true;
  const auto asked = run_.loop.now();
  ask(asker_, std::move(expecting));
  give(asker_, "abc");  // a client that did not wait
  ASSERT_TRUE(run_.run_until([&] { return !asker_.interims.empty() || !origin.notes().empty(); }));
  EXPECT_GE(run_.loop.now() - asked, 1'000'000);
  ASSERT_TRUE(finish(asker_));
  EXPECT_THAT(asker_.interims, ElementsAre(100));
  EXPECT_EQ(origin.notes()[0], "abc");
}

TEST_F(FlightTest, a_final_answer_to_an_expectation_is_relayed_without_a_hundred) {
  test::Origin origin(say_and_stay("HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno"));
  auto expecting = with_length(head("POST", "http://" + origin.host() + "/"), 3);
  expecting.expect_continue = true;
  ask(asker_, std::move(expecting));
  ASSERT_TRUE(finish(asker_));
  EXPECT_TRUE(asker_.interims.empty());
  EXPECT_EQ(asker_.status, 401);
  EXPECT_EQ(asker_.body, "no");
  EXPECT_EQ(course(), "dispatch complete");
  EXPECT_EQ(told_.back().outcome, Outcome::http_error);
}

TEST_F(FlightTest, an_early_answer_ends_an_upload_that_is_not_whole) {
  test::Origin origin(say_and_stay(kOk));
  ask(asker_, with_length(head("POST", "http://" + origin.host() + "/"), 1'000'000));
  give(asker_, "a beginning", false);
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.ends, 1);
  EXPECT_EQ(asker_.body, "ok");
  EXPECT_EQ(course(), "dispatch complete");
  expect_at_rest();
}

TEST_F(FlightTest, a_head_request_is_answered_without_a_body) {
  test::Origin origin(say_and_stay("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"));
  ask(asker_, head("HEAD", "http://" + origin.host() + "/"));
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.length, 5u);
  EXPECT_EQ(asker_.body, "");
  EXPECT_EQ(course(), "dispatch complete");
}

TEST_F(FlightTest, nobody_listening_is_a_refused_connection) {
  const test::HeldPort nobody;
  get(asker_, "127.0.0.1:" + std::to_string(nobody.number()));
  ASSERT_TRUE(finish(asker_));
  expect_refused(told_.back(), 502, "connection_refused");
}

TEST_F(FlightTest, closing_without_a_word_is_a_terminated_connection) {
  expect_refused(end_of(say("")), 502, "connection_terminated");
}

TEST_F(FlightTest, garbage_is_a_protocol_error) {
  expect_refused(end_of(say("SSH-2.0-x\r\n")), 502, "http_protocol_error");
}

TEST_F(FlightTest, two_lengths_are_a_protocol_error) {
  const auto& end = end_of(say("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"));
  expect_refused(end, 502, "http_protocol_error");
}

TEST_F(FlightTest, a_head_without_end_is_too_large) {
  std::string head = "HTTP/1.1 200 OK\r\n";
  for (int i = 0; i < 5'000; ++i) head += "X-" + std::to_string(i) + ": " + std::string(80, 'x') + "\r\n";
  expect_refused(end_of(say(head)), 502, "http_response_header_section_size");
}

TEST_F(FlightTest, an_unwanted_change_of_protocols_fails) {
  expect_refused(end_of(say("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nraw")), 502, "http_upgrade_failed");
}

TEST_F(FlightTest, a_body_that_is_cut_breaks_off) {
  expect_broken(end_of(say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")), "http_response_incomplete");
  EXPECT_EQ(asker_.body, "hello");
}

TEST_F(FlightTest, chunks_that_are_cut_break_off) {
  expect_broken(end_of(say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")),
                "http_response_incomplete");
}

TEST_F(FlightTest, broken_chunks_break_off) {
  expect_broken(end_of(say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nxyz\r\n")),
                "http_response_transfer_coding");
}

TEST_F(FlightTest, no_first_byte_in_time_is_a_timeout) {
  config_.unmatched.timeouts.first_byte = 80ms;
  const auto began = test::MachineClock::now();
  expect_refused(end_of(say_and_stay("")), 504, "http_response_timeout");
  EXPECT_GE(*told_.back().flight, 80ms);
  EXPECT_LT(*told_.back().flight, 100ms + test::machine_late(began));
  EXPECT_THAT(told_.back().detail, HasSubstr("timeouts.firstByte"));
}

TEST_F(FlightTest, a_body_that_stands_still_is_a_timeout) {
  config_.unmatched.timeouts.idle = 80ms;
  const auto began = test::MachineClock::now();
  expect_broken(end_of(say_and_stay("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")), "connection_read_timeout");
  EXPECT_EQ(told_.back().outcome, Outcome::upstream_error);
  EXPECT_LT(*told_.back().flight, 120ms + test::machine_late(began));
}

TEST_F(FlightTest, a_body_that_moves_now_and_then_is_none) {
  config_.unmatched.timeouts.idle = 2s;
  test::Origin origin([](test::Origin&, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    for (int i = 0; i < 5; ++i) {
      std::this_thread::sleep_for(500ms);
      peer.send("x");
    }
  });
  get(asker_, origin.host());
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.ends, 1);
}

TEST_F(FlightTest, a_flight_that_lasts_too_long_in_all_is_a_timeout) {
  config_.unmatched.timeouts.total = 120ms;
  const auto began = test::MachineClock::now();
  expect_refused(end_of(say_and_stay("")), 504, "connection_read_timeout");
  EXPECT_LT(*told_.back().flight, 140ms + test::machine_late(began));
  EXPECT_THAT(told_.back().detail, HasSubstr("timeouts.total"));
}

TEST_F(FlightTest, a_requester_that_takes_nothing_for_too_long_is_given_up) {
  config_.unmatched.timeouts.idle = 80ms;
  test::Origin origin(test::always("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  asker_.room = false;
  get(asker_, origin.host());
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.breaks, 1);
  EXPECT_EQ(told_.back().kind, EventKind::error);
  EXPECT_EQ(told_.back().outcome, Outcome::client_gone);
  EXPECT_EQ(told_.back().status, 200) << "as it got it";
  expect_at_rest();
}

TEST_F(FlightTest, a_requester_that_takes_a_little_now_and_then_is_not) {
  config_.unmatched.timeouts.idle = 200ms;
  test::Origin origin(test::always("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
  asker_.room = false;
  asker_.left = 1'000;
  get(asker_, origin.host());
  loop::Timer sipping(run_.loop, [&] {
    --asker_.left;
    sipping.start(run_.loop.now() + 20'000);
  });
  sipping.start(run_.loop.now() + 20'000);
  run_.run_for(800'000);
  EXPECT_FALSE(asker_.over());
  sipping.stop();
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(told_.back().outcome, Outcome::client_gone);
}

TEST_F(FlightTest, a_requester_that_gives_nothing_for_too_long_is_given_up) {
  config_.unmatched.timeouts.idle = 80ms;
  test::Origin origin(say_and_stay(""));
  ask(asker_, with_length(head("POST", "http://" + origin.host() + "/"), 10));
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(told_.back().outcome, Outcome::client_gone);
  expect_at_rest();
}

TEST_F(FlightTest, the_rest_of_a_request_may_turn_out_malformed_in_flight) {
  test::Origin origin(say_and_stay(""));
  ask(asker_, in_chunks(head("POST", "http://" + origin.host() + "/")));
  give(asker_, "good so far", false);
  run_.run_for(5'000);
  dispatcher_->reject(*asker_.exchange, {.why = http::Reason::malformed, .details = "bad chunk"});
  ASSERT_EQ(asker_.refusals.size(), 1u);
  EXPECT_EQ(course(), "dispatch error");
  EXPECT_EQ(told_.back().outcome, Outcome::client_gone);
  EXPECT_EQ(told_.back().status, 400);
  expect_at_rest();
}

TEST_F(FlightTest, a_malformed_rest_after_the_answer_has_begun_breaks_it_off) {
  test::Origin origin(say_and_stay("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"));
  ask(asker_, in_chunks(head("POST", "http://" + origin.host() + "/")));
  give(asker_, "good so far", false);
  ASSERT_TRUE(run_.run_until([&] { return asker_.status == 200; }));
  dispatcher_->reject(*asker_.exchange, {.why = http::Reason::malformed, .details = "bad chunk"});
  EXPECT_EQ(asker_.breaks, 1);
  EXPECT_TRUE(asker_.refusals.empty());
  EXPECT_EQ(told_.back().status, 200);
  expect_at_rest();
}

}  // namespace
}  // namespace penstock::proxy
