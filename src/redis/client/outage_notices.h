// SPDX-License-Identifier: Apache-2.0
// Tells people when Redis goes down and when it is back: one line each way, kept rare where it comes and goes. Only for
// redis.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "penstock/event.h"

namespace penstock::redis {

class OutageNotices {
 public:
  /// Redis, at `place`, counts as down from `now` on.
  OutageNotices(NoticeSink notices, std::string place, std::int64_t now);

  void down(std::int64_t now, const std::string& why);
  void up(std::int64_t now);
  /// Another notice about this Redis.
  void say(LogLevel level, const std::string& what);

 private:
  const NoticeSink notices_;
  const std::string place_;
  std::optional<std::int64_t> down_since_;
  std::optional<std::int64_t> told_down_;
  bool told_up_ = true;  // the end of that outage was reported
};

}  // namespace penstock::redis
