// SPDX-License-Identifier: Apache-2.0
// What goes out, byte by byte: nothing invented, nothing dropped, nothing reordered.
#include <gmock/gmock.h>

#include <cstdlib>

#include "sending.h"

namespace penstock::transfer {
namespace {

using testing::ElementsAre;
using testing::Not;

/// Notes the head, then `body` bytes of whatever follows, and answers.
test::Origin::Script take(std::size_t body) {
  return [body](test::Origin& origin, test::Socket& peer, int) {
    origin.note(peer.read_until("\r\n\r\n"));
    origin.note(peer.read(body));
    peer.send(kOk);
    origin.note(peer.read_to_end());
  };
}

/// Where a framing line stands among the others does not matter; that it stands there once does.
std::string without_line(std::string head, const std::string& line) {
  const auto at = head.find("\r\n" + line + "\r\n");
  EXPECT_NE(at, std::string::npos) << line << " is not in " << head;
  if (at != std::string::npos) head.erase(at, line.size() + 2);
  EXPECT_EQ(head.find("\r\n" + line + "\r\n"), std::string::npos) << line << " is there twice";
  return head;
}

class WireTest : public SendingTest {
 protected:
  /// What the origin saw of one request whose body has so many bytes on the wire: head, body, and what came after.
  std::vector<std::string> seen_of(Request request, Recorder& recorder, std::size_t body = 0) {
    test::Origin origin(take(body));
    request.origin = "http://" + origin.host() + "/";
    EXPECT_EQ(send(std::move(request), recorder), Failure::none) << recorder.result.details;
    EXPECT_EQ(recorder.body, "ok");
    multi_.reset();
    EXPECT_TRUE(run_.run_until([&] { return origin.notes().size() == 3; }));
    EXPECT_EQ(origin.connections(), 1);
    return origin.notes();
  }
};

TEST_F(WireTest, a_get_says_what_it_was_given_and_no_more) {
  Request request = WireTest::request("GET", "", "/a/../b/./%2e%2E//c?x=%41&&y=../z");
  request.lines.add("X-First", "1");
  request.lines.add("X-Empty", "");
  request.lines.add("x-other", "a: b; c");
  request.lines.add("X-First", "2");
  request.lines.add("Via", "1.1 penstock");
  Recorder recorder;
  EXPECT_THAT(seen_of(std::move(request), recorder), ElementsAre("GET /a/../b/./%2e%2E//c?x=%41&&y=../z HTTP/1.1\r\n"
                                                                 "Host: origin.test\r\n"
                                                                 "X-First: 1\r\n"
                                                                 "X-Empty:\r\n"
                                                                 "x-other: a: b; c\r\n"
                                                                 "X-First: 2\r\n"
                                                                 "Via: 1.1 penstock\r\n"
                                                                 "\r\n",
                                                                 "", ""));
  EXPECT_EQ(recorder.gives, 0);
}

TEST_F(WireTest, fields_that_libcurl_would_set_itself_are_the_clients_own) {
  Request request = WireTest::request("POST", "", "/");
  request.lines.add("Accept", "text/html");
  request.lines.add("User-Agent", "test/1");
  request.lines.add("Accept-Encoding", "br");
  request.lines.add("Content-Type", "x/y");
  request.lines.add("Authorization", "Basic eDp5");
  request.lines.add("Cookie", "a=b");
  request.lines.add("Referer", "http://r.test/");
  request.lines.add("Range", "bytes=0-1");
  Recorder recorder;
  recorder.to_give = "abc";
  const auto seen = seen_of(with_length(std::move(request), 3), recorder, 3);
  EXPECT_EQ(without_line(seen[0], "Content-Length: 3"),
            "POST / HTTP/1.1\r\n"
            "Host: origin.test\r\n"
            "Accept: text/html\r\n"
            "User-Agent: test/1\r\n"
            "Accept-Encoding: br\r\n"
            "Content-Type: x/y\r\n"
            "Authorization: Basic eDp5\r\n"
            "Cookie: a=b\r\n"
            "Referer: http://r.test/\r\n"
            "Range: bytes=0-1\r\n"
            "\r\n");
}

TEST_F(WireTest, an_empty_accept_stays_empty) {
  Request request = WireTest::request("GET", "");
  request.lines.add("Accept", "");
  Recorder recorder;
  EXPECT_EQ(seen_of(std::move(request), recorder)[0], "GET / HTTP/1.1\r\nHost: origin.test\r\nAccept:\r\n\r\n");
}

TEST_F(WireTest, a_body_of_known_length_goes_out_as_it_is) {
  Recorder recorder;
  recorder.to_give = "hello";
  recorder.give_at_once = 2;
  const auto seen = seen_of(with_length(request("POST", "", "/p"), 5), recorder, 5);
  EXPECT_EQ(without_line(seen[0], "Content-Length: 5"), "POST /p HTTP/1.1\r\nHost: origin.test\r\n\r\n");
  EXPECT_EQ(seen[1], "hello");
  EXPECT_EQ(seen[2], "");
}

TEST_F(WireTest, a_body_of_no_bytes_is_announced) {
  Recorder recorder;
  const auto seen = seen_of(with_length(request("POST", ""), 0), recorder);
  EXPECT_EQ(without_line(seen[0], "Content-Length: 0"), "POST / HTTP/1.1\r\nHost: origin.test\r\n\r\n");
  EXPECT_EQ(seen[2], "");
}

TEST_F(WireTest, a_post_without_a_body_announces_none) {
  Recorder recorder;
  EXPECT_EQ(seen_of(request("POST", ""), recorder)[0], "POST / HTTP/1.1\r\nHost: origin.test\r\n\r\n");
}

TEST_F(WireTest, a_body_of_unknown_length_goes_out_in_chunks) {
  Recorder recorder;
  recorder.to_give = "hello, you";
  recorder.give_at_once = 5;
  const std::string wire = "5\r\nhello\r\n5\r\n, you\r\n0\r\n\r\n";
  const auto seen = seen_of(in_chunks(request("PUT", "", "/p")), recorder, wire.size());
  EXPECT_EQ(without_line(seen[0], "Transfer-Encoding: chunked"), "PUT /p HTTP/1.1\r\nHost: origin.test\r\n\r\n");
  EXPECT_EQ(seen[1], wire);
  EXPECT_EQ(seen[2], "");
}

TEST_F(WireTest, trailers_follow_the_last_chunk_empty_ones_too) {
  Recorder recorder;
  recorder.to_give = "hello";
  recorder.trailers = {{"X-Sum", "7"}, {"X-Empty", ""}, {"X-Sum", "8;"}};
  const std::string wire = "5\r\nhello\r\n0\r\nX-Sum: 7\r\nX-Empty: \r\nX-Sum: 8;\r\n\r\n";
  EXPECT_EQ(seen_of(in_chunks(request("POST", "")), recorder, wire.size())[1], wire);
}

TEST_F(WireTest, an_empty_body_of_unknown_length_is_one_last_chunk) {
  Recorder recorder;
  EXPECT_EQ(seen_of(in_chunks(request("POST", "")), recorder, 5)[1], "0\r\n\r\n");
}

TEST_F(WireTest, a_mebibyte_arrives_whole_and_invents_no_expectation) {
  Recorder recorder;
  recorder.to_give = std::string(3 << 20, 'm');
  const auto seen = seen_of(with_length(request("POST", ""), 3 << 20), recorder, 3 << 20);
  EXPECT_EQ(without_line(seen[0], "Content-Length: 3145728"), "POST / HTTP/1.1\r\nHost: origin.test\r\n\r\n");
  EXPECT_TRUE(seen[1] == std::string(3 << 20, 'm'));
}

class AnyMethodTest : public WireTest, public testing::WithParamInterface<const char*> {};

TEST_P(AnyMethodTest, may_have_a_body) {
  Recorder recorder;
  recorder.to_give = "abc";
  const auto seen = seen_of(with_length(request(GetParam(), ""), 3), recorder, 3);
  EXPECT_EQ(without_line(seen[0], "Content-Length: 3"),
            std::string(GetParam()) + " / HTTP/1.1\r\nHost: origin.test\r\n\r\n");
  EXPECT_EQ(seen[1], "abc");
}

TEST_P(AnyMethodTest, may_have_none) {
  Recorder recorder;
  EXPECT_EQ(seen_of(request(GetParam(), ""), recorder)[0],
            std::string(GetParam()) + " / HTTP/1.1\r\nHost: origin.test\r\n\r\n");
}

INSTANTIATE_TEST_SUITE_P(All, AnyMethodTest, testing::Values("GET", "DELETE", "OPTIONS", "PATCH", "PROPFIND", "FROB"),
                         [](const auto& all) { return std::string(all.param); });

TEST_F(WireTest, the_asterisk_is_a_target) {
  Recorder recorder;
  EXPECT_EQ(seen_of(request("OPTIONS", "", "*"), recorder)[0], "OPTIONS * HTTP/1.1\r\nHost: origin.test\r\n\r\n");
}

TEST_F(WireTest, a_pinned_name_is_dialled_where_the_pin_says) {
  test::Origin origin(test::always(kOk));
  Request request = WireTest::request("GET", "name.test:" + std::to_string(origin.port()));
  request.pin = "name.test:" + std::to_string(origin.port()) + ":127.0.0.1";
  Recorder recorder;
  EXPECT_EQ(send(std::move(request), recorder), Failure::none) << recorder.result.details;
  EXPECT_THAT(origin.notes(), ElementsAre("GET / HTTP/1.1\r\nHost: origin.test\r\n\r\n"));
}

TEST_F(WireTest, dead_addresses_of_a_name_are_passed_over_at_once) {
  test::Origin origin(test::always(kOk));
  const std::string host = "name.test:" + std::to_string(origin.port());
  for (const std::string dead : {"127.0.0.77", "[::1]", "127.0.0.77,127.0.0.78,[::1]"}) {
    Request request = WireTest::request("GET", host);
    request.pin = host + ":" + dead + ",127.0.0.1";
    request.fresh_connection = true;
    Recorder recorder;
    const auto began = test::MachineClock::now();
    EXPECT_EQ(send(std::move(request), recorder), Failure::none) << recorder.result.details;
    EXPECT_TRUE(at_once(began)) << dead;
  }
}

TEST_F(WireTest, proxies_named_in_the_environment_are_for_others) {
  for (const char* name : {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) {
    ASSERT_EQ(::setenv(name, "http://127.0.0.1:1", 1), 0);
  }
  test::Origin origin(test::always(kOk));
  EXPECT_EQ(get(origin.host()), Failure::none);
  for (const char* name : {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}) ::unsetenv(name);
  EXPECT_THAT(origin.notes(), ElementsAre("GET / HTTP/1.1\r\nHost: origin.test\r\n\r\n"));
}

TEST_F(WireTest, an_expectation_is_said_once_and_the_body_waits_for_the_callers_word) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int) {
    self.note(peer.read_until("\r\n\r\n"));
    self.note("then: " + peer.peek());
    peer.send("HTTP/1.1 100 Continue\r\n\r\n");
    self.note(peer.read(3));
    peer.send(kOk);
  });
  Recorder recorder;
  recorder.whole = false;
  Request request = with_length(WireTest::request("POST", origin.host()), 3);
  request.expect_continue = true;
  start(std::move(request), recorder);
  ASSERT_TRUE(run_.run_until([&] { return recorder.head == "HTTP/1.1 100 Continue\r\n\r\n"; }));
  recorder.to_give = "abc";
  recorder.whole = true;
  recorder.transfer->resume_upload();
  finish(recorder);
  EXPECT_EQ(recorder.result.failure, Failure::none);
  const auto seen = origin.notes();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(without_line(without_line(seen[0], "Content-Length: 3"), "Expect: 100-continue"),
            "POST / HTTP/1.1\r\nHost: origin.test\r\n\r\n");
  EXPECT_EQ(seen[1], "then: ");
  EXPECT_EQ(seen[2], "abc");
}

TEST_F(WireTest, an_expectation_not_met_is_not_tried_again_without_it) {
  test::Origin origin(test::always("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n"));
  Recorder recorder;
  recorder.whole = false;
  Request request = with_length(WireTest::request("POST", origin.host()), 3);
  request.expect_continue = true;
  start(std::move(request), recorder);
  ASSERT_TRUE(run_.run_until([&] { return recorder.head.ends_with("\r\n\r\n"); }));
  recorder.transfer->resume_upload();
  finish(recorder);
  EXPECT_EQ(recorder.head, "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(recorder.done, 1);
  run_.run_for(50'000);
  EXPECT_EQ(origin.connections(), 1);
  EXPECT_EQ(origin.notes().size(), 1u);
}

}  // namespace
}  // namespace penstock::transfer
