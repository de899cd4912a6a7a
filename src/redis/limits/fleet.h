// SPDX-License-Identifier: Apache-2.0
// What Redis told last of all processes at one upstream: how many there are, how many of them wait, and how the
// upstream's limits stand over all of them. Books nothing. For shared_limiter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "flow/limiter.h"
#include "flow/local_limiter.h"
#include "penstock/limits.h"
#include "redis/limits/book_reply.h"
#include "redis/limits/clock_map.h"
#include "redis/limits/wait_list.h"

namespace penstock::redis {

class Fleet {
 public:
  explicit Fleet(const std::vector<LimitConfig>& limits) : whole_(limits) {}

  void change(const std::vector<LimitConfig>& limits) { whole_.set_limits(limits); }
  /// Any reply.
  void on_reply(const BookReply& reply) {
    if (reply.alive > 0) counted_at_ = reply.received;
    alive_ = reply.alive > 0 ? reply.alive : std::max(alive_, -reply.alive);
  }
  /// The reply to an ask that was understood, with its limits named.
  void on_answer(const BookReply& reply, const ClockMap& clock) {
    others_.reset();
    if (reply.others >= 0) others_ = {.count = reply.others, .had_less = reply.had_less};
    whole_.set_clock(static_cast<flow::Instant>(clock.at_zero()));
    for (const auto& [limit, since, much] : reply.standing) {
      if (limit < 0) continue;
      whole_.heard(static_cast<flow::LimitIndex>(limit), static_cast<flow::Instant>(since), much);
    }
  }

  /// So many used the upstream when another Redis kept its limits.
  void expect(int processes, flow::Time now) { alive_ = processes, counted_at_ = now; }

  /// Redis has told anything of it.
  bool has_told() const { return counted_at_ != kNever; }
  /// How many processes use the upstream.
  int alive() const { return alive_; }
  /// The same, taken as true for a while after it was told; 0: any process may have come since.
  int alive_lately(flow::Time now) const { return now - counted_at_ < WaitList::kInUse ? alive_ : 0; }
  /// Those that wait for the upstream's limits; where that was not told, all others.
  flow::OtherProcesses others() const { return others_.value_or(flow::OtherProcesses{.count = alive_ - 1}); }
  /// The limits in the state that all processes have brought them to, as far as Redis told.
  const flow::LimitSet& whole() const { return whole_.limits(); }
  flow::LimitIndex forbids(const flow::Load& load, std::string_view route) const { return whole_.forbids(load, route); }
  flow::Time expected(flow::Time now, flow::LaneKey lane, const flow::Load& load, std::int64_t units,
                      const flow::OtherUnits& others) const {
    return whole_.expected(now, lane, load, units, others, this->others());
  }

 private:
  static constexpr flow::Time kNever = std::numeric_limits<flow::Time>::min() / 2;
  int alive_ = 1;
  flow::Time counted_at_ = kNever;
  flow::LocalLimiter whole_;
  std::optional<flow::OtherProcesses> others_;
};

}  // namespace penstock::redis
