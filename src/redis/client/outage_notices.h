// SPDX-License-Identifier: Apache-2.0
// Reports when Redis goes down and when it is back: one line each way, and one more where the reason changes: at once
// where that is another cause, later where it is a sequel, such as a refused connection while Redis starts again. Kept
// rare where it comes and goes. Only for redis.cc and cluster.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "penstock/event.h"
#include "redis/wire/failure.h"

namespace penstock::redis {

class OutageNotices {
 public:
  /// Redis, at `place`, counts as down from `now` on.
  OutageNotices(NoticeSink notices, std::string place, std::int64_t now);

  void down(std::int64_t now, const Failure& why);
  void up(std::int64_t now);
  /// Nothing more is reported of it: an outage that was reported ends with this.
  void no_longer_needed();
  /// Another notice about this Redis.
  void say(LogLevel level, const std::string& what);

 private:
  struct Reason {
    std::string cause;
    std::int64_t at;  // when it was reported
  };

  bool is_due(std::int64_t now, const Failure& why) const;

  const NoticeSink notices_;
  const std::string place_;
  std::optional<std::int64_t> down_since_;
  std::optional<std::int64_t> last_reported_;
  std::vector<Reason> reasons_;  // for this outage, and for others within the last minute
  bool end_reported_ = true;     // the end of that outage was reported
};

}  // namespace penstock::redis
