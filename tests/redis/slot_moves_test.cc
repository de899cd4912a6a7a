// SPDX-License-Identifier: Apache-2.0
// A node of a cluster which answers TRYAGAIN while a slot moves: how often it is asked meanwhile, what becomes of
// requests, and how soon limits are shared again.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "redis/fake_redis.h"
#include "redis/in_time.h"
#include "redis/limiter_fixture.h"

namespace penstock::redis {
namespace {

using testing::SizeIs;

std::string number(std::int64_t value) { return ":" + std::to_string(value) + "\r\n"; }

/// As book.lua answers: all that is asked for leaves now.
std::string grants(int count) {
  const auto now = std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch()).count();
  const std::string none = "*0\r\n";
  std::string departures = "*" + std::to_string(2 * count) + "\r\n";
  for (int i = 0; i < count; ++i) departures += number(now) + number(-1);
  return "*13\r\n" + bulk("1-x") + bulk("ok") + number(now) + number(1) + bulk("") + bulk("u") + number(-1) +
         number(0) + number(0) + none + departures + none + none;
}

class SlotMovesTest : public testing::Test {
 protected:
  SlotMovesTest() {
    config_.host = "127.0.0.1";
    config_.port = node_.port();
    config_.cluster = {{config_.host, config_.port}};
    config_.timeout = 5s;  // no busy machine takes as long
  }
  /// A process that shares a limit.
  void begin(WhenDown when_down) {
    config_.when_down = when_down;
    moves_ = false;
    desk_ = std::make_unique<LimiterFixture>(run_, resolver_, config_, std::vector{pacer(1000)});
    ASSERT_TRUE(is_shared());
    desk_->arrive();
    ASSERT_TRUE(took_off(1));
    begin_move();
  }
  void begin_move() {
    const std::lock_guard lock(mutex_);
    in_vain_.clear();
    moves_ = true;
  }
  bool is_shared() {
    return run_.run_until([&] { return desk_->up() && !desk_->degraded(); });
  }
  bool took_off(std::size_t count) {
    return run_.run_until([&] { return desk_->took_off().size() >= count; });
  }
  /// When looks came that were answered by TRYAGAIN.
  std::vector<flow::Time> in_vain() {
    const std::lock_guard lock(mutex_);
    return in_vain_;
  }

 private:
  std::string answer(const Command& words) {
    if (words[0] == "SUBSCRIBE") return "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n";
    if (words[0] == "CLUSTER") return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n" + number(node_.port());
    const bool books = words.size() > 5 && words[4].ends_with(":alive") && words[5].ends_with(":pause");
    if (!books) return number(1);
    const int count = std::stoi(words[3 + std::stoul(words[2]) + 6]);
    if (!moves_) return grants(count);
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const std::lock_guard lock(mutex_);
    if (count == 0) in_vain_.push_back(std::chrono::duration_cast<Duration>(now).count());
    return "-TRYAGAIN Multiple keys request during rehashing of slot\r\n";
  }

  std::mutex mutex_;
  std::vector<flow::Time> in_vain_;

 protected:
  std::atomic<bool> moves_ = false;
  test::Origin node_{greeting([this](const Command& words, int) { return answer(words); })};
  test::TestLoop run_;
  loop::Resolver resolver_{run_.loop, DnsConfig{}};
  RedisConfig config_;
  std::unique_ptr<LimiterFixture> desk_;
};

/// By these rules nothing is taken twice, so requests go by them at once.
TEST_F(SlotMovesTest, are_followed_at_one_pace_however_much_is_asked_for) {
  constexpr flow::Time kPace = 100'000;
  for (const auto rule : {WhenDown::open, WhenDown::wait, WhenDown::refuse}) {
    SCOPED_TRACE(static_cast<int>(rule));
    begin(rule);
    ASSERT_TRUE(run_.run_until([&] {
      desk_->arrive();
      return in_vain().size() >= 6;
    }));
    const auto looks = in_vain();
    EXPECT_GE(looks[5] - looks[0], 4 * kPace) << "one of these may be a tick's";
    EXPECT_TRUE(in_time(10 * kPace, looks[0], looks[5]));
    const auto since = run_.loop.now();
    moves_ = false;
    ASSERT_TRUE(is_shared());
    EXPECT_TRUE(in_time(2 * kPace, since, run_.loop.now()));
  }
}

TEST_F(SlotMovesTest, hold_lanes_where_processes_would_go_by_their_parts) {
  begin(WhenDown::share);
  desk_->arrive();
  ASSERT_TRUE(run_.run_until([&] { return in_vain().size() >= 2; }));
  run_.run_for(300'000);
  EXPECT_THAT(desk_->took_off(), SizeIs(1));
  EXPECT_THAT(in_vain(), SizeIs(testing::Le(15)));
  const auto since = run_.loop.now();
  moves_ = false;
  ASSERT_TRUE(took_off(2));
  EXPECT_TRUE(in_time(100'000, since, run_.loop.now()));
  EXPECT_GT(desk_->granted()[1].in_redis, 0) << "Redis was asked for it";
  EXPECT_FALSE(desk_->degraded());
}

TEST_F(SlotMovesTest, hold_no_lane_for_longer_than_a_second) {
  begin(WhenDown::share);
  const auto since = run_.loop.now();
  desk_->arrive();
  ASSERT_TRUE(took_off(2));
  EXPECT_GE(run_.loop.now() - since, kSecond);
  EXPECT_TRUE(in_time(kSecond + 100'000, since, run_.loop.now()));
  EXPECT_EQ(desk_->granted()[1].in_redis, 0);
  const auto over = run_.loop.now();
  moves_ = false;
  ASSERT_TRUE(is_shared());
  EXPECT_TRUE(in_time(200'000, over, run_.loop.now())) << "it goes on being asked";
}

}  // namespace
}  // namespace penstock::redis
