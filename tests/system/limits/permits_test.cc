// SPDX-License-Identifier: Apache-2.0
// Semaphores: never more at the origin than there are permits, and each comes back, whichever way its request ends.
#include <gmock/gmock.h>
#include <signal.h>

#include "system/limited.h"

namespace penstock::trial {
namespace {

constexpr std::string_view kOne = "limits: [ semaphore: { capacity: 1 } ]";

/// Exactly so many are let to the origin at once, and all are served in the end.
void expect_permits(Limited& stage, std::size_t permits) {
  ASSERT_TRUE(stage.daemon.await_in_flight("api", 0));
  stage.origin.on("/permit", scripts::held());
  stage.begin();
  stage.send(static_cast<int>(permits) + 2, "/permit");
  ASSERT_TRUE(stage.daemon.await_pending("api", 2)) << stage.daemon.status("api").dump();
  EXPECT_TRUE(stage.daemon.await_in_flight("api", permits));
  EXPECT_TRUE(eventually([&] { return stage.arrivals("/permit").size() == permits; }));
  stage.origin.release(permits + 2);
  stage.expect_all_served();
  EXPECT_EQ(stage.arrivals("/permit").size(), permits + 2);
}

TEST(Semaphore, lets_so_many_to_the_origin_at_once) {
  Limited stage("limits: [ semaphore: { capacity: 3 } ]");
  stage.origin.otherwise(scripts::sized(20'000));
  std::vector<std::thread> threads;
  std::atomic<int> served = 0;
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&] {
      Client client(stage.daemon.port());
      for (int k = 0; k < 40; ++k) {
        client.send(get(stage.url()));
        served += client.reply().body == pattern(0, 20'000);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(served, 480);
  EXPECT_LE(stage.origin.most_at_once(), 3u);
  expect_permits(stage, 3);
}

// ---- ways out -------------------------------------------------------------------------------------------------------

TEST(Permit, comes_back_from_a_complete_answer) {
  Limited stage(kOne);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(stage.fetch("/").status, 200);
  stage.origin.on("/error", scripts::answers(500, "no"));
  EXPECT_EQ(stage.fetch("/error").status, 500);
  stage.origin.on("/chunked", scripts::chunked(100'000, 1000));
  EXPECT_EQ(stage.fetch("/chunked").body, pattern(0, 100'000));
  EXPECT_EQ(stage.ask("HEAD " + stage.url() + " HTTP/1.1\r\nHost: x\r\n\r\n", true).status, 200);
  expect_permits(stage, 1);
}

TEST(Permit, comes_back_from_an_upstream_that_fails) {
  Limited stage(kOne);
  stage.origin.on("/closes", [](Visit& visit) { visit.close(); });
  stage.origin.on("/resets", [](Visit& visit) { visit.reset(); });
  stage.origin.on("/cut", scripts::says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123"));
  stage.origin.on("/nonsense", scripts::says("nonsense\r\n\r\n"));
  EXPECT_EQ(stage.fetch("/closes").status, 502);
  EXPECT_EQ(stage.fetch("/resets").status, 502);
  EXPECT_FALSE(stage.fetch("/cut").whole);
  EXPECT_EQ(stage.fetch("/nonsense").status, 502);
  expect_permits(stage, 1);
}

TEST(Permit, comes_back_from_an_upstream_that_nobody_reaches) {
  Limited stage("limits: [ semaphore: { capacity: 1 } ], timeouts: { connect: 300ms }");
  const Closed closed;
  EXPECT_EQ(stage.ask(get("http://" + closed.host() + "/")).status, 502);
  expect_permits(stage, 1);
}

TEST(Permit, comes_back_from_a_timeout) {
  Limited stage("limits: [ semaphore: { capacity: 1 } ], timeouts: { firstByte: 1s, idle: 1s, total: 5s }");
  stage.origin.on("/silent", [](Visit& visit) { visit.sees_the_end(); });
  stage.origin.on("/stuck", [](Visit& visit) {
    visit.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123");
    visit.sees_the_end();
  });
  EXPECT_EQ(stage.fetch("/silent").status, 504);
  EXPECT_FALSE(stage.fetch("/stuck").whole);
  stage.origin.otherwise(scripts::answers(200, "hello"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(stage.fetch("/next").status, 200);
  EXPECT_EQ(stage.daemon.status("api").at("inFlight"), 0);
}

TEST(Permit, comes_back_from_a_client_that_leaves_in_flight) {
  Limited stage(kOne);
  stage.origin.on("/silent", [](Visit& visit) { visit.sees_the_end(); });
  stage.origin.on("/half", [](Visit& visit) {
    visit.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n123");
    visit.sees_the_end();
  });
  for (const char* path : {"/silent", "/half"}) {
    Client leaver(stage.daemon.port());
    leaver.send(get(stage.url(path)));
    ASSERT_TRUE(stage.daemon.await_in_flight("api", 1));
    if (path == "/half"s) {
      ASSERT_TRUE(leaver.hears_within(kPatience));
    }
    stage.send_one("/next");
    leaver.reset();
    stage.expect_all_served();
  }
  expect_permits(stage, 1);
}

TEST(Permit, is_not_taken_by_a_client_that_left_while_it_waited_for_one) {
  Limited stage(kOne);
  stage.origin.otherwise(scripts::held());
  stage.send(1, "/holder");
  ASSERT_TRUE(stage.origin.await(1));
  stage.send_one("/leaver").reset();
  ASSERT_EQ(stage.limited_by(1, "gone"), std::vector<std::string>{"semaphore"});
  stage.clients.pop_back();
  stage.origin.release();
  stage.expect_all_served();
  expect_permits(stage, 1);
  EXPECT_THAT(stage.arrivals("/leaver"), testing::IsEmpty());
}

TEST(Permit, is_not_taken_by_one_whose_wait_is_over) {
  Limited stage(kOne);
  stage.origin.otherwise(scripts::held());
  stage.send(1, "/holder");
  ASSERT_TRUE(stage.origin.await(1));
  expect_limited(stage.fetch("/hurried", "Penstock-Max-Wait: 100ms\r\n"), 503, "semaphore");
  stage.origin.release();
  stage.expect_all_served();
  expect_permits(stage, 1);
}

TEST(Permit, is_taken_anew_by_a_request_that_is_sent_again) {
  Limited stage(kOne);
  stage.origin.otherwise([](Visit& visit) {
    if (visit.request().nth > 1) return visit.close();
    visit.answer(200, "first of its connection");
  });
  for (int i = 0; i < 6; ++i) EXPECT_EQ(stage.fetch("/").status, 200);
  EXPECT_GT(stage.origin.count(), 6u) << "some were sent again";
  stage.origin.otherwise(scripts::answers(200, "hello"));
  expect_permits(stage, 1);
}

TEST(Permit, comes_back_from_a_second_try_that_fails_too) {
  Limited stage(kOne);
  stage.origin.otherwise([](Visit& visit) {
    if (visit.request().target != "/warm") return visit.close();
    visit.answer(200, "warm");
  });
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(stage.fetch("/warm").status, 200);
    EXPECT_EQ(stage.fetch("/x").status, 502);
  }
  expect_permits(stage, 1);
}

TEST(Permit, of_an_answer_that_streams_is_held_until_its_last_byte) {
  Limited stage(kOne);
  stage.origin.on("/stream", [](Visit& visit) {
    visit.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n123");
    visit.hold();
    visit.last("456");
  });
  Client reader(stage.daemon.port());
  reader.send(get(stage.url("/stream")));
  ASSERT_TRUE(stage.origin.await(1));
  stage.send_one("/next");
  EXPECT_EQ(stage.origin.count(), 1u);
  stage.origin.release();
  EXPECT_EQ(reader.reply().body, "123456");
  stage.expect_all_served();
}

}  // namespace
}  // namespace penstock::trial
