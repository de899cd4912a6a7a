// SPDX-License-Identifier: Apache-2.0
// libcurl's handles serve one request after another: nothing of one may show in the next.
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

/// The lines of a head that are expected, in any order but for the first two.
std::vector<std::string> lines_of(const Kind& kind) {
  std::vector<std::string> lines{std::string(kind.method) + " / HTTP/1.1\r\n", "Host: origin.test\r\n"};
  if (kind.body == BodyKind::length) lines.push_back("Content-Length: 3\r\n");
  if (kind.body == BodyKind::chunked) lines.push_back("Transfer-Encoding: chunked\r\n");
  if (kind.expect) lines.push_back("Expect: 100-continue\r\n");
  if (kind.extra) lines.push_back("X-Extra: yes\r\n");
  lines.push_back("\r\n");
  return lines;
}

class PoolTest : public SendingTest {
 protected:
  Order order_of(const Kind& kind, const std::string& host) {
    Order made = order(kind.method, host);
    made.body = kind.body;
    made.length = 3;
    made.expect_continue = kind.expect;
    if (kind.extra) made.lines.add("X-Extra", "yes");
    return made;
  }
};

/// Reads any request by its framing; notes its lines sorted, and its body as it was on the wire.
void serve_any(test::Origin& origin, test::Socket& peer, int) {
  while (true) {
    std::vector<std::string> lines;
    do {
      lines.push_back(peer.read_until("\r\n"));
      if (lines.back().empty()) return;
    } while (lines.back() != "\r\n");
    const auto has = [&](const char* line) { return std::ranges::find(lines, line) != lines.end(); };
    std::string body;
    if (has("Content-Length: 3\r\n")) body = peer.read(3);
    if (has("Transfer-Encoding: chunked\r\n")) {
      do {
        body += peer.read_until("\r\n");
      } while (!body.ends_with("0\r\n"));
      std::string line;
      do {
        body += line = peer.read_until("\r\n");
      } while (line != "\r\n" && !line.empty());
    }
    std::sort(lines.begin() + 2, lines.end());
    for (const auto& line : lines) origin.note(line);
    origin.note(body);
    peer.send(kOk.substr(0, lines[0].starts_with("HEAD") ? kOk.size() - 2 : kOk.size()));
  }
}

TEST_F(PoolTest, every_kind_of_request_may_follow_every_other) {
  test::Origin origin(serve_any);
  std::mt19937 random(11);
  std::vector<std::string> expected;
  for (int i = 0; i < 200; ++i) {
    const Kind& kind = kKinds[random() % std::size(kKinds)];
    Recorder recorder;
    if (kind.body != BodyKind::none) recorder.to_give = "abc";
    if (kind.trailers) recorder.trailers = {{"T", "1"}};
    ASSERT_EQ(send(order_of(kind, origin.host()), recorder), Failure::none) << i << ' ' << recorder.result.details;
    auto lines = lines_of(kind);
    std::sort(lines.begin() + 2, lines.end());
    expected.insert(expected.end(), lines.begin(), lines.end());
    expected.push_back(body_of(kind));
  }
  EXPECT_EQ(origin.notes(), expected);
  EXPECT_EQ(origin.connections(), 1);
}

TEST_F(PoolTest, an_answer_in_http_1_0_leaves_the_next_request_in_http_1_1) {
  test::Origin old(test::always("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
  test::Origin origin(serve_any);
  EXPECT_EQ(get(old.host()), Failure::none);
  Recorder recorder;
  recorder.to_give = "abc";
  EXPECT_EQ(send(in_chunks(order("PUT", origin.host())), recorder), Failure::none) << recorder.result.details;
  ASSERT_FALSE(origin.notes().empty());
  EXPECT_EQ(origin.notes()[0], "PUT / HTTP/1.1\r\n");
}

TEST_F(PoolTest, an_upstream_of_http_1_0_is_spoken_to_in_http_1_1_every_time) {
  test::Origin old(test::always("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(get(old.host()), Failure::none);
  for (const auto& head : old.notes()) EXPECT_EQ(head, "GET / HTTP/1.1\r\nHost: origin.test\r\n\r\n");
}

TEST_F(PoolTest, a_chunked_upload_to_an_upstream_of_http_1_0_that_keeps_its_connection_is_sent) {
  test::Origin old([](test::Origin& origin, test::Socket& peer, int) {
    for (int i = 0; i < 2; ++i) {
      const std::string head = peer.read_until("\r\n\r\n");
      if (head.empty()) return;
      origin.note(head.find("chunked") == std::string::npos ? "" : peer.read(13));
      peer.send("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n");
    }
  });
  EXPECT_EQ(get(old.host()), Failure::none);
  Recorder recorder;
  recorder.to_give = "abc";
  EXPECT_EQ(send(in_chunks(order("PUT", old.host())), recorder), Failure::none) << recorder.result.details;
  EXPECT_THAT(old.notes(), testing::ElementsAre("", "3\r\nabc\r\n0\r\n\r\n"));
}

TEST_F(PoolTest, a_pin_is_for_its_own_request) {
  test::Origin one(test::always(kOk)), two(test::always(kOk));
  const auto pinned = [&](std::uint16_t port, const std::string& address) {
    Order made = order("GET", "name.test:" + std::to_string(port));
    made.pin = "name.test:" + std::to_string(port) + ":" + address;
    made.fresh_connection = true;
    return made;
  };
  Recorder a, b, c, d;
  EXPECT_EQ(send(pinned(one.port(), "127.0.0.1"), a), Failure::none);
  EXPECT_EQ(send(order("GET", two.host()), b), Failure::none);
  EXPECT_EQ(send(pinned(one.port(), "127.0.0.77"), c), Failure::refused) << "the newer pin counts";
  EXPECT_EQ(send(pinned(one.port(), "127.0.0.1"), d), Failure::none);
  EXPECT_EQ(one.connections(), 2);
  EXPECT_EQ(two.connections(), 1);
}

TEST_F(PoolTest, one_that_was_dropped_in_the_middle_leaves_nothing_to_the_next) {
  test::Origin origin(serve_any);
  for (int i = 0; i < 20; ++i) {
    Recorder dropped, recorder;
    dropped.to_give = "a";
    dropped.whole = false;
    dropped.trailers = {{"Bad", "1"}};
    start(in_chunks(order("PUT", origin.host())), dropped);
    ASSERT_TRUE(run_.run_until([&] { return dropped.gives >= 2; }));
    dropped.transfer.reset();
    recorder.to_give = "abc";
    EXPECT_EQ(send(in_chunks(order("PUT", origin.host())), recorder), Failure::none) << recorder.result.details;
    EXPECT_EQ(origin.notes().back(), "3\r\nabc\r\n0\r\n\r\n");
  }
}

}  // namespace
}  // namespace penstock::transfer
