// SPDX-License-Identifier: Apache-2.0
// The answer of the booking script, checked: no implausible value of Redis gets into a booking. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "flow/limiter.h"
#include "redis/wire/reply.h"

namespace penstock::redis {

/// Times are in µs on the script clock.
struct BookReply {
  enum class Status : std::uint8_t { ok, stale, closed };
  struct Departure {
    std::int64_t at = 0;
    std::int64_t limit = flow::kNoLimit;  ///< the limit's number in the script
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
  std::vector<std::int64_t> permits;  ///< four numbers for each semaphore, see Semaphores::Answer
  std::vector<Departure> departures;
  int others = -1;            ///< processes that wait for the upstream's limits; negative: none
  std::int64_t had_less = 0;  ///< units that these had less than this process, in total
  struct Standing {
    std::int64_t limit = 0;            ///< the limit's number in the script
    std::int64_t since = 0, much = 0;  ///< how the limit stands, see book.lua
  };
  std::vector<Standing> standing;  ///< of the upstream's limits, over all processes
  struct Remaining {
    std::int64_t until = 0;  ///< 0: nothing is told of this limit
    std::int64_t units = 0;
  };
  std::vector<Remaining> left;     ///< of each limit, see flow::Remaining
  std::string_view others_limits;  ///< limits of a process whose limits differ; empty: none do
};

/// False: this is no valid answer to an ask for `count` departures. `into` is reused, to save allocations.
bool read_book_reply(const Reply& reply, std::size_t count, BookReply& into);

}  // namespace penstock::redis
