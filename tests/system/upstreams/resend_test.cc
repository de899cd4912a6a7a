// SPDX-License-Identifier: Apache-2.0
// Connections that die on reuse before a byte came back, in a crowd: what is sent again keeps its slot, and what may
// have had an effect goes out once.
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
};

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

}  // namespace
}  // namespace penstock::trial
