// SPDX-License-Identifier: Apache-2.0
// Tells Redis what answers of one upstream say that it has counted: the first at once, later ones after a while, of
// each limit that alone which tells of the most in the latest window. So a call does not follow from every answer.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "flow/limiter.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "redis/limits/script_args.h"

namespace penstock::redis {

class LearnedReports {
 public:
  /// So long (µs) after something was told, nothing is.
  static constexpr flow::Time kGathered = 50'000;

  using Tell = std::function<void(std::string_view group, const ScriptArgs::Learned& learned)>;
  LearnedReports(loop::Loop& loop, Tell tell);

  /// `group` is empty where the limit is the upstream's.
  void add(std::string_view group, const ScriptArgs::Learned& learned);
  /// Forgets what is not told yet: the limits have changed.
  void clear() { held_.clear(); }

 private:
  void tell_all();

  loop::Loop& loop_;
  const Tell tell_;
  std::map<std::pair<std::string, flow::LimitIndex>, ScriptArgs::Learned> held_;
  bool waits_ = false;  // something was told lately
  loop::Timer timer_;
};

}  // namespace penstock::redis
