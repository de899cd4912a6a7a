// SPDX-License-Identifier: Apache-2.0
// The reply of the booking script, checked: no implausible value of Redis gets into a booking. It is handed once to
// each object that learns from it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "flow/limiter.h"
#include "redis/wire/reply.h"

namespace penstock::redis {

/// Times are in µs on the script clock, but for `sent` and `received`. Limits are numbers of the script until
/// name_limits() is called.
struct BookReply {
  enum class Status : std::uint8_t { ok, stale, closed };
  struct Departure {
    std::int64_t at = 0;
    std::int64_t limit = flow::kNoLimit;
  };

  std::string_view generation;
  Status status = Status::ok;
  std::int64_t now = 0;
  int alive = 0;                            ///< negative: not counted, but at least so many
  std::optional<flow::Booking::Stop> stop;  ///< nothing: all were granted
  flow::Booking::Scope scope = flow::Booking::Scope::upstream;
  std::int64_t limit = flow::kNoLimit;
  std::int64_t ask_again = 0;         ///< 0: not told
  std::int64_t not_before = 0;        ///< 0: not told
  std::vector<std::int64_t> permits;  ///< four numbers for each semaphore, see PermitReply
  std::vector<Departure> departures;
  int others = -1;            ///< processes that wait for the upstream's limits; negative: none
  std::int64_t had_less = 0;  ///< units that these had less than this process, in total
  struct Standing {
    std::int64_t limit = 0;
    std::int64_t since = 0, much = 0;  ///< how the limit stands, see book.lua
  };
  std::vector<Standing> standing;  ///< of the upstream's limits, over all processes
  struct Remaining {
    std::int64_t until = 0;  ///< 0: nothing is told of this limit
    std::int64_t units = 0;
  };
  std::vector<Remaining> left;     ///< of each limit, see flow::Remaining
  std::string_view others_limits;  ///< limits of a process whose limits differ; empty: none do
  flow::Time sent = 0;             ///< when the ask was sent, by the loop's clock; set by the caller
  flow::Time received = 0;         ///< likewise

  flow::LimitIndex limited_by() const { return static_cast<flow::LimitIndex>(limit); }
  /// Replaces the number of each limit by its place in the configuration; `places` has those of all numbers, in order.
  void name_limits(std::span<const flow::LimitIndex> places);
};

/// False: this is no valid answer to an ask for `count` departures. `into` is reused, to save allocations.
bool read_book_reply(const Reply& reply, std::size_t count, BookReply& into);

}  // namespace penstock::redis
