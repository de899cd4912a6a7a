// SPDX-License-Identifier: Apache-2.0
// libcurl's easy handles serve one request after another: nothing of one may show in the next.
#include <gmock/gmock.h>

#include <algorithm>
#include <random>

#include "sending.h"

namespace penstock::transfer {
namespace {

struct Kind {
  const char* method;
  BodyKind body;
  bool trailers;
  bool expect;
  bool extra;
};

constexpr Kind kKinds[] = {
    {"GET", BodyKind::none, false, false, false},       {"GET", BodyKind::length, false, false, true},
    {"HEAD", BodyKind::none, false, false, true},       {"HEAD", BodyKind::length, false, false, false},
    {"POST", BodyKind::length, false, false, false},    {"POST", BodyKind::chunked, true, false, true},
    {"PUT", BodyKind::chunked, false, false, false},    {"PUT", BodyKind::chunked, true, true, false},
    {"POST", BodyKind::length, false, true, true},      {"DELETE", BodyKind::none, false, false, false},
    {"OPTIONS", BodyKind::chunked, true, false, false},
};

std::string body_of(const Kind& kind) {
  if (kind.body == BodyKind::none) return "";
  if (kind.body == BodyKind::length) return "abc";
  return std::string("3\r\nabc\r\n0\r\n") + (kind.trailers ? "T: 1\r\n" : "") + "\r\n";
}

/// The request line, Host, and the other lines sorted: where framing stands among them does not matter.
std::vector<std::string> sorted(std::string_view head) {
  std::vector<std::string> lines;
  for (std::size_t end = head.find("\r\n"); end != std::string_view::npos; end = head.find("\r\n")) {
    lines.emplace_back(head.substr(0, end));
    head.remove_prefix(end + 2);
  }
  std::sort(lines.begin() + 2, lines.end());
  return lines;
}

std::vector<std::string> lines_of(const Kind& kind) {
  std::string head = std::string(kind.method) + " / HTTP/1.1\r\nHost: origin.test\r\n";
  if (kind.body == BodyKind::length) head += "Content-Length: 3\r\n";
  if (kind.body == BodyKind::chunked) head += "Transfer-Encoding: chunked\r\n";
  if (kind.expect) head += "Expect: 100-continue\r\n";
  if (kind.extra) head += "X-Extra: yes\r\n";
  return sorted(head + "\r\n");
}

class SpareTest : public SendingTest {
 protected:
  Request order_of(const Kind& kind, const std::string& host) {
    Request made = request(kind.method, host);
    made.body = kind.body;
    made.length = 3;
    made.expect_continue = kind.expect;
    if (kind.extra) made.lines.add("X-Extra", "yes");
    return made;
  }
};

/// Up to and with a line that holds: several lines, or nothing if the end comes before.
std::string lines_to(test::Socket& peer, const std::string& last) {
  std::string lines, line;
  do {
    line = peer.read_until("\r\n");
    if (line.empty()) return "";
    lines += line;
  } while (line != last);
  return lines;
}

/// Reads any request by its framing; notes its lines sorted, and its body as it was on the wire.
void serve_any(test::Origin& origin, test::Socket& peer, int) {
  while (true) {
    const std::string head = lines_to(peer, "\r\n");
    if (head.empty()) return;
    std::string body;
    if (head.contains("\r\nContent-Length: 3\r\n")) body = peer.read(3);
    if (head.contains("\r\nTransfer-Encoding: chunked\r\n")) {
      body = lines_to(peer, "0\r\n");
      if (body.empty()) return;  // cut
      body += lines_to(peer, "\r\n");
    }
    for (const auto& line : sorted(head)) origin.note(line);
    origin.note(body);
    peer.send(kOk.substr(0, head.starts_with("HEAD") ? kOk.size() - 2 : kOk.size()));
  }
}

TEST_F(SpareTest, every_kind_of_request_may_follow_every_other) {
  test::Origin origin(serve_any);
  std::mt19937 random(11);
  std::vector<std::string> expected;
  int connections = 1;  // a HEAD with a body costs its own
  for (int i = 0; i < 200; ++i) {
    const Kind& kind = kKinds[random() % std::size(kKinds)];
    Recorder recorder;
    if (kind.body != BodyKind::none) recorder.to_give = "abc";
    if (kind.trailers) recorder.trailers = {{"T", "1"}};
    ASSERT_EQ(send(order_of(kind, origin.host()), recorder), Failure::none) << i << ' ' << recorder.result.details;
    const auto lines = lines_of(kind);
    expected.insert(expected.end(), lines.begin(), lines.end());
    expected.push_back(body_of(kind));
    if (i < 199 && kind.method == std::string("HEAD") && kind.body != BodyKind::none) ++connections;
  }
  EXPECT_EQ(origin.notes(), expected);
  EXPECT_EQ(origin.connections(), connections);
}

TEST_F(SpareTest, an_answer_in_http_1_0_leaves_the_next_request_in_http_1_1) {
  test::Origin old(test::always("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
  test::Origin origin(serve_any);
  EXPECT_EQ(get(old.host()), Failure::none);
  Recorder recorder;
  recorder.to_give = "abc";
  EXPECT_EQ(send(in_chunks(request("PUT", origin.host())), recorder), Failure::none) << recorder.result.details;
  ASSERT_FALSE(origin.notes().empty());
  EXPECT_EQ(origin.notes()[0], "PUT / HTTP/1.1");
}

TEST_F(SpareTest, an_upstream_of_http_1_0_is_spoken_to_in_http_1_1_every_time) {
  test::Origin old(test::always("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(get(old.host()), Failure::none);
  for (const auto& head : old.notes()) EXPECT_EQ(head, "GET / HTTP/1.1\r\nHost: origin.test\r\n\r\n");
}

TEST_F(SpareTest, a_chunked_upload_to_an_upstream_of_http_1_0_that_would_keep_its_connection_is_sent) {
  test::Origin old([](test::Origin& origin, test::Socket& peer, int) {
    for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
      origin.note(head.contains("chunked") ? peer.read(13) : "");
      peer.send("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n");
    }
  });
  EXPECT_EQ(get(old.host()), Failure::none);
  Recorder recorder;
  recorder.to_give = "abc";
  EXPECT_EQ(send(in_chunks(request("PUT", old.host())), recorder), Failure::none) << recorder.result.details;
  EXPECT_THAT(old.notes(), testing::ElementsAre("", "3\r\nabc\r\n0\r\n\r\n"));
}

TEST_F(SpareTest, a_pin_is_for_its_own_request) {
  test::Origin one(test::always(kOk)), two(test::always(kOk));
  const auto pinned = [&](std::uint16_t port, const std::string& address) {
    Request made = request("GET", "name.test:" + std::to_string(port));
    made.pin = "name.test:" + std::to_string(port) + ":" + address;
    made.fresh_connection = true;
    return made;
  };
  Recorder a, b, c, d;
  EXPECT_EQ(send(pinned(one.port(), "127.0.0.1"), a), Failure::none);
  EXPECT_EQ(send(request("GET", two.host()), b), Failure::none);
  EXPECT_EQ(send(pinned(one.port(), "127.0.0.77"), c), Failure::refused) << "the newer pin counts";
  EXPECT_EQ(send(pinned(one.port(), "127.0.0.1"), d), Failure::none);
  EXPECT_EQ(one.connections(), 2);
  EXPECT_EQ(two.connections(), 1);
}

TEST_F(SpareTest, one_that_was_dropped_in_the_middle_leaves_nothing_to_the_next) {
  test::Origin origin(serve_any);
  for (int i = 0; i < 20; ++i) {
    Recorder dropped, recorder;
    dropped.to_give = "a";
    dropped.whole = false;
    dropped.trailers = {{"Bad", "1"}};
    start(in_chunks(request("PUT", origin.host())), dropped);
    ASSERT_TRUE(run_.run_until([&] { return dropped.gives >= 2; }));
    dropped.transfer.reset();
    recorder.to_give = "abc";
    EXPECT_EQ(send(in_chunks(request("PUT", origin.host())), recorder), Failure::none) << recorder.result.details;
    EXPECT_EQ(origin.notes().back(), "3\r\nabc\r\n0\r\n\r\n");
  }
}

}  // namespace
}  // namespace penstock::transfer
