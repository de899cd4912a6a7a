// SPDX-License-Identifier: Apache-2.0
// The pauses of one upstream that Redis keeps, as this process knows them: it tells Redis of those that the upstream
// asked it for, also later and once more where Redis was away or has forgotten them. For shared_limiter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "flow/limiter.h"
#include "flow/pauses.h"
#include "redis/limits/semaphores.h"
#include "redis/limits/shadow.h"
#include "redis/limits/upstream_calls.h"

namespace penstock::redis {

class UpstreamPauses {
 public:
  static constexpr std::string_view kMessage = "paused";  ///< begins what other processes tell

  /// All must outlive this.
  UpstreamPauses(UpstreamCalls& calls, Shadow& shadow, const Semaphores& semaphores);

  /// The upstream asked this process for a pause. Empty group: of every lane.
  void begin(flow::Time now, std::string_view group, flow::Time until);
  /// Redis told a pause that another process began. The reply does not say whose pause it is: even one of the whole
  /// upstream is noted for this group only.
  void learn(flow::Time now, std::string_view group, flow::Time until);
  /// All end at `latest` at the latest, in Redis, too. True: some were to end later.
  bool shorten(flow::Time latest);
  /// Some lane is paused for so long, as other processes or Redis say.
  void some_lane(flow::Time length);
  /// The same in a message: " <microseconds>".
  void message(std::string_view words);
  /// Tells Redis of the pauses that it was not told of; of all, since it has lost them.
  void tell_unsent();
  void tell_all();

  /// Some lane may be paused: Redis is to be asked.
  bool may_hold(flow::Time now) const { return now < until_; }
  bool none(flow::Time now) const { return learned_.count(now) == 0; }

 private:
  void tell(flow::Time now, std::string_view group, flow::Time until);

  UpstreamCalls& calls_;
  Shadow& shadow_;
  const Semaphores& semaphores_;
  flow::Pauses unsent_;   // by group
  flow::Pauses learned_;  // all that are known
  flow::Time until_ = 0;  // the end of the last of all processes' pauses
};

}  // namespace penstock::redis
