// SPDX-License-Identifier: Apache-2.0
// Where a request ends: every message about which two readers could disagree is refused, and what is hidden behind it
// never reaches the upstream.
#include <thread>

#include "system/stage.h"

namespace penstock::trial {
namespace {

TEST(Framing, a_huge_length_allocates_nothing) {
  Stage stage;
  Client client(stage.daemon.port());
  const std::size_t before = stage.daemon.resident_kib();
  client.send("POST " + stage.url("/first") + " HTTP/1.1\r\nHost: " + stage.origin.host() +
              "\r\nContent-Length: 9223372036854775807\r\n\r\nsome");
  ASSERT_TRUE(stage.origin.await(1));
  EXPECT_LT(stage.daemon.resident_kib(), before + (is_sanitized() ? 32 : 4) * 1024);
  client.close();
  EXPECT_EQ(stage.daemon.await_events(1, "error").size(), 1u);
  EXPECT_FALSE(stage.origin.seen()[0].whole);
}

const std::string kChunked = "Transfer-Encoding: chunked\r\n";

TEST(Chunks, of_one_byte_a_million_times_cost_bounded_work) {
  Stage stage;
  stage.origin.otherwise([](Visit& visit) {
    visit.read_body([](std::string_view) {});
    visit.answer(200, "read");
  });
  const int count = is_sanitized() ? 100'000 : 1'000'000;
  std::string body;
  for (int i = 0; i < count; ++i) body += "1;extension=value\r\nx\r\n";
  const double before = stage.daemon.cpu_seconds();
  EXPECT_EQ(stage.daemon
                .ask("POST " + stage.url("/x") + " HTTP/1.1\r\nHost: " + stage.origin.host() + "\r\n" + kChunked +
                     "\r\n" + body + "0\r\n\r\n")
                .body,
            "read");
  EXPECT_LT(stage.daemon.cpu_seconds() - before, is_sanitized() ? 10 : 2);
}

/// A request that Penstock answers itself, with a body in which another request is hidden: the body is read to its end,
/// or the connection closed, but never taken for a request.
void expect_no_desync(Stage& stage, const std::string& bytes, int status) {
  Client client(stage.daemon.port());
  client.send(bytes);
  const Reply reply = client.reply();
  EXPECT_EQ(reply.status, status) << shown(bytes);
  const std::string rest = same_name(reply.field("connection"), "close") ? client.rest() : "";
  EXPECT_EQ(rest, "");
  EXPECT_EQ(stage.fetch("/a-healthy-request").status, 200);
  for (const auto& seen : stage.origin.seen()) EXPECT_EQ(seen.target, "/a-healthy-request");
}

TEST(Body, of_a_refused_request_is_never_taken_for_a_request) {
  Stage stage(
      {.yaml = "access: { deny: [127.0.0.9] }\nupstreams: { full: { match: full.test, queue: { maxPending: 0 } } }\n"});
  const std::string hidden = get(stage.url("/smuggled")),
                    denied = "http://127.0.0.9:" + std::to_string(stage.origin.port()) + "/x";
  std::string many;
  while (many.size() < 10 * 1024 * 1024) many += hidden;
  expect_no_desync(stage, with_body("POST", denied, hidden), 403);
  expect_no_desync(stage, with_body("POST", denied, many), 403);
  expect_no_desync(
      stage,
      "POST " + denied + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(hidden) + "0\r\n\r\n",
      403);
  const std::string too_short = "Penstock-Max-Wait: nonsense\r\n";
  expect_no_desync(stage, with_body("POST", stage.url("/x"), hidden, too_short), 400);
}

/// The same with a small body, one of ten mebibytes and one in chunks, all full of requests.
void expect_no_desync_of_any_body(Stage& stage, const std::string& url, int status) {
  SCOPED_TRACE(url);
  const std::string hidden = get(stage.url("/smuggled"));
  std::string many;
  while (many.size() < 10 * 1024 * 1024) many += hidden;
  const std::string chunked =
      "POST " + url + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(hidden) + "0\r\n\r\n";
  for (const auto& bytes : {with_body("POST", url, hidden), with_body("POST", url, many), chunked}) {
    Client client(stage.daemon.port());
    std::thread sender([&] { client.send(bytes); });
    const Reply reply = client.reply();
    EXPECT_EQ(reply.status, status);
    sender.join();
    if (same_name(reply.field("connection"), "close")) {
      EXPECT_TRUE(client.closed());
    } else {
      client.send(get(stage.url("/the-next-one")));
      EXPECT_EQ(client.reply().body, "hello") << "the body was read to its end";
    }
    EXPECT_EQ(stage.fetch("/a-healthy-request").status, 200);
  }
  for (const auto& seen : stage.origin.seen()) EXPECT_NE(seen.target, "/smuggled");
}

TEST(Body, of_a_request_for_which_there_is_no_room_no_right_or_no_way_is_never_taken_for_a_request) {
  Stage stage({.yaml = "upstreams:\n  full: { match: 127.0.0.1/full, maxConcurrent: 1, queue: { maxPending: 0 } }\n"
                       "  spent: { match: 127.0.0.1/spent, limits: [counter: { max: 1, period: 1h, mode: refuse }] }\n"
                       "  gate: { baseUrl: \"http://gate.test\" }\n"});
  stage.origin.on("/full", scripts::held());
  Client holder(stage.daemon.port());
  holder.send(get(stage.url("/full")));
  ASSERT_TRUE(stage.origin.await(1));
  EXPECT_EQ(stage.fetch("/spent").status, 200);
  const Closed closed;
  expect_no_desync_of_any_body(stage, stage.url("/full"), 503);
  expect_no_desync_of_any_body(stage, stage.url("/spent"), 429);
  expect_no_desync_of_any_body(stage, "http://" + closed.host() + "/", 502);
  expect_no_desync_of_any_body(stage, "http://" + stage.daemon.host() + "/@nobody/x", 404);
  expect_no_desync_of_any_body(stage, "http://10.0.0.1/", 403);
  expect_no_desync_of_any_body(stage, stage.url("/" + std::string(20'000, 'x')), 414);
  stage.origin.release_all();
}

TEST(Body, of_a_request_that_must_not_be_forwarded_is_never_taken_for_a_request) {
  Stage stage;
  const std::string hidden = get(stage.url("/smuggled"));
  expect_no_desync(stage, with_body("OPTIONS", stage.url("/x"), hidden, "Max-Forwards: 0\r\n"), 200);
  expect_no_desync(stage, with_body("TRACE", stage.url("/x"), hidden, "Max-Forwards: 0\r\n"), 405);
}

}  // namespace
}  // namespace penstock::trial
