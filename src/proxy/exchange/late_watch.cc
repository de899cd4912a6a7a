// SPDX-License-Identifier: Apache-2.0
// See late_watch.h.
#include "proxy/exchange/late_watch.h"

#include <variant>

namespace penstock::proxy {

namespace {
flow::Time least_look_back(const std::vector<LimitConfig>& limits) {
  flow::Time least = 0;
  for (const auto& limit : limits) {
    const auto* sliding = std::get_if<SlidingWindowConfig>(&limit.kind);
    if (sliding && (least == 0 || sliding->interval.count() < least)) least = sliding->interval.count();
  }
  return least;
}
}  // namespace

LateWatch::LateWatch(loop::Loop& loop, const std::unique_ptr<flow::Limiter>& limiter,
                     const std::vector<LimitConfig>& limits)
    : limiter_(limiter),
      looks_back_(least_look_back(limits)),
      timer_(loop, [this, &loop] { count_anew(loop.now()); }) {}

void LateWatch::change(flow::Time now, const std::vector<LimitConfig>& limits) {
  looks_back_ = least_look_back(limits);
  count_anew(now);
}

void LateWatch::count_anew(flow::Time now) {
  timer_.stop();
  if (looks_back_ == 0) return;
  if (const auto next = late_.count_anew(now, looks_back_, *limiter_)) timer_.start(*next);
}

}  // namespace penstock::proxy
