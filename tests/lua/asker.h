// SPDX-License-Identifier: Apache-2.0
// One process as the scripts see it: it asks, gives back, leaves, pauses, resets and hands in, for one upstream. It has
// no lanes; whoever uses it does as they would.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flow/booker.h"
#include "lua/scripts.h"
#include "penstock/limits.h"

namespace penstock::lua {

using flow::Time;

struct Answer {
  std::string status;  ///< ok, stale, closed; or the error
  Time now = 0;        ///< as the scripts see it
  int alive = 0;
  bool granted_all = false;  ///< nothing stopped it
  flow::Booking booking;     ///< of Redis' times: `ask_again` is 0 where the asker is to choose
};

class Asker {
 public:
  /// Its time 0 is the Instant `start`; with Redis' own clock that must be 0.
  Asker(Scripts& scripts, std::string upstream, std::string who, std::vector<LimitConfig> limits, double start);

  Answer ask(Time now, const flow::Ask& ask, bool touch = false);
  test::RedisReply undo(Time now, std::string_view group, const flow::Departure& departure);
  /// The departures left only at `at`.
  test::RedisReply moved(Time now, std::string_view group, const std::vector<flow::Departure>& departures, Time at);
  test::RedisReply leave(Time now, std::string_view group, bool of_group);
  test::RedisReply pause(Time now, std::string_view group, Time length);
  /// The answer's items: status, now, when to call again, number.
  test::RedisReply reset(Time now, std::size_t limit, std::string_view group);
  /// A state for each limit, in order; '' for nothing.
  test::RedisReply hand_in(Time now, std::string_view group, const Texts& states);

  void change(std::vector<LimitConfig> limits) { limits_ = std::move(limits); }
  void know(std::string generation, int alive) { generation_ = std::move(generation), alive_ = alive; }

  const std::string& who() const { return who_; }
  const std::string& generation() const { return generation_; }
  const std::vector<LimitConfig>& limits() const { return limits_; }
  std::string key(std::string_view name, std::string_view group = {}) const;
  std::string key_of(std::size_t limit, std::string_view group) const;
  Time here(std::int64_t instant) const { return instant - start_; }

 private:
  Texts keys_of_limits(std::string_view group) const;
  void add_limits(Texts& arguments) const;
  std::int64_t instant(Time t) const { return start_ + t; }

  Scripts& scripts_;
  const std::string upstream_, who_;
  std::vector<LimitConfig> limits_;
  const std::int64_t start_;
  std::string generation_;
  int alive_ = 0;
};

/// The kind and the three numbers of a limit, as the scripts want them.
Texts words_of(const LimitConfig::Kind& kind);

}  // namespace penstock::lua
