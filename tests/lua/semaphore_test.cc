// SPDX-License-Identifier: Apache-2.0
// The semaphore's leases: processes that hold, use again and return permits by the scripts, on a clock of the tests,
// while what can go wrong goes wrong. Redis is real; the processes are a model around redis::Permits, as redis_booker
// drives it. Below them single calls, whose answers and messages are looked at.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>

#include "lua/post.h"
#include "lua/scripts.h"
#include "redis/limits/permits.h"

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
  bool was_cut_off = false;  // and has not told yet
  Time last_call = 0;
  int asked_for = 0;           // waiting, as last told
  std::int64_t sharers = 0;    // as last told; 0: nobody else waits
  Time look_at = 0;            // 0: not
  bool called = false;         // something is kept for it
  bool is_known_idle = false;  // Redis has answered that it holds nothing and waits for nothing

  void start_waiting(std::mt19937& random, Time now, int& starts) {
    while (waiting > 0 && permits.spare() > 0) {
      --waiting, ++starts;
      permits.use(1);
      landings.push_back(now + static_cast<Time>(random() % (2 * kSecond)));
    }
  }
  /// Whether any permit goes back.
  bool land(std::mt19937& random, Time now, int capacity, int& starts) {
    const auto over = std::erase_if(landings, [now](Time at) { return at <= now; });
    const std::int64_t held = permits.held();
    for (std::size_t i = 0; i < over; ++i) {
      const bool keeps = permits.held() <= capacity / std::max<std::int64_t>(1, sharers);
      permits.ended(keeps && now < permits.fence());
    }
    start_waiting(random, now, starts);
    permits.return_spare();
    is_known_idle &= over == 0;
    return permits.held() < held;
  }
  void cut(std::int64_t count) {
    is_known_idle &= count <= 0;
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
    const bool landed = process.land(random_, now_, capacity_, starts);
    const bool busy = process.permits.in_use() > 0 || process.waiting > 0;
    const bool looks = process.look_at > 0 && now_ >= process.look_at;
    const bool due = process.called || (busy && (looks || now_ >= process.permits.renew_at()));
    if (process.permits.in_use() > 0 && now_ >= process.permits.fence()) {
      process.cut(process.permits.in_use());
    }
    if (process.is_known_idle && process.permits.forgettable(now_)) process.permits = Permits(kLease, now_);
    process.start_waiting(random_, now_, starts);
    const bool news = landed || process.waiting != process.asked_for;
    if (looks) process.look_at = 0;
    if ((news || due) && now_ >= process.cut_off_until) call(process);
  }

  void call(Process& process) {
    const Texts keys{"penstock:{api}:head", std::string(kKey)};
    const Time away = process.was_cut_off ? now_ - process.permits.renewed_at() : 0;
    const auto told = process.permits.told({.besides = process.waiting, .away = away});
    process.called = process.is_known_idle = false;
    process.last_call = now_;
    const auto reply = scripts_.call(
        Script::permits, now_ + skew_, keys,
        {process.who, "g" + std::to_string(random_()), "4", std::to_string(capacity_), std::to_string(kLease), told});
    ASSERT_EQ(reply.items.size(), 7u) << reply.text;
    if (random_() % 100 < faults_.lost_replies) return;
    process.was_cut_off = false;
    process.is_known_idle = process.permits.held() == 0 && process.waiting == 0;
    process.asked_for = process.waiting;
    process.permits.granted(reply.items[1].integer);
    process.permits.renewed(now_, now_, reply.items[2].integer);
    process.sharers = reply.items[3].integer;
    process.look_at = reply.items[4].integer > 0 ? now_ + reply.items[4].integer : 0;
    process.cut(process.permits.excess());
    process.start_waiting(random_, now_, starts);
  }

  void deliver() {
    for (const auto& message : post_.take()) {
      const auto found = std::ranges::find(processes_, message.who, &Process::who);
      const bool lost = random_() % 100 < faults_.lost_messages;
      if (found == processes_.end() || lost || now_ < found->cut_off_until) continue;
      std::istringstream words(message.text);
      std::string upstream, permits, word;
      std::int64_t number = 0;
      words >> upstream >> permits >> word >> number;
      if (word == "take") found->called = true;
      if (word == "share") found->sharers = number;
      if (word == "look") found->look_at = number > 0 ? now_ + number : 0;
    }
  }

  void misfortune() {
    auto& victim = processes_[random_() % processes_.size()];
    const bool now = random_() % 3 == 0;
    if (faults_.kills && now && random_() % 4 == 0) return kill(victim);
    if (faults_.cuts && now) {
      victim.cut_off_until = now_ + kSecond / 2 + static_cast<Time>(random_() % (6 * kSecond));
      victim.was_cut_off = true;
    }
    if (faults_.flushes && now && random_() % 4 == 0) flush();
    if (faults_.capacity_changes && now) change_capacity();
    if (faults_.clock_steps && now) skew_ -= 10 * kSecond;
  }

  void change_capacity() {
    capacity_ = 2 + static_cast<int>(random_() % 7);
    changed_ = now_;
    for (auto& process : processes_) process.called = true;
  }

  /// What it had in flight counts until its lease is over: the upstream may be at work for it still.
  void kill(Process& victim) {
    Time over = victim.permits.renew_at() - kLease / 6 + kLease;
    if (victim.last_call < flushed_) over = std::min(over, flushed_ + kLease / 2);  // it never registered
    for (std::size_t i = 0; i < victim.landings.size(); ++i) ghosts_.push_back(over);
    post_.subscribe(victim.who, false);
    processes_.erase(processes_.begin() + (&victim - processes_.data()));
    join();
  }

  /// Nobody is left to register what the dead had: half a lease is all that Redis then gives them.
  void flush() {
    scripts_.server().run({"FLUSHALL"});
    flushed_ = now_;
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
  Time now_ = 1'000 * kSecond, skew_ = 0, changed_ = -10 * kSecond, flushed_ = 0;
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

// ---- single calls ---------------------------------------------------------------------------------------------------

/// Each process tells what the test says; what it is answered and what others are told stands in words.
class SemaphoreCalls : public testing::Test {
 protected:
  SemaphoreCalls() {
    for (const auto* who : {"a", "b", "c"}) post_.subscribe(who, true);
    call("nobody", {});  // a generation begins
    now_ += kLease;
  }

  /// "granted lost sharers look"
  std::string call(const std::string& who, const Permits::Telling& telling, std::int64_t held = 0,
                   std::int64_t returned = 0, int capacity = 4) {
    Permits permits(kLease);
    permits.granted(returned);
    permits.return_spare();
    permits.granted(returned + held);
    const auto reply =
        scripts_.call(Script::permits, now_, {"penstock:{api}:head", std::string(kKey)},
                      {who, "g", "1", std::to_string(capacity), std::to_string(kLease), permits.told(telling)});
    std::string words;
    for (const std::size_t item : {1, 2, 3, 4}) {
      words += (words.empty() ? "" : " ") + std::to_string(reply.items.at(item).integer);
    }
    return words;
  }
  /// "who word number", of each message.
  std::vector<std::string> told() {
    std::vector<std::string> all;
    for (const auto& message : post_.take()) {
      const auto end = message.text.rfind(' '), begin = message.text.find("permits ") + 8;
      EXPECT_EQ(message.text.substr(end + 1), kKey);
      all.push_back(message.who + " " + message.text.substr(begin, end - begin));
    }
    return all;
  }

  test::RedisServer server_;
  Scripts scripts_{server_};
  Post post_{server_};
  Time now_ = 1'000 * kSecond;
};

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST_F(SemaphoreCalls, grant_all_to_whoever_is_alone) {
  EXPECT_EQ(call("a", {.besides = 9}), "4 0 0 0");
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(SemaphoreCalls, of_one_that_begins_to_wait_have_those_above_the_level_told) {
  call("a", {.besides = 9});
  EXPECT_EQ(call("b", {.besides = 9}), "0 0 2 0");
  EXPECT_THAT(told(), ElementsAre("a share 2"));
  EXPECT_EQ(call("b", {.besides = 9}), "0 0 2 0");
  EXPECT_THAT(told(), IsEmpty()) << "once";
  EXPECT_EQ(call("a", {.besides = 5}, 4), "4 0 2 0") << "and hears it whenever it calls";
}

TEST_F(SemaphoreCalls, keep_what_is_returned_for_whoever_has_the_fewest) {
  call("a", {.besides = 9});
  call("b", {.besides = 9});
  call("c", {.besides = 9});
  told();
  EXPECT_EQ(call("a", {.besides = 9}, 3, 1), "4 0 3 51000") << "it waits for more, and looks 50 ms later";
  EXPECT_THAT(told(), ElementsAre("b take 0"));
  EXPECT_EQ(call("a", {.besides = 9}, 2, 2), "4 0 3 51000");
  EXPECT_THAT(told(), ElementsAre("c take 0"));
  EXPECT_EQ(call("b", {.besides = 9}), "1 0 3 0") << "it has come";
  EXPECT_THAT(told(), IsEmpty()) << "there is one more to look after";
  EXPECT_EQ(call("c", {.besides = 9}), "1 0 3 0");
  EXPECT_THAT(told(), ElementsAre("a look 0"));
}

TEST_F(SemaphoreCalls, pass_by_one_that_does_not_come_until_it_calls) {
  call("a", {.besides = 9});
  call("b", {.besides = 9});
  call("c", {.besides = 9});
  EXPECT_EQ(call("a", {}, 3, 1), "4 0 3 0");
  EXPECT_THAT(told(), ElementsAre("a share 2", "a share 3", "b take 0", "c look 51000")) << "in the order of asking";
  now_ += 49'999;
  EXPECT_EQ(call("c", {.besides = 9}), "0 0 3 1001") << "it is too early";
  now_ += 1;
  EXPECT_EQ(call("c", {.besides = 9}), "1 0 0 0");
  EXPECT_EQ(call("a", {}, 2, 2), "4 0 2 0");
  EXPECT_THAT(told(), ElementsAre("c take 0")) << "b is out of the line";
  EXPECT_EQ(call("c", {.besides = 9}, 1), "2 0 0 0");
  EXPECT_EQ(call("b", {.besides = 9}), "0 0 3 0");
}

TEST_F(SemaphoreCalls, wait_for_twice_the_round_trip_of_one_that_is_far) {
  call("a", {.besides = 9});
  call("b", {.besides = 9, .round_trip = 40'000});
  call("c", {.besides = 9});
  told();
  call("a", {}, 3, 1);
  EXPECT_THAT(told(), ElementsAre("b take 0", "c look 81000"));
  now_ += 79'999;
  EXPECT_EQ(call("b", {.besides = 9}), "1 0 3 0");
}

TEST_F(SemaphoreCalls, end_no_lease_while_redis_was_out_of_reach) {
  call("a", {.besides = 3});
  call("b", {.besides = 9});
  now_ += kLease + kSecond;
  EXPECT_EQ(call("b", {.besides = 9, .away = kLease + kSecond / 2}, 1), "1 0 0 0") << "a has its three still";
  now_ += kLease / 2;
  EXPECT_EQ(call("b", {.besides = 9}, 1), "1 0 0 0");
  now_ += 3 * kSecond - kLease / 2;
  EXPECT_EQ(call("b", {.besides = 9}, 1), "4 0 0 0") << "it did not come";
}

TEST_F(SemaphoreCalls, end_a_lease_as_ever_where_nobody_was_cut_off) {
  call("a", {.besides = 3});
  now_ += kLease / 2;
  EXPECT_EQ(call("b", {.besides = 9}), "1 0 0 0");
  now_ += kLease / 2;
  EXPECT_EQ(call("b", {.besides = 9}, 1), "4 0 0 0");
}

TEST_F(SemaphoreCalls, end_no_lease_while_redis_stood_still_though_a_late_call_does_not_say_so) {
  call("a", {.besides = 3});
  call("b", {.besides = 9});
  now_ += kLease + kSecond;
  EXPECT_EQ(call("b", {.besides = 9, .sent = now_ - kLease}, 1), "1 0 0 0") << "it was sent before Redis stood still";
  EXPECT_EQ(call("a", {.away = kLease + kSecond}, 3), "3 0 2 0");
}

TEST_F(SemaphoreCalls, end_a_lease_that_nobody_saw_end) {
  for (const bool knows_clock : {false, true}) {
    call("a", {.besides = 3});
    now_ += kLease + kSecond;
    const Time sent = knows_clock ? now_ - 200 : 0;
    EXPECT_EQ(call("b", {.besides = 4, .sent = sent}), "4 0 0 0") << "Redis ran all the time";
    call("b", {}, 0, 4);
  }
}

TEST_F(SemaphoreCalls, end_a_lease_though_the_call_of_another_was_long_on_its_way) {
  call("a", {.besides = 3});
  call("c", {.besides = 1});
  now_ += kLease + kSecond / 2;
  call("c", {}, 0, 1);
  now_ += kSecond / 2;
  EXPECT_EQ(call("b", {.besides = 9, .sent = now_ - kLease}), "4 0 0 0") << "others called meanwhile";
}

TEST_F(SemaphoreCalls, let_those_fly_on_that_were_left_to_one_without_its_lease) {
  call("a", {.besides = 4});
  now_ += kLease / 2;
  call("b", {.besides = 9});
  now_ += kLease / 2;
  call("b", {.besides = 9});
  told();
  EXPECT_EQ(call("a", {.alone = 2}, 3), "2 1 2 0")
      << "the third is another's; and nobody has more than two from now on";
  EXPECT_THAT(told(), ElementsAre("b share 2"));
  EXPECT_EQ(call("c", {.besides = 1}, 0), "0 0 3 0");
  EXPECT_EQ(call("b", {}, 3, 1), "4 0 3 0") << "five for four";
  EXPECT_EQ(call("b", {}, 2, 2), "4 0 3 0");
}

TEST_F(SemaphoreCalls, go_on_where_messages_are_refused) {
  server_.run({"ACL", "SETUSER", "default", "-publish"});
  call("a", {.besides = 9});
  EXPECT_EQ(call("b", {.besides = 9}), "0 0 2 0");
  EXPECT_EQ(call("a", {}, 3, 1), "4 0 2 0");
  EXPECT_EQ(call("b", {.besides = 9}), "1 0 0 0");
}

}  // namespace
}  // namespace penstock::lua
