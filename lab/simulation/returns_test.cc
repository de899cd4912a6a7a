// SPDX-License-Identifier: Apache-2.0
// A process with a thousand upstreams loses its connections, and they are made again: the upstreams do not all call
// Redis at once, one that has nothing to tell does not call, and an upstream in use waits for no other.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "simulation/one_office.h"

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;

class ManyUpstreams : public OneOffice {
 protected:
  ManyUpstreams() {
    on_call_ = [this] { calls_.push_back(world_.now()); };
    on_up_ = [this](bool up) { back_ = up ? world_.now() : 0; };
  }
  void make(const std::vector<LimitConfig>& limits, int count = 1'000) {
    machine_.happen([&] {
      for (int i = 0; i < count; ++i) limiters_.push_back(hub_->make_limiter(name_of(i), limits, *this));
    });
    world_.run_until(kSecond);
    use(0, count);
  }
  /// One request for each upstream, which lands at once.
  void use(int from, int to) {
    for (int i = from; i < to; ++i) {
      machine_.happen([&, i] {
        flow::Booking booking;
        limiters_[static_cast<std::size_t>(i)]->ask(machine_.now(), {.count = 1, .weight = 1}, booking);
      });
      run_for(kMillisecond);
      machine_.happen([&, i] { limiters_[static_cast<std::size_t>(i)]->landed(machine_.now(), {}); });
    }
  }
  /// The connections are lost, and made again.
  void lose_connections() {
    calls_.clear();
    network_.lose(Network::Which::all);
    back_ = 0;
    while (back_ == 0) run_for(100);
  }
  std::ptrdiff_t calls_within(Time from, Time to) const {
    return std::ranges::count_if(calls_, [&](Time at) { return at >= back_ + from && at < back_ + to; });
  }
  std::ptrdiff_t most_calls_in(Time length) const {
    std::ptrdiff_t most = 0;
    for (const Time since : calls_) {
      most = std::max(most, std::ranges::count_if(calls_, [&](Time at) { return at >= since && at < since + length; }));
    }
    return most;
  }
  static std::string name_of(int number) { return "u" + std::to_string(number); }
  /// Whether Redis has heard from the upstream within the last seconds.
  bool is_present(int number) { return !server_.keys("p:{" + name_of(number) + "}:limits").empty(); }

  std::vector<Time> calls_;
  Time back_ = 0;
  std::vector<std::unique_ptr<flow::Limiter>> limiters_;
};

const LimitConfig kOnePacer{.kind = PacerConfig{.qps = 100}, .name = "pacer"};
const LimitConfig kOneSemaphore{.kind = SemaphoreConfig{.capacity = 4, .lease = 30s}, .name = "semaphore"};

TEST_F(ManyUpstreams, ask_redis_one_after_the_other_when_it_is_back) {
  make({kOnePacer, kOneSemaphore});
  run_for(20 * kSecond);
  use(0, 100);
  lose_connections();
  run_for(2 * kSecond);
  EXPECT_LE(calls_within(0, kMillisecond), 8) << "those in use, half a millisecond apart";
  EXPECT_GE(calls_within(0, 50 * kMillisecond), 100) << "those in use";
  EXPECT_LE(most_calls_in(50 * kMillisecond), 260);
  EXPECT_LE(calls_within(0, 1'100 * kMillisecond), 2'120) << "a look each, and what is held of its semaphore";
  EXPECT_FALSE(hub_->degraded());
}

TEST_F(ManyUpstreams, that_nobody_uses_and_that_have_nothing_to_tell_do_not_ask_at_all) {
  make({kOnePacer});
  run_for(20 * kSecond);
  lose_connections();
  EXPECT_FALSE(hub_->degraded());
  run_for(2 * kSecond);
  EXPECT_TRUE(calls_.empty());
}

TEST_F(ManyUpstreams, return_as_soon_as_they_are_used) {
  make({kOnePacer, kOneSemaphore});
  run_for(20 * kSecond);
  lose_connections();
  run_for(60 * kMillisecond);
  int last = 999;
  while (is_present(last)) --last;
  use(last, last + 1);
  EXPECT_TRUE(is_present(last)) << "a millisecond later";
  run_for(kSecond);
  EXPECT_FALSE(hub_->degraded());
}

/// Every upstream has lost its memory in Redis, and a process that uses them says so for each.
TEST_F(ManyUpstreams, that_nobody_uses_take_their_time_when_they_hear_of_lost_memory) {
  make({kOnePacer, kOneSemaphore});
  run_for(20 * kSecond);
  server_.flush();
  calls_.clear();
  struct Ear final : RedisServer::Client {
    void on_bytes(std::string_view) override {}
    void on_closed() override {}
  } ear;
  const auto other = server_.connect(ear);
  for (int i = 0; i < 1'000; ++i) {
    const std::string message = name_of(i) + " lost";
    server_.feed(other, "*3\r\n$7\r\nPUBLISH\r\n$8\r\np:to:all\r\n$" + std::to_string(message.size()) + "\r\n" +
                            message + "\r\n");
  }
  run_for(2 * kSecond);
  EXPECT_GE(calls_.size(), 1'000u) << "all have something to hand in";
  EXPECT_LE(most_calls_in(5 * kMillisecond), 40);
}

}  // namespace
}  // namespace penstock::simulation
