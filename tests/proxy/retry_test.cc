// SPDX-License-Identifier: Apache-2.0
// What an upstream refuses is asked again, and its client learns of the last answer alone.
#include <gmock/gmock.h>

#include <chrono>
#include <memory>

#include "proxy/client/local_sink.h"
#include "proxy/retry_fixture.h"
#include "support/machine.h"

namespace penstock::proxy {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string busy_with(std::size_t size) {
  return "HTTP/1.1 429 Slow down\r\nRetry-After-Ms: 5\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" +
         std::string(size, 'b');
}

TEST_F(RetryTest, a_get_that_is_refused_twice_is_asked_until_it_is_served) {
  test::Origin origin(refuses(2, kBusy));
  get(asker_, origin.host(), "/x");
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.status, 200);
  EXPECT_EQ(asker_.body, "ok");
  EXPECT_THAT(asker_.fields, AllOf(HasSubstr("Proxy-Status: penstock; attempts=3\n"), Not(HasSubstr("X-No"))));
  expect_all_the_same(origin, 3);
  EXPECT_EQ(course(), "dispatch complete");
  EXPECT_EQ(told_.back().status, 200);
  EXPECT_EQ(told_.back().attempts, 3);
  EXPECT_EQ(upstream(origin.host()).totals.again_refused, 2u);
  expect_at_rest();
}

TEST_F(RetryTest, a_post_too_with_the_same_body_each_time) {
  std::string body;
  for (int i = 0; i < 60'000; ++i) body += static_cast<char>('a' + i % 23);
  test::Origin origin(refuses(2, kBusy, body.size()));
  ask(asker_, with_length(head("POST", "http://" + origin.host() + "/"), body.size()));
  give(asker_, body);
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.status, 200);
  expect_all_the_same(origin, 3);
  EXPECT_THAT(origin.notes()[0], testing::EndsWith("\r\n\r\n" + body));
  EXPECT_EQ(told_.back().bytes_out, body.size());
  expect_at_rest();
}

TEST_F(RetryTest, a_body_in_chunks_with_trailers_is_sent_again_as_it_was) {
  const std::string wire = "3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n";
  test::Origin origin(refuses(1, kBusy, wire.size()));
  auto request = in_chunks(head("POST", "http://" + origin.host() + "/"));
  request.fields.add("Trailer", "X-Sum");
  ask(asker_, std::move(request));
  http::Fields trailers;
  trailers.add("X-Sum", "7");
  asker_.exchange->body.trailers = std::make_unique<const http::Fields>(std::move(trailers));
  give(asker_, "abc");
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.status, 200);
  expect_all_the_same(origin, 2);
  EXPECT_THAT(origin.notes()[0], testing::EndsWith(wire));
}

TEST_F(RetryTest, a_body_that_is_too_large_to_keep_is_sent_once) {
  const std::string body(1024 * 1024, 'p');
  test::Origin origin(refuses(1, kBusy, body.size()));
  ask(asker_, with_length(head("POST", "http://" + origin.host() + "/"), body.size()));
  give(asker_, body);
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.status, 429);
  EXPECT_EQ(asker_.body, "busy");
  EXPECT_THAT(asker_.fields, AllOf(HasSubstr("X-No: 1\n"), Not(HasSubstr("attempts"))));
  EXPECT_EQ(told_.back().attempts, 1);
  expect_at_rest();
}

TEST_F(RetryTest, a_body_in_flight_counts_in_the_pending_memory_until_the_answer_is_passed_on) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    self.note(peer.read(1000));
    self.wait_for_release();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no");
    peer.read_to_end();
  });
  ask(asker_, with_length(head("POST", "http://" + origin.host() + "/"), 1000));
  give(asker_, std::string(1000, 'x'));
  ASSERT_TRUE(run_.run_until([&] { return !origin.notes().empty(); }));
  EXPECT_EQ(snapshot().pending_bytes, 1000u);
  origin.release();
  ASSERT_TRUE(run_.run_until([&] { return asker_.body == "o"; }));
  EXPECT_EQ(snapshot().pending_bytes, 0u);
  leave(asker_);
}

