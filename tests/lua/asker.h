// SPDX-License-Identifier: Apache-2.0
// One process as the scripts see it: it asks, gives back, leaves, pauses, resets and hands in, for one upstream. It has
// no lanes; whoever uses it does as they would.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flow/limit.h"
#include "flow/limiter.h"
#include "lua/scripts.h"
#include "penstock/limits.h"

namespace penstock::lua {

using flow::Time;

struct Answer {
  std::string status;  ///< ok, stale, closed; or the error
  Time now = 0;        ///< as the scripts see it
  int alive = 0;
  bool granted_all = false;            ///< nothing stopped it
  std::vector<std::int64_t> standing;  ///< how many others wait, what they had less, and how the limits stand
  std::vector<flow::Remaining> left;   ///< of each limit, on the asker's clock; nothing told: `until` is 0
  std::string others_limits;           ///< with a touch: what another told that has others
  std::int64_t processes = 0;          ///< how many there are, where says_there() asked for it
  flow::Booking booking;               ///< of Redis' times: `ask_again` is 0 where the asker is to choose
};

class Asker {
 public:
  /// Its time 0 is the Instant `start`; with Redis' own clock that must be 0.
  Asker(Scripts& scripts, std::string upstream, std::string who, std::vector<LimitConfig> limits, double start);

  Answer ask(Time now, const flow::Ask& ask, bool touch = false);
  test::RedisReply undo(Time now, std::string_view group, const flow::Departure& departure);
  /// The departures left only at `at`.
  test::RedisReply report_late(Time now, std::string_view group, const std::vector<flow::Departure>& departures,
                               Time at);
  /// The upstream refused the request that took this departure.
  test::RedisReply refused(Time now, std::string_view group, const flow::Departure& departure);
  /// The answer to the request that took this departure tells what the upstream has counted.
  test::RedisReply learned(Time now, std::string_view group, const flow::Departure& departure,
                           const flow::Report& report);
  /// The request that took this departure has cost so much.
  test::RedisReply settle(Time now, std::string_view group, const flow::Departure& departure, int cost);
  test::RedisReply cancel_wait(Time now, std::string_view group, bool of_group);
  /// `what` is tell or read. For limits of the whole upstream alone.
  test::RedisReply look_ahead(Time now, std::string_view what);
  test::RedisReply report_waiting(Time now, std::int64_t units, std::int64_t comes, Time asks_at);
  test::RedisReply pause(Time now, std::string_view group, Time length);
  test::RedisReply shorten_pause(Time now, std::string_view group, Time length);
  /// The answer's items: status, now, when to call again, number.
  test::RedisReply reset(Time now, std::size_t limit, std::string_view group);
  /// A state for each limit, in order; '' for nothing. `last`: 1, 0, or + as replay.lua has it.
  test::RedisReply replay(Time now, std::string_view group, const Texts& states, std::string_view last = "1");

  void change(std::vector<LimitConfig> limits) { limits_ = std::move(limits); }
  void know(std::string generation, int alive) { generation_ = std::move(generation), alive_ = alive; }
  /// With its next ask it says that it was away: Redis told it `last` as the latest time; and it hands in afterwards,
  /// or has nothing to.
  void was_away(Time last, bool hands_in = false) {
    returns_ = "@run@" + std::to_string(instant(last)) + (hands_in ? "+" : "s");
  }
  /// With a touch it says that it is there, in the list under this key.
  void says_there(std::string key) { all_processes_ = std::move(key); }
  /// What is handed in next Redis was told in that generation; empty: in none.
  void booked_in(std::string generation) { former_ = std::move(generation); }

  const std::string& who() const { return who_; }
  const std::string& generation() const { return generation_; }
  const std::vector<LimitConfig>& limits() const { return limits_; }
  std::string key(std::string_view name, std::string_view group = {}) const;
  std::string key_of(std::size_t limit, std::string_view group) const;
  Time here(std::int64_t instant) const { return instant - start_; }
  std::int64_t instant(Time t) const { return start_ + t; }

 private:
  std::string hash() const;
  Texts keys_of_limits(std::string_view group) const;
  static void add_limit(Texts& arguments, const LimitConfig& limit);
  void add_limits(Texts& arguments) const;

  Scripts& scripts_;
  const std::string upstream_, who_;
  std::vector<LimitConfig> limits_;
  const std::int64_t start_;
  std::string generation_;
  std::string former_;   // that before
  std::string returns_;  // what it says of its absence
  std::string all_processes_;
  int alive_ = 0;
};

/// The kind and the three numbers of a limit, as the scripts want them.
Texts words_of(const LimitConfig::Kind& kind);

}  // namespace penstock::lua
