// SPDX-License-Identifier: Apache-2.0
// A process that has just begun waits for its first connection to Redis, however far away that is, but no longer than
// one try.
#include <algorithm>
#include <deque>
#include <memory>
#include <string>

#include "simulation/one_office.h"

namespace penstock::simulation {
namespace {

class Starting : public OneOffice {
 protected:
  explicit Starting(Time round_trip = 200) : OneOffice({.round_trip = round_trip}, 7) {}

  /// Each upstream has one request, which asks as soon as it may.
  void make_upstreams(int count) {
    for (int i = 0; i < count; ++i) upstreams_.emplace_back(*this, "u" + std::to_string(i));
    run_for(5 * kSecond);
  }

  struct Asker final : flow::LimiterEvents {
    Asker(Starting& stage, const std::string& name) : stage_(stage) {
      const LimitConfig pacer{.kind = PacerConfig{.qps = 100}, .name = "pacer"};
      stage.machine_.happen([&] { limiter = stage.hub_->make_limiter(name, {pacer}, *this); });
      ask();
    }
    void ask() {
      stage_.machine_.happen([this] { ask_now(); });
    }
    void ask_now() {
      if (departure || asking_) return;
      flow::Booking booking;
      asking_ = true;
      if (limiter->ask(stage_.machine_.now(), {.count = 1, .weight = 1}, booking)) answer({}, booking);
    }
    void answer(flow::LaneKey, const flow::Booking& booking) override {
      asking_ = false;
      if (!booking.departures.empty()) {
        departure = booking.departures.front();
      } else {
        stage_.world_.at(stage_.machine_.in_world(booking.ask_again), [this] { ask(); });
      }
    }
    void retry(flow::Booking::Scope, flow::LaneKey) override {
      stage_.world_.at(stage_.world_.now(), [this] { ask(); });
    }
    void cut(flow::Booking::Scope, flow::LaneKey, std::size_t) override {}

    Starting& stage_;
    std::unique_ptr<flow::Limiter> limiter;
    std::optional<flow::Departure> departure;
    bool asking_ = false;
  };

  Time left(const Asker& asker) const { return asker.departure ? machine_.in_world(asker.departure->at) : kDay; }

  std::deque<Asker> upstreams_;
};

class StartingFar : public Starting {
 protected:
  StartingFar() : Starting(40 * kMillisecond) {}
};

/// Connecting takes longer than a call may.
TEST_F(StartingFar, books_the_first_departure_of_each_upstream_in_redis) {
  make_upstreams(100);
  for (const Asker& asker : upstreams_) {
    EXPECT_GT(left(asker), 50 * kMillisecond);
    EXPECT_LT(left(asker), 500 * kMillisecond);
    EXPECT_TRUE(asker.departure && asker.departure->in_redis != 0);
  }
}

TEST_F(Starting, goes_on_by_itself_where_redis_does_not_answer) {
  network_.cut_off_until(kMinute);
  make_upstreams(3);
  for (const Asker& asker : upstreams_) {
    EXPECT_GE(left(asker), 500 * kMillisecond);
    EXPECT_LE(left(asker), 501 * kMillisecond) << "as soon as the first try has failed";
  }
}

TEST_F(Starting, goes_on_by_itself_at_once_where_nobody_listens) {
  server_.stop();
  make_upstreams(3);
  for (const Asker& asker : upstreams_) EXPECT_LE(left(asker), kMillisecond);
}

}  // namespace
}  // namespace penstock::simulation
