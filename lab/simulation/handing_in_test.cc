// SPDX-License-Identifier: Apache-2.0
// What a process let leave while Redis was away is replayed to Redis once it is back, even if some of the calls fail.
#include <memory>
#include <string>
#include <vector>

#include "simulation/one_office.h"

namespace penstock::simulation {
namespace {

using namespace std::chrono_literals;

LimitConfig window_a_day(LimitConfig::Per per) {
  return {.kind = WindowConfig{.reservoir = 100, .interval = 24h}, .name = "window", .per = per};
}

class HandingIn : public OneOffice {
 protected:
  HandingIn() = default;
  explicit HandingIn(Time ahead) : OneOffice({.round_trip = 200}, 7, ahead) {}

  void make(LimitConfig::Per per) { make({window_a_day(per)}); }
  void make(const std::vector<LimitConfig>& limits) {
    machine_.happen([&] { limiter_ = hub_->make_limiter("api", limits, *this); });
    run_for(kSecond);
  }
  void depart(const std::string& group, std::size_t count) {
    machine_.happen([&] {
      flow::Booking booking;
      if (limiter_->ask(machine_.now(), {.group = group, .count = count, .weight = 1}, booking)) note(booking);
    });
    run_for(kMillisecond);
  }
  void stop_redis() {
    server_.stop();
    run_for(kSecond);
    ASSERT_TRUE(hub_->degraded());
  }
  void start_redis() { server_.start(RedisServer::Memory::kept, "id"); }
  void command(const std::vector<std::string>& words) {
    struct Ear final : RedisServer::Client {
      void on_bytes(std::string_view) override {}
      void on_closed() override {}
    } ear;
    std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
    for (const auto& word : words) bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    const auto connection = server_.connect(ear);
    server_.feed(connection, bytes);
    server_.disconnect(connection);
  }
  /// The count of each window.
  std::vector<int> counts() {
    std::vector<int> all;
    for (const auto& key : server_.keys("p:{api}:window")) {
      const auto end = key.text.rfind(' '), begin = key.text.rfind(' ', end - 1) + 1;
      all.push_back(std::stoi(key.text.substr(begin, end - begin)));
    }
    return all;
  }

  void note(const flow::Booking& booking) { departed_ += static_cast<int>(booking.departures.size()); }
  void answer(flow::LaneKey, const flow::Booking& booking) override { note(booking); }

  std::unique_ptr<flow::Limiter> limiter_;
  int departed_ = 0;
};

/// The replay of so many groups takes three calls. The script of the first fails before it has written anything.
TEST_F(HandingIn, in_several_calls_of_which_one_fails_forgets_no_group) {
  constexpr int kGroups = 120;
  make(LimitConfig::Per::group);
  depart("known", 1);
  stop_redis();
  for (int i = 0; i < kGroups; ++i) depart("group " + std::to_string(i), 2);
  int calls = 0;
  on_call_ = [&] {
    if (++calls == 2) server_.fail_script(1);  // the first call says that this process is back
  };
  start_redis();
  run_for(5 * kSecond);
  depart("known", 1);
  run_for(kSecond);
  const auto all = counts();
  EXPECT_EQ(all.size(), kGroups + 1u);
  for (const int count : all) EXPECT_GE(count, 2);
}

class HandingInByAWrongClock : public HandingIn, public testing::WithParamInterface<Time> {
 protected:
  HandingInByAWrongClock() : HandingIn(GetParam()) {}
};

/// The process began without Redis. With a clock that is behind, its departures seem to be of the day before; with one
/// that is ahead, the pacer is held up until then.
TEST_P(HandingInByAWrongClock, is_by_the_clock_of_redis_once_that_is_known) {
  server_.stop();
  make({window_a_day(LimitConfig::Per::upstream), {.kind = PacerConfig{.qps = 10}, .name = "pacer"}});
  for (int i = 0; i < 3; ++i) depart({}, 1), run_for(kSecond);
  ASSERT_EQ(departed_, 3);
  start_redis();
  run_for(3 * kSecond);
  for (const int each : {4, 5}) {  // the first departure brings the replay
    depart({}, 1);
    run_for(200 * kMillisecond);
    EXPECT_EQ(departed_, each);
    EXPECT_EQ(counts(), std::vector{each});
  }
}

INSTANTIATE_TEST_SUITE_P(Ahead, HandingInByAWrongClock, testing::Values(-20 * kSecond, Time{0}, 20 * kSecond, kHour));

/// While a foreign value stands under a key that belongs to no single limit, nothing can be replayed.
TEST_F(HandingIn, that_meets_a_foreign_value_is_done_once_when_it_is_gone) {
  for (const std::string key : {"p:{api}:head", "p:{api}:alive"}) {
    make(LimitConfig::Per::upstream);
    depart({}, 3);
    stop_redis();
    depart({}, 4);
    start_redis();
    command({"SET", key, "foreign"});
    run_for(5 * kSecond);
    EXPECT_EQ(counts(), std::vector{3}) << key;
    command({"DEL", key});
    for (int i = 0; i < 2; ++i) depart({}, 1), run_for(2 * kSecond);
    EXPECT_EQ(counts(), std::vector{departed_}) << key;
    EXPECT_GE(departed_, 8) << key;
    departed_ = 0;
    limiter_.reset();
    server_.flush();
  }
}

}  // namespace
}  // namespace penstock::simulation
