// SPDX-License-Identifier: Apache-2.0
// How far this process has gone in the memory of the server that keeps an upstream's limits: the generation that it
// knows, the latest script time that it was told, and whether that server has heard of both. For upstream_calls.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "redis/limits/book_reply.h"
#include "redis/limits/shared_redis.h"
#include "redis/wire/dialer.h"
#include "redis/wire/slot_map.h"

namespace penstock::redis {

class KnownMemory {
 public:
  /// `slot` is that of the upstream's keys; `shared` must outlive this.
  KnownMemory(SharedRedis& shared, Slot slot) : shared_(shared), slot_(slot) { meet(); }

  /// Empty: not known.
  const std::string& generation() const { return generation_; }
  void enter(std::string_view generation) { generation_ = generation; }
  /// Another limiter of this process has gone that far in the memory of this Redis.
  void resume(std::string_view generation, std::int64_t latest) { generation_ = generation, latest_ = latest; }
  std::int64_t latest() const { return latest_; }

  /// The id of the server that keeps the upstream's keys; empty: not known.
  std::string_view server_now() const {
    const Redis* const its = shared_.servers().find_server(slot_);
    return its ? its->server_id() : std::string_view();
  }
  /// That of the last that did, where none is known now.
  std::string_view server() const {
    const auto now = server_now();
    return now.empty() ? std::string_view(met_) : now;
  }
  /// This may be another Redis, or know less than before. So the next ask tells the latest script time that this
  /// process was told, before anything else is said.
  void meet_anew() {
    has_met_ = has_said_since_ = false;
    meet();
  }
  /// The upstream's keys are on another server than when this process last had to meet_anew(). Of a cluster. Servers
  /// that tell no id are told apart by their places.
  bool is_elsewhere() const {
    const auto now = server_now();
    return now != met_ || (now.empty() && place_now() != met_at_);
  }
  /// To be called with each reply to an ask.
  void on_reply(const BookReply& reply) {
    const bool closed = reply.status == BookReply::Status::closed;
    has_met_ |= !closed;
    has_said_since_ &= !closed;
    if (reply.status == BookReply::Status::ok) latest_ = std::max(latest_, reply.now);
  }

  /// For the next ask: the latest script time, if the server is to be told; otherwise 0.
  std::int64_t time_to_tell() const { return has_met_ ? 0 : latest_; }
  /// Likewise the mark which says that this process went by its part of each limit meanwhile, see begin.lua. It is told
  /// once.
  std::string_view mark_to_tell(bool has_unknown) {
    if (has_met_ || std::exchange(has_said_since_, true)) return "";
    return has_unknown ? "+" : "s";
  }

 private:
  void meet() { met_ = server_now(), met_at_ = place_now(); }
  Place place_now() const {
    const Redis* const its = shared_.servers().find_server(slot_);
    return its ? its->place() : Place();
  }

  SharedRedis& shared_;
  const Slot slot_;
  std::string generation_;
  std::int64_t latest_ = 0;     // which Redis keeps, too
  bool has_met_ = true;         // the server has heard of `latest_`
  bool has_said_since_ = true;  // and that this process was away
  std::string met_;             // the id of that server
  Place met_at_;                // where it is
};

}  // namespace penstock::redis
