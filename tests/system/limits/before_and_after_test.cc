// SPDX-License-Identifier: Apache-2.0
// The figures of the README's first page: ten workers that know nothing of a limit against an API that allows 20
// requests in any second, alone and through Penstock.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/machine.h"
#include "support/origin.h"
#include "support/sockets.h"
#include "system/daemon.h"

namespace penstock::trial {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kAllowed = 20;
constexpr auto kUnit = 1s;
constexpr int kWorkers = 10;
constexpr auto kLength = 3s;

/// Answers 429 to what is more than it allows in any unit, and counts what it has answered otherwise.
class StrictApi {
 public:
  std::uint16_t port() const { return origin_.port(); }
  std::string host() const { return origin_.host(); }
  int answered() const { return answered_; }
  int refused() const { return refused_; }
  /// From the first answer to the last, in units.
  double units() const { return std::chrono::duration<double>(last_ - first_) / kUnit; }

 private:
  bool allows(Moment now) {
    const std::lock_guard lock(mutex_);
    while (!lately_.empty() && now - lately_.front() >= kUnit) lately_.pop_front();
    if (lately_.size() >= kAllowed) return ++refused_, false;
    lately_.push_back(now);
    if (answered_++ == 0) first_ = now;
    last_ = now;
    return true;
  }
  void serve(test::Socket& peer) {
    while (!peer.read_until("\r\n\r\n").empty()) {
      peer.send(allows(Clock::now()) ? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
                                     : "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n");
    }
  }

  std::mutex mutex_;
  std::deque<Moment> lately_;
  Moment first_, last_;
  std::atomic<int> answered_ = 0, refused_ = 0;
  test::Origin origin_{[this](test::Origin&, test::Socket& peer, int) { serve(peer); }};
};

/// Each asks again as soon as it is answered, whatever the answer.
void work(std::uint16_t port, const std::string& target, const std::string& host) {
  const auto until = Clock::now() + kLength;
  std::vector<std::jthread> workers;
  for (int i = 0; i < kWorkers; ++i) {
    workers.emplace_back([=] {
      auto socket = test::connect_to(port);
      while (Clock::now() < until) {
        socket.send("GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
        ASSERT_TRUE(socket.read_until("\r\n\r\n").starts_with("HTTP/1.1 "));
      }
    });
  }
}

void say(const char* how, const StrictApi& api) {
  std::printf("%s: %d answered, %d times 429\n", how, api.answered(), api.refused());
}

TEST(BeforeAndAfter, workers_alone_meet_thousands_of_429s) {
  const StrictApi api;
  work(api.port(), "/", api.host());
  say("alone", api);
  EXPECT_GT(api.refused(), 1000);
}

TEST(BeforeAndAfter, penstock_without_a_configuration_obeys_the_429s) {
  const StrictApi api;
  const Daemon daemon;
  work(daemon.port(), "http://" + api.host() + "/", api.host());
  say("through Penstock", api);
  EXPECT_LE(api.refused(), kWorkers * (kLength / kUnit + 1)) << "those that were in flight when the first 429 came";
}

TEST(BeforeAndAfter, penstock_with_a_limit_meets_none_and_uses_all) {
  const StrictApi api;
  const Daemon daemon({.yaml = "upstreams: { api: { match: 127.0.0.1, rate: 20/s } }\n"});
  const auto start = Clock::now();
  work(daemon.port(), "http://" + api.host() + "/", api.host());
  say("with rate: 20/s", api);
  // Departures are 51.1 ms apart, so that the one which is 20 later comes 1022 ms later: the API refuses it if the
  // first of the two came more than 22 ms late. It asks for a pause of a unit then.
  constexpr auto kSpare = 22ms;
  const auto late = test::machine_late(start);
  EXPECT_LE(api.refused(), late / kSpare);
  const double units = api.units() - std::chrono::duration<double>(late) / kUnit - api.refused();
  EXPECT_GE(api.answered() - 1, 0.97 * kAllowed * units);
}

}  // namespace
}  // namespace penstock::trial
