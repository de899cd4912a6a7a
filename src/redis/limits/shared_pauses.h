// SPDX-License-Identifier: Apache-2.0
// Pauses that processes tell each other and that no key of Redis keeps: the process that an upstream asks for a pause
// publishes it. A process that is not connected then learns of it only when the upstream refuses its own request.
// Groups go by their hashes.
#pragma once

#include <string_view>

#include "flow/group_hash.h"
#include "flow/pauses.h"
#include "redis/limits/shared_redis.h"

namespace penstock::redis {

class SharedPauses {
 public:
  /// `upstream` is the name in every process.
  SharedPauses(SharedRedis& shared, std::string_view upstream);

  /// Puts a pause into force here; PauseMessages tells others. Empty group: the whole upstream's.
  void extend(flow::Time now, std::string_view group, flow::Time until);
  /// All end at `latest` at the latest, in this process. True: some were to end later.
  bool shorten(flow::Time latest);
  /// "pause <group's hash, or -> <microseconds> <by>", from any process, this one included. Other messages are ignored.
  void message(flow::Time now, std::string_view words);

  /// 0: never paused. May be past.
  flow::Time of_upstream() const { return whole_; }
  flow::Time of_group(std::string_view group) const;
  std::size_t groups() const { return groups_.remembered(); }
  bool none(flow::Time now) const { return whole_ <= now && groups_.count(now) == 0; }

 private:
  void remember(flow::Time now, std::string_view hash, flow::Time until);

  SharedRedis& shared_;
  const flow::GroupHash hash_;
  flow::Time whole_ = 0;
  flow::Pauses groups_;  // by group hash
};

}  // namespace penstock::redis
