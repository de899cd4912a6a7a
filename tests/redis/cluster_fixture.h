// SPDX-License-Identifier: Apache-2.0
// A cluster of two nodes that say what the test tells them to, and our client of it.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loop/resolver.h"
#include "redis/client/cluster.h"
#include "redis/fake_redis.h"
#include "redis/wire/slot_map.h"
#include "support/test_loop.h"

namespace penstock::redis {

inline constexpr std::string_view kLow = "b", kHigh = "a";  // keys of the lower and of the upper half of the slots

/// Two nodes of a cluster that say what the test tells them to. They tell no id.
class ClusterFixture : public testing::Test, public RedisEvents {
 protected:
  ClusterFixture() {
    EXPECT_LT(slot_of(kLow), kSlots / 2);
    EXPECT_GE(slot_of(kHigh), kSlots / 2);
    config_.timeout = 5s;
    config_.host = "127.0.0.1";
    config_.port = nodes_[0].port();
    config_.cluster = {{config_.host, config_.port}};
    give_slots(8191);
  }
  void open(Network& network = sockets()) {
    cluster_ = std::make_unique<Cluster>(run_.loop, resolver_, network, config_, kScripts, "me",
                                         static_cast<RedisEvents&>(*this),
                                         [this](const Notice& notice) { notices_.push_back(notice.text); });
  }
  ~ClusterFixture() override { hold_maps(false); }
  struct Part {
    int from, to;
    std::size_t node;
  };
  /// From now on both nodes tell that they have these slots.
  void tell_slots(const std::vector<Part>& parts) {
    std::string slots = "*" + std::to_string(parts.size()) + "\r\n";
    for (const auto& [from, to, node] : parts)
      slots += "*3\r\n:" + std::to_string(from) + "\r\n:" + std::to_string(to) +
               "\r\n*2\r\n$9\r\n127.0.0.1\r\n:" + std::to_string(nodes_[node].port()) + "\r\n";
    const std::lock_guard lock(mutex_);
    slots_[0] = slots_[1] = slots;
  }
  /// The first node has the slots up to that one; -1: none.
  void give_slots(int last) {
    last < 0 ? tell_slots({{0, 16383, 1}}) : tell_slots({{0, last, 0}, {last + 1, 16383, 1}});
  }
  /// Answers to CLUSTER SLOTS, which are written when they are asked for, are sent only when they are held no more.
  void hold_maps(bool hold) {
    const std::lock_guard lock(mutex_);
    maps_held_ = hold;
    maps_go_.notify_all();
  }
  /// How often the map was asked for.
  int maps() {
    const std::lock_guard lock(mutex_);
    return maps_;
  }
  /// From now on the node answers calls so.
  void says(std::size_t node, std::string answer) {
    const std::lock_guard lock(mutex_);
    says_[node] = std::move(answer);
  }
  /// From now on it answers everything so.
  void fails(std::size_t node, const std::string& answer) {
    says(node, answer);
    const std::lock_guard lock(mutex_);
    tests_[node] = answer;
  }
  std::string to_the_other(std::string_view code) const {
    return "-" + std::string(code) + " " + std::to_string(slot_of(kLow)) +
           " 127.0.0.1:" + std::to_string(nodes_[1].port()) + "\r\n";
  }
  bool comes_up(std::string_view key) {
    return run_.run_until([this, key] {
      const Redis* const redis = cluster_->server_for(slot_of(key));
      return redis && redis->up();
    });
  }
  /// The answer as text, `!kind` of a failure, `down` where no node answers.
  std::string answer_to(std::string_view key) {
    std::optional<std::string> answer;
    const std::array keys{key};
    Redis* const redis = cluster_->server_for(slot_of(key));
    const auto done = [&](const Outcome& outcome, std::int64_t) {
      answer = outcome ? std::string(outcome->text()) : "!" + std::string(label(outcome.error().kind));
    };
    if (!redis || !redis->call(0, keys, {}, done)) return "down";
    EXPECT_TRUE(run_.run_until([&] { return answer.has_value(); }));
    return answer.value_or("none");
  }
  std::vector<std::string> last_heard(std::size_t node) {
    const auto all = heard(node);
    return {all.end() - std::min<std::ptrdiff_t>(2, std::ssize(all)), all.end()};
  }
  std::vector<std::string> heard(std::size_t node) {
    const std::lock_guard lock(mutex_);
    return heard_[node];
  }

  void on_found(const std::vector<Endpoint>& there) override {
    found_.insert(found_.end(), there.begin(), there.end());
  }
  void on_up() override {}
  void on_down() override { ++downs_; }
  void on_message(std::string_view) override {}
  void on_subscribed(bool) override {}
  void on_messages(bool) override {}
  void on_round_trip(std::int64_t) override {}
  void on_failure(FailureKind kind) override { failures_.push_back(kind); }
  void on_moved() override { ++moves_; }

  static constexpr std::string_view kScripts[] = {"return 1"};

  test::TestLoop run_;
  loop::Resolver resolver_{run_.loop, {}};
  RedisConfig config_;
  std::vector<std::string> notices_;
  std::vector<Endpoint> found_;
  std::vector<FailureKind> failures_;
  int downs_ = 0, moves_ = 0;

 private:
  test::Origin::Script node(std::size_t number) {
    const auto otherwise = [this, number](const Command& words, int) -> std::string {
      std::unique_lock lock(mutex_);
      if (words[0] == "CLUSTER") {
        ++maps_;
        const std::string told = slots_[number];
        maps_go_.wait(lock, [this] { return !maps_held_; });
        return told;
      }
      heard_[number].push_back(words[0]);
      if (words[0] == "ASKING") return asking_;
      if (words[0] == "SUBSCRIBE") return "*3\r\n$9\r\nsubscribe\r\n$1\r\nc\r\n:1\r\n";
      return says_[number];
    };
    const auto self_test = [this, number] {
      const std::lock_guard lock(mutex_);
      return tests_[number];
    };
    return greeting(otherwise, self_test);
  }

 protected:
  std::mutex mutex_;
  std::condition_variable maps_go_;
  bool maps_held_ = false;
  int maps_ = 0;
  std::string asking_ = "+OK\r\n";
  std::array<std::string, 2> slots_;
  std::array<std::string, 2> says_{"+first\r\n", "+second\r\n"}, tests_{"*0\r\n", "*0\r\n"};
  std::array<std::vector<std::string>, 2> heard_;
  std::array<test::Origin, 2> nodes_{test::Origin(node(0)), test::Origin(node(1))};
  std::unique_ptr<Cluster> cluster_;
};

}  // namespace penstock::redis