TEST_F(RetryTest, the_last_refusal_is_given_as_it_came_once_no_other_can_follow_in_time) {
  config_.unmatched.queue.max_wait = 1500ms;
  test::Origin origin(refuses(
      9,
      "HTTP/1.1 429 Slow down\r\nX-No: 1\r\nRetry-After: 1\r\nTransfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n"
      "4\r\nbusy\r\n0\r\nX-T: t\r\n\r\n"));
  const auto began = test::MachineClock::now();
  get(asker_, origin.host());
  ASSERT_TRUE(waits_again(asker_));
  EXPECT_EQ(asker_.status, 0);
  EXPECT_GT(snapshot().pending_bytes, 0u);
  ASSERT_TRUE(finish(asker_));
  EXPECT_GE(test::MachineClock::now() - began, 1s);
  EXPECT_TRUE(test::within(1500ms, began)) << "the next pause would outlast the deadline";
  EXPECT_EQ(asker_.status, 429);
  EXPECT_EQ(asker_.body, "busy");
  EXPECT_EQ(asker_.trailers, "X-T: t\n");
  EXPECT_THAT(asker_.fields, HasSubstr("X-No: 1\n"));
  EXPECT_EQ(asker_.ends, 1);
  EXPECT_EQ(course(), "dispatch complete");
  EXPECT_EQ(told_.back().outcome, Outcome::http_error);
  EXPECT_EQ(told_.back().status, 429);
  EXPECT_EQ(told_.back().bytes_in, 4u);
  EXPECT_EQ(origin.notes().size(), 2u);
  expect_at_rest();
}

TEST_F(RetryTest, the_last_refusal_is_given_once_the_attempts_are_used_up) {
  config_.unmatched.retry.attempts = 3;
  test::Origin origin(refuses(9, kBusy));
  get(asker_, origin.host());
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.status, 429);
  EXPECT_EQ(asker_.body, "busy");
  EXPECT_THAT(asker_.fields, HasSubstr("attempts=3\n"));
  EXPECT_EQ(origin.notes().size(), 3u);
  expect_at_rest();
}

TEST_F(RetryTest, a_pause_that_ends_after_the_deadline_is_not_waited_for) {
  test::Origin origin(refuses(1, "HTTP/1.1 429 No\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n"));
  get(asker_, origin.host());
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.status, 429);
  expect_at_rest();
}

TEST_F(RetryTest, a_refusal_that_is_too_large_to_keep_is_passed_on_whole) {
  const std::string body(1024 * 1024, 'b');
  for (const std::string& refusal :
       {busy_with(body.size()),
        "HTTP/1.1 429 No\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n" + body + "\r\n0\r\n\r\n"}) {
    asked_ = 0;
    Asker asker;
    test::Origin origin(refuses(1, refusal));
    get(asker, origin.host());
    ASSERT_TRUE(finish(asker));
    EXPECT_EQ(asker.status, 429);
    EXPECT_TRUE(asker.body == body) << asker.body.size();
    EXPECT_EQ(asker.ends, 1);
    EXPECT_EQ(origin.notes().size(), 1u);
  }
  expect_at_rest();
}

TEST_F(RetryTest, the_largest_refusal_that_can_be_kept_is) {
  test::Origin origin(refuses(1, busy_with(64 * 1024)));
  get(asker_, origin.host());
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.status, 200);
  EXPECT_EQ(asker_.body, "ok");
}

TEST_F(RetryTest, a_head_is_asked_again_whatever_length_its_refusal_names) {
  test::Origin origin(refuses(1, "HTTP/1.1 429 No\r\nRetry-After-Ms: 5\r\nContent-Length: 100000\r\n\r\n", 0,
                              "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"));
  ask(asker_, head("HEAD", "http://" + origin.host() + "/"));
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.status, 200);
  EXPECT_EQ(asker_.length, 7u);
  EXPECT_EQ(asker_.body, "");
}

TEST_F(RetryTest, interim_answers_before_a_refusal_are_passed_on) {
  test::Origin origin(refuses(1, "HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + kBusy));
  get(asker_, origin.host());
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.interims, std::vector<int>{103});
  EXPECT_EQ(asker_.status, 200);
}

TEST_F(RetryTest, a_refusal_that_breaks_off_is_passed_on_as_it_came_where_nothing_is_asked_again) {
  config_.unmatched.retry = RetryConfig::off();
  test::Origin origin([](test::Origin&, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 429 No\r\nRetry-After-Ms: 5\r\nContent-Length: 9\r\n\r\nbus");
    peer.shut_down();
    peer.read_to_end();
  });
  get(asker_, origin.host());
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.status, 429);
  EXPECT_EQ(asker_.body, "bus");
  EXPECT_EQ(asker_.breaks, 1);
  EXPECT_EQ(course(), "dispatch error");
}

TEST_F(RetryTest, an_error_that_no_waiting_cures_is_passed_on) {
  config_.unmatched.retry.except = {"insufficient_quota"};
  const std::string body = R"({"error":{"code":"insufficient_quota"}})";
  test::Origin origin(refuses(1, "HTTP/1.1 429 No\r\nContent-Type: application/json\r\nContent-Length: " +
                                     std::to_string(body.size()) + "\r\n\r\n" + body));
  get(asker_, origin.host());
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.status, 429);
  EXPECT_EQ(asker_.body, body);
  expect_at_rest();
}

