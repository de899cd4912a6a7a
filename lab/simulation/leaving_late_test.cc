// SPDX-License-Identifier: Apache-2.0
// Departures that leave later than booked count once, however much better the process knows Redis' clock by then, or
// not at all.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simulation/one_office.h"

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kHalf = 2;
constexpr Time kWindow = kSecond / 2, kLate = 60 * kMillisecond;
const LimitConfig kOneWindow{.kind = WindowConfig{.reservoir = 2 * kHalf, .interval = 500ms}, .name = "window"};

LimitConfig own(LimitConfig limit) {
  limit.shared = false;
  return limit;
}

/// Far from Redis, with round trips that vary much: at first the process knows Redis' clock to 10 ms, later to less
/// than one.
class LateOffice final : public OneOffice {
 public:
  explicit LateOffice(std::uint64_t seed) : OneOffice({.round_trip = 20 * kMillisecond, .jitter = 0.9}, seed) {}

  void work_on(const std::vector<LimitConfig>& limits) {
    machine_.happen([&] { limiter_ = hub_->make_limiter("api", limits, *this); });
    run_for(kSecond);
    ask();
    run_for(20 * kWindow);
  }
  using Windows = std::map<Time, std::size_t>;
  const Windows& in_redis() const { return in_redis_; }
  const Windows& in_memory() const { return in_memory_; }
  /// Departures that seem booked for another window, by what is known later.
  int misplaced() const { return misplaced_; }
  /// Departures that Redis and this process have in different windows.
  int parted() const { return parted_; }

 private:
  void TestBody() override {}  // each test has an office for each seed

  /// Asks for half a window one by one, and each answer tells of the clock; then for the other half, when that has
  /// left.
  void ask() {
    machine_.happen([&] {
      flow::Booking booking;
      if (limiter_->ask(machine_.now(), {.count = 1, .weight = 1}, booking)) answer({}, booking);
    });
  }
  void answer(flow::LaneKey, const flow::Booking& booking) override {
    for (const flow::Departure& departure : booking.departures) {
      parted_ += departure.in_redis / kWindow != departure.in_memory / kWindow ? 1 : 0;
      ++in_redis_[departure.in_redis / kWindow];
      ++in_memory_[departure.in_memory / kWindow];
      at(departure.at + kLate, [this, departure] { cancel(departure); });
    }
    booked_ += booking.departures.size();
    if (booked_ < kHalf) return at(std::max(booking.ask_again, machine_.now() + 1), [this] { ask(); });
    booked_ = 0;
    at(booking.departures.back().at + kLate + 2 * kMillisecond, [this] { ask(); });
  }
  void cancel(const flow::Departure& departure) {
    const flow::Departure left = limiter_->report_late({}, departure, machine_.now());
    const Time seems = departure.at + (left.in_redis - left.at);
    if (left.in_redis != departure.in_redis) misplaced_ += seems / kWindow != departure.in_redis / kWindow;
  }
  void at(Time machines, std::function<void()> what) {
    world_.at(machine_.in_world(machines), [this, what = std::move(what)] { machine_.happen(what); });
  }

  std::unique_ptr<flow::Limiter> limiter_;
  std::size_t booked_ = 0;
  Windows in_redis_, in_memory_;
  int misplaced_ = 0, parted_ = 0;
};

void expect_full(LateOffice::Windows departures) {
  ASSERT_GE(departures.size(), 20u);
  departures.erase(departures.begin());
  departures.erase(std::prev(departures.end()));
  EXPECT_THAT(departures, testing::Each(testing::Pair(testing::_, 2 * kHalf)));
}

/// Under these limits, with many seeds. `windows`: where departures are to fill each window. `doubtful`: those that
/// could count twice, of which there must be some.
void expect_each_to_count_once(const std::vector<LimitConfig>& limits,
                               const LateOffice::Windows& (LateOffice::*windows)() const,
                               int (LateOffice::*doubtful)() const) {
  int doubted = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    LateOffice office(seed);
    office.work_on(limits);
    expect_full((office.*windows)());
    doubted += (office.*doubtful)();
  }
  EXPECT_GT(doubted, 0) << "in none did it matter";
}

/// Departures booked for the first moment of a window seem booked for the window before, by what the process knows
/// later.
TEST(LeavingLate, of_the_first_moment_of_a_window_count_in_it_once) {
  expect_each_to_count_once({kOneWindow}, &LateOffice::in_redis, &LateOffice::misplaced);
}

/// Redis is asked a round trip ahead, and books the departures for an earlier time than this process does.
TEST(LeavingLate, of_the_first_moment_of_a_window_of_this_process_alone_count_in_it_once) {
  expect_each_to_count_once({own(kOneWindow), {.kind = PacerConfig{.qps = 1000}, .name = "pacer"}},
                            &LateOffice::in_memory, &LateOffice::parted);
}

/// Redis was never reached, so nothing is known of its clock.
class LeavingLateAlone : public OneOffice {
 protected:
  std::vector<flow::Departure> ask() {
    flow::Booking booking;
    machine_.happen([&] { limiter_->ask(machine_.now(), {.count = 2, .weight = 1}, booking); });
    return booking.departures;
  }
  std::unique_ptr<flow::Limiter> limiter_;
};

TEST_F(LeavingLateAlone, count_once_however_often_they_are_moved) {
  server_.stop();
  const LimitConfig sliding{.kind = SlidingWindowConfig{.max = 2, .interval = 1s}, .name = "sliding"};
  machine_.happen([&] { limiter_ = hub_->make_limiter("api", {sliding}, *this); });
  run_for(kSecond);
  auto departures = ask();
  ASSERT_EQ(departures.size(), 2u);
  for (int times = 0; times < 3; ++times) {
    run_for(100 * kMillisecond);
    machine_.happen([&] {
      for (auto& departure : departures) departure = limiter_->report_late({}, departure, machine_.now());
    });
  }
  run_for(kSecond - 50 * kMillisecond);
  EXPECT_TRUE(ask().empty()) << "they left less than an interval ago";
  run_for(51 * kMillisecond);
  EXPECT_EQ(ask().size(), 2u);
}

}  // namespace
}  // namespace penstock::simulation
