// SPDX-License-Identifier: Apache-2.0
// Reloads by the hundred while clients hurry: no request fails, and nothing is left behind by any of them.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "system/loop_watch.h"
#include "system/stage.h"

namespace penstock::trial {
namespace {

const int kReloads = is_sanitized() ? 60 : 1000;
const int kServedEach = is_sanitized() ? 1 : 5;

/// Each round another: upstreams come, go and change places, limits and slots change.
std::string settings(int round) {
  const auto one_of = [&](std::initializer_list<const char*> all) {
    return std::string(all.begin()[static_cast<std::size_t>(round) % all.size()]);
  };
  const std::string a = "  a: { match: 127.0.0.1/a, maxConcurrent: " + one_of({"2", "50", "1", "7"}) + " }\n";
  const std::string b = "  b: { match: 127.0.0.1/b, group: \"path:/b/{group}\", limits: [" +
                        one_of({"{ semaphore: { capacity: 3 } }", "{ pacer: { qps: 5000, per: group } }", ""}) +
                        "] }\n";
  const std::string c = "  c: { match: 127.0.0.1/c, rate: " + one_of({"9000/s", "8000/s"}) + " }\n";
  const std::string d = "  d" + std::to_string(round) + ": { match: 127.0.0.1/d }\n";
  const std::string star = "  \"*\": { maxConcurrent: " + one_of({"1", "20", "4"}) + " }\n";
  switch (round % 4) {
    case 0: return "upstreams:\n" + a + b + c + d + star;
    case 1: return "upstreams:\n" + d + c + a + star;
    case 2: return "upstreams:\n" + star + b + d;
    default: return "access: { deny: [192.0.2.0/24] }\nupstreams:\n" + c + b + a;
  }
}

/// Clients that ask again as soon as they are answered.
struct Hurry {
  Hurry(const Stage& stage, int count) {
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([this, &stage, i] {
        static const std::vector<std::string> kPaths{"/a", "/b/1", "/b/2", "/c", "/d", "/else"};
        Client client(stage.daemon.port());
        for (int k = i; !stopping; ++k) {
          client.send(get(stage.url(kPaths[static_cast<std::size_t>(k) % kPaths.size()])));
          const Reply reply = client.reply();
          ++(reply.status == 200 && reply.whole ? served : failed);
        }
      });
    }
  }
  ~Hurry() { stop(); }
  void stop() {
    stopping = true;
    for (auto& thread : threads) thread.join();
    threads.clear();
  }
  std::atomic<bool> stopping = false;
  std::atomic<int> served = 0, failed = 0;
  std::vector<std::thread> threads;
};

TEST(Reloads, under_load_fail_no_request_and_leave_nothing_behind) {
  constexpr int kClients = 12;
  Stage stage({.yaml = settings(0), .events = "off"});
  Hurry hurry(stage, kClients);
  int round = 0;
  const auto start = Clock::now();
  const auto reload_to = [&](int last) {
    while (round < last) {
      ASSERT_TRUE(stage.daemon.reloads(settings(++round)));
      const int enough = kServedEach * round;
      ASSERT_TRUE(eventually([&] { return hurry.served >= enough || hurry.failed > 0; })) << round;
    }
  };
  reload_to(kReloads / 4);
  const auto memory = stage.daemon.resident_kib(), descriptors = stage.daemon.descriptors();
  reload_to(kReloads);
  EXPECT_LE(stage.daemon.resident_kib(), memory + (is_sanitized() ? 64 : 8) * 1024);
  EXPECT_LE(stage.daemon.descriptors(), descriptors + 2 * kClients);
  const auto seconds = std::chrono::duration<double>(Clock::now() - start).count();
  hurry.stop();
  EXPECT_EQ(hurry.failed, 0);
  EXPECT_GE(hurry.served, kServedEach * kReloads);
  EXPECT_EQ(stage.origin.count(), static_cast<std::size_t>(hurry.served)) << "each of them once";
  testing::Test::RecordProperty("reloads_per_second", std::to_string(kReloads / seconds));
  testing::Test::RecordProperty("requests_per_second", std::to_string(hurry.served / seconds));
  EXPECT_EQ(stage.daemon.metric("penstock_config_reloads_total", "result=\"success\""), kReloads);
  EXPECT_EQ(stage.daemon.metric("penstock_in_flight_requests"), 0);
  EXPECT_EQ(stage.daemon.metric("penstock_pending_requests"), 0);
}

/// So many upstreams, each with limits, which change from one round to the next.
std::string many_upstreams(int round) {
  std::string yaml = "upstreams:\n";
  for (int i = 0; i < 400; ++i) {
    const std::string name = "u" + std::to_string(i);
    yaml += "  " + name + ": { match: [" + name + ".test, '*." + name + ".test', 127.0.0.1/" + name +
            "], maxConcurrent: " + std::to_string(5 + round % 3) +
            ", limits: [{ pacer: { qps: " + std::to_string(1000 + round) + " } }] }\n";
  }
  return yaml;
}

TEST(Reloads, of_a_large_file_under_load_stall_no_turn_of_the_loop) {
  Stage stage({.yaml = many_upstreams(0), .events = "off"});
  for (int i = 0; i < 400; ++i) ASSERT_EQ(stage.fetch("/u" + std::to_string(i)).status, 200) << "all of them live";
  Hurry hurry(stage, 4);
  const LoopWatch loop(stage.daemon);
  for (int round = 1; round <= 15; ++round) EXPECT_TRUE(stage.daemon.reloads(many_upstreams(round)));
  loop.expect_quick_iterations();
  hurry.stop();
  EXPECT_EQ(hurry.failed, 0);
  EXPECT_GT(hurry.served, 0);
}

}  // namespace
}  // namespace penstock::trial
