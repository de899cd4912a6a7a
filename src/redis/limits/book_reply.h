// SPDX-License-Identifier: Apache-2.0
// What the booking script answers, checked: nothing that a Redis could say makes it into a booking unseen. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "flow/limiter.h"
#include "redis/wire/reply.h"

namespace penstock::redis {

/// Moments are on the script clock.
struct BookReply {
  enum class Status : std::uint8_t { ok, stale, closed };
  struct Departure {
    std::int64_t at = 0;
    std::int64_t limit = flow::kNoLimit;  ///< its number in the script
  };

  std::string_view generation;
  Status status = Status::ok;
  std::int64_t now = 0;
  int alive = 0;                            ///< negative: nobody counted, but there are so many at least
  std::optional<flow::Booking::Stop> stop;  ///< nothing: all were granted
  flow::Booking::Scope scope = flow::Booking::Scope::upstream;
  std::int64_t limit = flow::kNoLimit;
  std::int64_t ask_again = 0;         ///< 0: it does not say
  std::int64_t not_before = 0;        ///< 0: it does not say
  std::vector<std::int64_t> permits;  ///< of each semaphore: granted in total, and lost
  std::vector<Departure> departures;
  int others = -1;            ///< that wait for the upstream's limits; negative: nobody waits
  std::int64_t had_less = 0;  ///< these, all together, than oneself
  struct Standing {
    std::int64_t limit = 0;            ///< its number in the script
    std::int64_t since = 0, much = 0;  ///< how it stands, see book.lua
  };
  std::vector<Standing> standing;  ///< of these limits, with all that share them
  struct Remaining {
    std::int64_t until = 0;  ///< 0: nothing is told of this one
    std::int64_t units = 0;
  };
  std::vector<Remaining> left;     ///< of each limit, see flow::Remaining
  std::string_view others_limits;  ///< what another process told of its limits, where these differ; empty: none does
};

/// False: this is no such answer to an ask for `count` departures. `into` is used again and again, for its memory.
bool read_book_reply(const Reply& reply, std::size_t count, BookReply& into);

}  // namespace penstock::redis
