// SPDX-License-Identifier: Apache-2.0
// A Redis under test on a loop of the test's: what it told, and calls that wait for their answer.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loop/resolver.h"
#include "redis/client/redis.h"
#include "support/test_loop.h"

namespace penstock::redis {

class RedisFixture : public testing::Test, public RedisEvents {
 protected:
  enum Script : std::size_t { kEcho, kCount, kHang, kNested, kWrite, kSlow };

  void open(std::uint16_t port) {
    config_.port = port;
    open();
  }
  void open() {
    redis_ = std::make_unique<Redis>(run_.loop, resolver_, sockets(), config_, kScripts, "me", *this,
                                     [this](const Notice& notice) { notices_.push_back(notice); });
  }
  bool comes_up() {
    return run_.run_until([this] { return redis_->up(); });
  }
  bool goes_down() {
    return run_.run_until([this] { return !redis_->up(); });
  }

  /// The answer as text, `!kind` of a failure, `down` if Redis was.
  std::string answer_to(Script script, std::vector<std::string_view> arguments = {},
                        std::vector<std::string_view> keys = {}) {
    std::optional<std::string> answer;
    if (!redis_->call(script, keys, arguments, [&](const Outcome& outcome, std::int64_t) { answer = told(outcome); })) {
      return "down";
    }
    EXPECT_TRUE(run_.run_until([&] { return answer.has_value(); }));
    return answer.value_or("none");
  }

  static std::string told(const Outcome& outcome) {
    if (!outcome) return "!" + std::string(label(outcome.error().kind));
    return outcome->kind() == Reply::Kind::integer ? std::to_string(outcome->integer()) : std::string(outcome->text());
  }

  void on_found(const std::vector<Endpoint>&) override {}
  void on_up() override { ++ups_; }
  void on_down() override { ++downs_; }
  void on_message(std::string_view payload) override { messages_.emplace_back(payload); }
  void on_subscribed(bool) override {}
  void on_messages(bool come) override { messages_come_.push_back(come); }
  void on_round_trip(std::int64_t microseconds) override { round_trips_.push_back(microseconds); }
  void on_failure(FailureKind) override { ++failures_; }

  static constexpr std::string_view kScripts[] = {
      "return ARGV[1]",
      "return redis.call('INCR', KEYS[1])",
      "while true do end",
      "return {1, {'two', false}, 3}",
      "return redis.call('SET', KEYS[1], ARGV[1], 'PX', 10000)",
      "local a = redis.call('TIME') "
      "repeat local b = redis.call('TIME') until (b[1] - a[1]) * 1000000 + b[2] - a[2] > 20000 return 'slow'",
  };

  test::TestLoop run_;
  loop::Resolver resolver_{run_.loop, DnsConfig{}};
  RedisConfig config_;
  int ups_ = 0, downs_ = 0, failures_ = 0;
  std::vector<std::string> messages_;
  std::vector<bool> messages_come_;
  std::vector<Notice> notices_;
  std::vector<std::int64_t> round_trips_;
  std::unique_ptr<Redis> redis_;
};

}  // namespace penstock::redis