TEST_F(RetryTest, nothing_is_asked_again_where_the_file_says_so) {
  config_.unmatched.retry = RetryConfig::off();
  test::Origin origin(refuses(1, kBusy));
  get(asker_, origin.host());
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.status, 429);
}

TEST_F(RetryTest, a_client_that_leaves_while_its_request_waits_again_leaves_nothing) {
  allow_one_departure();
  test::Origin origin(refuses(9, kBusy, 3));
  ask(asker_, with_length(head("POST", "http://" + origin.host() + "/"), 3));
  give(asker_, "abc");
  ASSERT_TRUE(waits_again(asker_));
  leave(asker_);
  EXPECT_EQ(course(), "dispatch error");
  EXPECT_EQ(told_.back().outcome, Outcome::client_gone);
  expect_at_rest();
}

TEST_F(RetryTest, a_stop_gives_the_last_refusal) {
  allow_one_departure();
  test::Origin origin(refuses(9, kBusy));
  get(asker_, origin.host());
  ASSERT_TRUE(waits_again(asker_));
  dispatcher_->end_all();
  EXPECT_EQ(asker_.status, 429);
  EXPECT_EQ(asker_.body, "busy");
  EXPECT_EQ(asker_.outcomes(), 1);
  expect_at_rest();
}

TEST_F(RetryTest, a_reload_keeps_a_request_that_waits_again) {
  allow_one_departure();
  test::Origin origin(refuses(1, kBusy));
  get(asker_, origin.host());
  ASSERT_TRUE(waits_again(asker_));
  config_.unmatched.limits.clear();
  pools_->change(config_);
  dispatcher_->change();
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.status, 200);
  expect_at_rest();
}

TEST_F(RetryTest, a_caller_in_this_process_gets_the_last_answer) {
  test::Origin origin(refuses(2, kBusy, 3));
  std::optional<Response> answer;
  LocalSink::submit(run_.loop, dispatcher(), config_.proxy.via,
                    {.method = "POST", .url = "http://" + origin.host() + "/", .body = "abc"},
                    [&](auto what) { answer = std::move(what).value(); });
  ASSERT_TRUE(run_.run_until([&] { return answer.has_value(); }));
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "ok");
  expect_all_the_same(origin, 3);
}

TEST_F(RetryTest, each_sending_counts_in_the_limits) {
  config_.unmatched.limits = {{.kind = CounterConfig{.max = 2, .period = 24h}, .mode = LimitConfig::Mode::refuse}};
  test::Origin origin(refuses(1, kBusy));
  get(asker_, origin.host());
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.status, 200);
  Asker next;
  get(next, origin.host());
  ASSERT_TRUE(finish(next));
  ASSERT_EQ(next.refusals.size(), 1u) << next.status;
  EXPECT_EQ(next.refusals[0].why, http::Reason::limit_refused);
}

TEST_F(RetryTest, failures_are_passed_on_unless_the_file_says_otherwise) {
  const std::string down = "HTTP/1.1 503 Down\r\nContent-Length: 4\r\n\r\ndown";
  test::Origin origin(refuses(2, down));
  get(asker_, origin.host());
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.status, 503);
}

TEST_F(RetryTest, failures_of_safe_methods_are_repeated_within_their_budget) {
  config_.unmatched.retry.failures = RetryConfig::Failures::safe;
  config_.unmatched.retry.attempts = 100;
  const std::string down = "HTTP/1.1 502 Down\r\nContent-Length: 4\r\n\r\ndown";
  test::Origin origin(refuses(1'000, down));
  get(asker_, origin.host());
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.status, 502);
  EXPECT_EQ(asker_.body, "down");
  EXPECT_EQ(told_.back().attempts, 11) << "ten are free";
  EXPECT_EQ(upstream(origin.host()).totals.again_failed, 10u);
  Asker post;
  ask(post, head("POST", "http://" + origin.host() + "/"));
  ASSERT_TRUE(finish(post));
  EXPECT_EQ(told_.back().attempts, 1);
}

TEST_F(RetryTest, a_connection_that_breaks_is_a_failure) {
  config_.unmatched.retry.failures = RetryConfig::Failures::safe;
  test::Origin origin([](test::Origin& self, test::Socket& peer, int number) {
    self.note(peer.read_until("\r\n\r\n"));
    if (number > 2) peer.send(kOk);
  });
  get(asker_, origin.host());
  ASSERT_TRUE(finish(asker_));
  EXPECT_EQ(asker_.status, 200);
  expect_all_the_same(origin, 3);
  EXPECT_EQ(told_.back().attempts, 3);
}

}  // namespace
}  // namespace penstock::proxy
