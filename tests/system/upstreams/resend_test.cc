// SPDX-License-Identifier: Apache-2.0
// What is sent again, and what never: a connection that dies on reuse before a byte came back.
#include <gmock/gmock.h>

#include <map>
#include <thread>

#include "system/stage.h"

namespace penstock::trial {
namespace {

/// An origin that answers the first request of every connection and closes at the second, before any byte: a race
/// that every keep-alive client meets. The very first connection is warmed up.
struct Race : Stage {
  explicit Race(const Given& given = {}) : Stage(given) {
    origin.otherwise([](Visit& visit) {
      if (visit.request().nth > 1) {
        visit.read_body();
        return visit.close();
      }
      visit.read_body();
      visit.answer(200, "first of its connection");
    });
    EXPECT_EQ(fetch("/warm").status, 200);
  }
  std::size_t sent(std::string_view target) const {
    std::size_t count = 0;
    for (const auto& seen : origin.seen()) count += seen.target == target;
    return count;
  }
  /// One dispatch and one outcome, however often it was sent.
  void expect_one_story(const std::string& path, const std::string& outcome) const {
    const auto story = daemon.await_events(2, [&](const Json& event) { return event.at("path") == path; });
    ASSERT_EQ(story.size(), 2u);
    EXPECT_EQ(story[0].at("event"), "dispatch");
    EXPECT_EQ(story[1].at("event"), outcome);
    EXPECT_EQ(story[0].at("id"), story[1].at("id"));
  }
};

std::string plain(const Stage& stage, const std::string& method, const std::string& path) {
  return method + " " + stage.url(path) + " HTTP/1.1\r\nHost: a\r\n\r\n";
}

TEST(DeadConnection, is_no_reason_to_fail_a_safe_request_without_a_body) {
  for (const char* method : {"GET", "HEAD", "OPTIONS", "TRACE"}) {
    SCOPED_TRACE(method);
    Race stage;
    EXPECT_EQ(stage.ask(plain(stage, method, "/x"), method == "HEAD"s).status, 200);
    EXPECT_EQ(stage.sent("/x"), 2u);
    stage.expect_one_story("/x", "complete");
  }
}

TEST(DeadConnection, means_502_for_everything_else_which_is_sent_once) {
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH"}) {
    SCOPED_TRACE(method);
    Race stage;
    const Reply reply = stage.ask(with_body(method, stage.url("/x"), "charge=1"));
    EXPECT_EQ(reply.status, 502);
    EXPECT_EQ(reply.error(), "connection_terminated");
    EXPECT_EQ(stage.sent("/x"), 1u);
    stage.expect_one_story("/x", "error");
  }
}

TEST(DeadConnection, means_502_for_a_post_without_a_body_too) {
  Race stage;
  EXPECT_EQ(stage.ask(plain(stage, "POST", "/x")).status, 502);
  EXPECT_EQ(stage.sent("/x"), 1u);
}

TEST(DeadConnection, means_502_for_a_get_with_a_body) {
  Race stage;
  EXPECT_EQ(stage.ask(with_body("GET", stage.url("/x"), "body")).status, 502);
  EXPECT_EQ(stage.sent("/x"), 1u);
}

TEST(NewConnection, that_dies_before_a_byte_is_never_tried_again) {
  for (const bool reset : {false, true}) {
    Stage stage;
    stage.origin.otherwise([=](Visit& visit) {
      visit.read_body();
      reset ? visit.reset() : visit.close();
    });
    for (const auto& request : {get(stage.url("/x")), with_body("POST", stage.url("/x"), "charge=1")}) {
      const std::size_t before = stage.origin.count();
      const Reply reply = stage.ask(request);
      EXPECT_EQ(reply.status, 502);
      EXPECT_EQ(reply.error(), "connection_terminated");
      EXPECT_EQ(stage.origin.count(), before + 1);
    }
  }
}

/// So many clients ask at once, /0, /1, …; the answers.
std::vector<Reply> all_at_once(const Stage& stage, std::size_t count,
                               const std::function<std::string(std::string)>& ask) {
  std::vector<Reply> replies(count);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] { replies[i] = stage.ask(ask("/" + std::to_string(i))); });
  for (auto& thread : threads) thread.join();
  return replies;
}

