// SPDX-License-Identifier: Apache-2.0
// A MasterWatch for each sentinel of a configuration: one that is cut off learns of no new master. What they refuse is
// reported for all of them at once, since most are set up alike. Only for redis.cc.
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/event.h"
#include "penstock/snapshot.h"
#include "redis/client/master_watch.h"

namespace penstock::redis {

/// Begins what our user lacks at sentinels.
inline constexpr std::string_view kOfSentinels = "sentinels: ";

class MasterWatches {
 public:
  /// As MasterWatch; without sentinels there is nothing to watch.
  MasterWatches(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
                MasterWatchEvents& events);
  MasterWatches(const MasterWatches&) = delete;
  MasterWatches& operator=(const MasterWatches&) = delete;

  std::vector<RedisNodeSnapshot> nodes() const;
  /// What our user lacks, as ACL rules behind kOfSentinels.
  std::vector<std::string> lacks() const;
  /// What has changed of what they refuse since the last call.
  std::vector<Notice> take_news();

 private:
  Refusals refused() const;

  const RedisConfig& config_;
  Refusals reported_;
  std::list<MasterWatch> all_;
};

}  // namespace penstock::redis
