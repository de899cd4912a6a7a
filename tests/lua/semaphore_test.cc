// SPDX-License-Identifier: Apache-2.0
// The semaphore's leases: processes that hold and return permits by the scripts, on a clock of the tests, while what
// can go wrong goes wrong. Redis is real; the processes are a model around redis::Permits, as redis_booker drives it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "lua/post.h"
#include "lua/scripts.h"
#include "redis/permits.h"

namespace penstock::lua {
namespace {

using flow::Time;
using redis::Permits;

constexpr Time kMs = 1'000, kSecond = 1'000'000;
constexpr Time kLease = 3 * kSecond;
constexpr std::string_view kKey = "penstock:{api}:semaphore";

/// One process: requests wait, fly and land; calls are made when there is something to say, and to renew.
struct Process {
  std::string who;
  Permits permits{kLease};
  int waiting = 0;
  std::vector<Time> landings;  // of its flights
  Time cut_off_until = 0;
  int asked_for = 0;  // waiting, as last told

  void start_waiting(std::mt19937& random, Time now, int& starts) {
    while (waiting > 0 && permits.spare() > 0) {
      --waiting, ++starts;
      permits.use(1);
      landings.push_back(now + static_cast<Time>(random() % (2 * kSecond)));
    }
  }
  bool land(Time now) {
    const auto over = std::erase_if(landings, [now](Time at) { return at <= now; });
    for (std::size_t i = 0; i < over; ++i) permits.ended();
    return over > 0;
  }
  void cut(std::int64_t count) {
    for (; count > 0 && !landings.empty(); --count) landings.pop_back(), permits.ended();
  }
};

struct Faults {
  bool kills = false, cuts = false, flushes = false, capacity_changes = false, clock_steps = false;
  unsigned lost_messages = 0, lost_replies = 0;  // in a hundred
};

class Model {
 public:
  Model(test::RedisServer& server, Faults faults, unsigned seed)
      : scripts_(server), post_(server), faults_(faults), random_(seed) {
    for (int i = 0; i < 4; ++i) join();
  }

  void run(Time length) {
    for (const Time end = now_ + length; now_ < end; now_ += 10 * kMs) {
      if (now_ % kSecond == 0) misfortune();
      for (auto& process : processes_) step(process);
      deliver();
      check();
    }
  }
  /// Without further faults, for two leases: all permits must be in use again.
  void recover() {
    faults_ = {};
    for (auto& process : processes_) process.cut_off_until = 0;
    run(3 * kLease);
    in_use_ = samples_ = 0;
    run(5 * kSecond);
  }

  int starts = 0, worst_excess = 0;
  double in_use() const { return static_cast<double>(in_use_) / (samples_ * capacity_); }

 private:
  void join() {
    processes_.push_back({.who = "p" + std::to_string(++names_)});
    post_.subscribe(processes_.back().who, true);
  }

  void step(Process& process) {
    if (process.waiting < 4 && random_() % 20 == 0) ++process.waiting;
    const bool landed = process.land(now_);
    const bool busy = process.permits.in_use() > 0 || process.waiting > 0;
    const bool due = busy && now_ >= process.permits.renew_at();
    if (process.permits.in_use() > 0 && now_ >= process.permits.fence()) {
      process.cut(process.permits.in_use());
    }
    if (process.permits.forgettable(now_)) process.permits = Permits(kLease, now_);
    process.start_waiting(random_, now_, starts);
    const bool news = landed || process.waiting != process.asked_for;
    if ((news || due) && now_ >= process.cut_off_until) call(process);
  }

  void call(Process& process) {
    const Texts keys{"penstock:{api}:head", std::string(kKey)};
    const auto told = process.permits.told(0, process.waiting);
    const auto reply = scripts_.call(
        Script::permits, now_ + skew_, keys,
        {process.who, "g" + std::to_string(random_()), "4", std::to_string(capacity_), std::to_string(kLease), told});
    ASSERT_EQ(reply.items.size(), 4u) << reply.text;
    if (random_() % 100 < faults_.lost_replies) return;
    process.asked_for = process.waiting;
    process.permits.granted(reply.items[1].integer);
    process.permits.renewed(now_, now_, reply.items[2].integer);
    process.cut(process.permits.excess());
    process.start_waiting(random_, now_, starts);
  }