/// A hundred connections are kept, and then the upstream restarts.
struct Restarted : Stage {
  Restarted() : Stage(with_defaults("maxConcurrent: 100")) {
    origin.on("/warm", scripts::held());
    std::vector<std::thread> threads;
    for (int i = 0; i < 100; ++i) threads.emplace_back([this] { EXPECT_EQ(fetch("/warm").status, 200); });
    EXPECT_TRUE(origin.await(100));
    origin.release_all();
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(origin.connections(), 100u);
    EXPECT_TRUE(daemon.await_in_flight(origin.host(), 0));
    origin.hang_up();
  }
};

TEST(IdleConnections, of_an_upstream_that_restarts_fail_no_safe_request) {
  Restarted stage;
  for (const auto& reply : all_at_once(stage, 100, [&](const auto& path) { return get(stage.url(path)); }))
    EXPECT_EQ(reply.status, 200) << reply.head;
}

TEST(IdleConnections, of_an_upstream_that_restarts_repeat_no_other_request) {
  Restarted stage;
  const auto charge = [&](const auto& path) { return with_body("POST", stage.url(path), "charge=1"); };
  for (const auto& reply : all_at_once(stage, 100, charge)) {
    if (reply.status == 200) continue;
    EXPECT_EQ(reply.status, 502);
    EXPECT_EQ(reply.error(), "connection_terminated") << "it met the restart itself";
  }
  std::map<std::string, int> times;
  for (const auto& seen : stage.origin.seen()) ++times[seen.target];
  for (const auto& [target, count] : times) EXPECT_TRUE(target == "/warm" || count == 1) << target << ' ' << count;
}

TEST(DeadConnection, after_the_first_line_of_an_answer_is_final) {
  Stage stage;
  stage.origin.otherwise([](Visit& visit) {
    if (visit.request().nth == 1) {
      visit.answer(200, "warm");
    } else {
      visit.last("HTTP/1.1 200 OK\r\n");
      visit.close();
    }
  });
  EXPECT_EQ(stage.fetch("/warm").status, 200);
  EXPECT_EQ(stage.fetch("/x").status, 502);
  EXPECT_EQ(stage.origin.count(), 2u);
}

TEST(SecondTry, that_dies_too_is_502) {
  Stage stage;
  stage.origin.otherwise([](Visit& visit) {
    if (visit.request().target == "/warm") {
      visit.answer(200, "warm");
    } else {
      visit.close();
    }
  });
  EXPECT_EQ(stage.fetch("/warm").status, 200);
  EXPECT_EQ(stage.fetch("/x").status, 502);
  EXPECT_LE(stage.origin.count(), 3u) << "once more at most";
}

TEST(SecondTry, keeps_its_slot) {
  Race stage(with_defaults("maxConcurrent: 1"));
  std::vector<std::thread> threads;
  std::atomic<int> served = 0;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      Client client(stage.daemon.port());
      for (int k = 0; k < 20; ++k) {
        client.send(get(stage.url("/x")));
        served += client.reply().status == 200;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  std::string failures;
  for (const auto& event : stage.daemon.events()) failures += event.at("event") == "error" ? event.dump() + "\n" : "";
  EXPECT_EQ(served, 160) << failures;
  EXPECT_EQ(stage.origin.most_at_once(), 1u);
  EXPECT_EQ(stage.daemon.await_events(161, "complete").size(), 161u);
  EXPECT_EQ(stage.daemon.events().size(), 322u) << "one dispatch and one outcome each";
}

TEST(IdleConnections, that_the_upstream_closed_are_not_used) {
  Stage stage;
  std::atomic<int> closed = 0;
  stage.origin.otherwise([&](Visit& visit) {
    visit.read_body();
    visit.answer(200, "and closed without saying so");
    visit.close();
    ++closed;
  });
  Client client(stage.daemon.port());
  for (int i = 0; i < 20; ++i) {
    client.send(with_body("POST", stage.url("/x"), "charge=1"));
    EXPECT_EQ(client.reply().status, 200);
    ASSERT_TRUE(eventually([&] { return closed == i + 1; }));
  }
  EXPECT_EQ(stage.origin.count(), 20u);
}

}  // namespace
}  // namespace penstock::trial
