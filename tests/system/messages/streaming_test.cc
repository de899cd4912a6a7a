// SPDX-License-Identifier: Apache-2.0
// Bodies of any size in both directions: byte-exact, with back-pressure, in bounded memory, in framing of our own.
#include <gmock/gmock.h>

#include "system/stage.h"

namespace penstock::trial {
namespace {

TEST(Download, of_64_mib_is_exact_and_keeps_memory_flat) {
  Stage stage;
  stage.origin.on("/length", scripts::sized(64 * kMiB));
  stage.origin.on("/chunked", scripts::chunked(64 * kMiB, 100'003));
  const std::size_t before = stage.daemon.resident_kib();
  for (const char* path : {"/length", "/chunked"}) {
    SCOPED_TRACE(path);
    Client client(stage.daemon.port());
    client.send(get(stage.url(path)));
    Checked body;
    const Reply reply = client.reply(false, body.sink());
    EXPECT_TRUE(reply.whole);
    EXPECT_EQ(reply.chunked, path == "/chunked"s);
    EXPECT_EQ(body.size, 64 * kMiB);
    EXPECT_TRUE(body.exact);
  }
  EXPECT_LT(stage.daemon.resident_kib(), before + slack_kib());
}

TEST(Download, that_comes_at_once_on_a_kept_connection_is_exact_every_time) {
  Stage stage;
  stage.origin.otherwise(scripts::sized(256 * 1024));
  Client client(stage.daemon.port());
  for (int i = 0; i < 300; ++i) {
    client.send(get(stage.url("/" + std::to_string(i))));
    Checked body;
    ASSERT_TRUE(client.reply(false, body.sink()).whole) << i << ": " << body.size;
    ASSERT_TRUE(body.exact && body.size == 256 * 1024) << i << ": " << body.size;
  }
  EXPECT_EQ(stage.origin.connections(), 1u);
}

TEST(Upload, of_64_mib_is_exact_and_keeps_memory_flat) {
  Stage stage;
  Checked arrived;
  stage.origin.otherwise([&](Visit& visit) {
    arrived = {};
    visit.read_body(arrived.sink());
    visit.answer(200, "got it");
  });
  const std::size_t before = stage.daemon.resident_kib();
  for (const bool in_chunks : {false, true}) {
    Client client(stage.daemon.port());
    const std::string framing =
        in_chunks ? "Transfer-Encoding: chunked"s : "Content-Length: " + std::to_string(64 * kMiB);
    client.send("PUT " + stage.url("/x") + " HTTP/1.1\r\nHost: a\r\n" + framing + "\r\n\r\n");
    for (std::uint64_t at = 0; at < 64 * kMiB; at += kMiB) {
      const std::string bytes = pattern(at, kMiB);
      ASSERT_TRUE(client.send(in_chunks ? chunk(bytes) : bytes));
    }
    if (in_chunks) client.send("0\r\n\r\n");
    EXPECT_EQ(client.reply().body, "got it");
    EXPECT_EQ(arrived.size, 64 * kMiB);
    EXPECT_TRUE(arrived.exact);
    EXPECT_EQ(stage.origin.seen().back().fields.has("transfer-encoding"), in_chunks);
  }
  EXPECT_LT(stage.daemon.resident_kib(), before + slack_kib());
}

TEST(Bodies, of_every_small_size_are_exact) {
  Stage stage;
  stage.origin.otherwise(scripts::echoes());
  Client client(stage.daemon.port());
  for (const std::size_t size :
       {0, 1, 2, 15, 16, 17, 255, 256, 4095, 4096, 4097, 16383, 16384, 16385, 65535, 65536, 65537, 131073}) {
    client.send(with_body("POST", stage.url("/x"), pattern(size, size)));
    const Reply reply = client.reply();
    EXPECT_TRUE(reply.whole && reply.body == pattern(size, size)) << size;
  }
}

TEST(SlowReader, of_10_gib_pauses_the_upstream) {
  Stage stage;
  std::atomic<std::uint64_t> sent = 0;
  stage.origin.on("/huge", [&](Visit& visit) {
    visit.write("HTTP/1.1 200 OK\r\nContent-Length: 10737418240\r\n\r\n");
    const std::string piece(64 * 1024, 'x');
    while (visit.write(piece)) sent += piece.size();
  });
  const std::size_t before = stage.daemon.resident_kib();
  Client client(stage.daemon.port(), 64 * 1024);
  client.send(get(stage.url("/huge")));
  EXPECT_EQ(client.head().status, 200);
  double cpu = 0;
  const auto stands_still = [&] {
    const std::uint64_t last = settled(sent);
    cpu = stage.daemon.cpu_seconds();
    return !eventually([&] { return sent > last; }, 500ms);
  };
  EXPECT_TRUE(eventually(stands_still)) << "paused for good";
  EXPECT_LT(stage.daemon.cpu_seconds() - cpu, 0.2) << "and idle";
  EXPECT_LT(sent, 64 * kMiB) << "only what the sockets between hold";
  EXPECT_LT(stage.daemon.resident_kib(), before + slack_kib());
  EXPECT_EQ(stage.daemon.status(stage.origin.host()).at("inFlight"), 1) << "the slot is held";
  EXPECT_EQ(stage.fetch("/other").body, "hello");
  client.reset();
  EXPECT_TRUE(stage.daemon.await_in_flight(stage.origin.host(), 0));
}

TEST(SlowUpstream, pauses_the_client_that_sends) {
  Stage stage;
  Checked arrived;
  stage.origin.otherwise([&](Visit& visit) {
    visit.hold();
    visit.read_body(arrived.sink());
    visit.answer(200, "got it");
  });
  const std::size_t before = stage.daemon.resident_kib();
  Client client(stage.daemon.port());
  client.send("PUT " + stage.url("/x") + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(128 * kMiB) +
              "\r\n\r\n");
  const std::string body = pattern(0, 128 * kMiB);
  const std::size_t taken = client.send_until_stuck(body, 500ms);
  EXPECT_LT(taken, 64 * kMiB) << "only what the sockets between hold";
  EXPECT_LT(stage.daemon.resident_kib(), before + slack_kib());
  stage.origin.release();
  EXPECT_TRUE(client.send(std::string_view(body).substr(taken)));
  EXPECT_EQ(client.reply().body, "got it");
  EXPECT_EQ(arrived.size, 128 * kMiB);
  EXPECT_TRUE(arrived.exact);
}

TEST(PendingBody, is_not_read_beyond_the_cap) {
  Stage stage({.yaml = "defaults: { maxConcurrent: 1 }\ncaps: { pendingBodyBytes: 64KiB }\n"});
  stage.origin.on("/held", scripts::held());
  Checked arrived;
  stage.origin.on("/big", [&](Visit& visit) {
    visit.read_body(arrived.sink());
    visit.answer(200, "got it");
  });
  Client holder(stage.daemon.port());
  holder.send(get(stage.url("/held")));
  ASSERT_TRUE(stage.origin.await(1));
  Client client(stage.daemon.port());
  const std::string body = pattern(0, 64 * kMiB);
  const std::size_t before = stage.daemon.resident_kib();
  client.send("PUT " + stage.url("/big") + " HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) +
              "\r\n\r\n");
  const std::size_t taken = client.send_until_stuck(body, 300ms);
  EXPECT_LT(taken, 16 * kMiB) << "what the kernel's buffers hold, and 64 KiB";
  EXPECT_LT(stage.daemon.resident_kib(), before + (is_sanitized() ? 8 : 1) * 1024);
  stage.origin.release();
  EXPECT_TRUE(client.send(std::string_view(body).substr(taken)));
  EXPECT_EQ(client.reply().body, "got it");
  EXPECT_EQ(arrived.size, body.size());
  EXPECT_TRUE(arrived.exact);
}

TEST(Answers, with_more_than_was_asked_for_do_not_reach_those_who_wait_for_the_connection) {
  // More than libcurl reads at once: what is left in the kernel is a whole answer to nothing.
  std::string head = "HTTP/1.1 304 Not Modified\r\n\r\n";
  const std::string poison = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison";
  for (const std::size_t junk : {0u, 16 * 1024u}) {
    SCOPED_TRACE(junk);
    Stage stage(with_defaults("maxConcurrent: 1"));
    const std::string fill = junk > head.size() ? std::string(junk - head.size(), 'j') : "";
    stage.origin.on("/x", scripts::says(head + fill + poison, false));
    for (int round = 0; round < 20; ++round) {
      Client first(stage.daemon.port()), second(stage.daemon.port()), third(stage.daemon.port());
      first.send(get(stage.url("/x")));
      second.send(get(stage.url("/n1")));
      third.send(get(stage.url("/n2")));
      EXPECT_EQ(first.reply().status, 304);
      EXPECT_EQ(second.reply().body, "hello");
      EXPECT_EQ(third.reply().body, "hello");
    }
  }
}

TEST(Answers, reach_the_client_as_they_come) {
  Stage stage;
  stage.origin.otherwise([](Visit& visit) {
    visit.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk("first"));
    visit.hold();
    visit.last(chunk("second") + "0\r\n\r\n");
  });
  Client client(stage.daemon.port());
  client.send(get(stage.url()));
  std::string body;
  const Reply reply = client.reply(false, [&](std::string_view bytes) {
    if (body.empty()) stage.origin.release();  // only the first piece, seen here, lets the second go
    body += bytes;
  });
  EXPECT_TRUE(reply.whole);
  EXPECT_EQ(body, "firstsecond");
}

}  // namespace
}  // namespace penstock::trial