  void deliver() {
    for (const auto& message : post_.take()) {
      const auto found = std::ranges::find(processes_, message.who, &Process::who);
      const bool lost = random_() % 100 < faults_.lost_messages;
      if (found == processes_.end() || lost || now_ < found->cut_off_until) continue;
      found->permits.granted(std::stoll(message.text.substr(message.text.rfind(' '))));
      found->start_waiting(random_, now_, starts);
    }
  }

  void misfortune() {
    auto& victim = processes_[random_() % processes_.size()];
    const bool now = random_() % 3 == 0;
    if (faults_.kills && now && random_() % 4 == 0) return kill(victim);
    if (faults_.cuts && now) victim.cut_off_until = now_ + kSecond / 2 + static_cast<Time>(random_() % (6 * kSecond));
    if (faults_.flushes && now && random_() % 4 == 0) flush();
    if (faults_.capacity_changes && now) capacity_ = 2 + static_cast<int>(random_() % 7), changed_ = now_;
    if (faults_.clock_steps && now) skew_ -= 10 * kSecond;
  }

  /// What it had in flight counts until its lease is over: the upstream may be at work for it still.
  void kill(Process& victim) {
    const Time over = victim.permits.renew_at() - kLease / 6 + kLease;
    for (std::size_t i = 0; i < victim.landings.size(); ++i) ghosts_.push_back(over);
    post_.subscribe(victim.who, false);
    processes_.erase(processes_.begin() + (&victim - processes_.data()));
    join();
  }

  /// Nobody is left to register what the dead had: half a lease is all that Redis then gives them.
  void flush() {
    scripts_.server().run({"FLUSHALL"});
    for (Time& over : ghosts_) over = std::min(over, now_ + kLease / 2);
  }

  void check() {
    std::erase_if(ghosts_, [this](Time over) { return over <= now_; });
    auto flying = static_cast<int>(ghosts_.size());
    for (const auto& process : processes_) flying += static_cast<int>(process.landings.size());
    in_use_ += flying, ++samples_;
    // A lowered capacity cuts nobody: only the largest of the last few seconds can be held against it.
    if (now_ - changed_ > 2 * kSecond) worst_excess = std::max(worst_excess, flying - capacity_);
  }

  Scripts scripts_;
  Post post_;
  Faults faults_;
  std::mt19937 random_;
  std::vector<Process> processes_;
  std::vector<Time> ghosts_;
  int names_ = 0, capacity_ = 5;
  Time now_ = 1'000 * kSecond, skew_ = 0, changed_ = -10 * kSecond;
  std::int64_t in_use_ = 0, samples_ = 0;
};

void expect_kept(Faults faults, Time length = 120 * kSecond) {
  test::RedisServer server;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    server.run({"FLUSHALL"});
    Model model(server, faults, seed);
    model.run(length);
    model.recover();
    EXPECT_GT(model.starts, 100) << "seed " << seed;
    EXPECT_LE(model.worst_excess, 0) << "seed " << seed;
    EXPECT_GT(model.in_use(), 0.9) << "permits were lost; seed " << seed;
  }
}

TEST(Semaphore, holds_in_quiet_times) { expect_kept({}); }
TEST(Semaphore, loses_no_permit_with_a_message) { expect_kept({.lost_messages = 30}); }
TEST(Semaphore, loses_no_permit_with_a_reply) { expect_kept({.lost_replies = 30}); }
TEST(Semaphore, gets_the_permits_of_the_dead_back_after_a_lease_and_not_before) { expect_kept({.kills = true}); }
TEST(Semaphore, holds_when_a_process_is_cut_off) { expect_kept({.cuts = true}); }
TEST(Semaphore, holds_when_redis_forgets_everything) { expect_kept({.flushes = true}); }
TEST(Semaphore, holds_when_its_capacity_changes) { expect_kept({.capacity_changes = true}); }
TEST(Semaphore, holds_when_the_clock_of_redis_steps_back) { expect_kept({.clock_steps = true}); }
TEST(Semaphore, holds_when_all_of_it_happens) {
  expect_kept(
      {.kills = true, .cuts = true, .flushes = true, .clock_steps = true, .lost_messages = 20, .lost_replies = 10},
      300 * kSecond);
}

}  // namespace
}  // namespace penstock::lua
