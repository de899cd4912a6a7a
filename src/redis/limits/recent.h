// SPDX-License-Identifier: Apache-2.0
// How many units were granted since a given script time, for a Redis that has forgotten everything after that time.
// Takes little memory: the older, the coarser. Those granted without Redis count from when Redis has heard of them.
// Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "flow/limit.h"
#include "flow/load.h"

namespace penstock::redis {

/// As many units at least as any limit counts.
inline std::int64_t largest(const flow::Load& load) { return std::max(load.weight, load.cost); }

class Recent {
 public:
  void add(flow::Time at, std::int64_t units) {
    if (count_ > 0 && at < spans_[count_ - 1].from + kShortest) {
      Span& last = spans_[count_ - 1];
      last = {last.from, std::max(last.until, at), last.units + units};
      return;
    }
    if (count_ == spans_.size()) merge(at);
    spans_[count_++] = {at, at, units};
  }

  /// So many units were granted without Redis.
  void granted_alone(std::int64_t units) { alone_ += units; }
  /// Redis is being told of them: how many these are, with those that it was told of and has not heard.
  std::int64_t tell() { return told_ += std::exchange(alone_, 0); }
  /// It has heard of all that it was told.
  void heard(flow::Time at) { add(at, std::exchange(told_, 0)); }

  /// At least the units that were granted since `moment`; at most those of that time, a third more of it and 50 ms.
  std::int64_t since(flow::Time moment) const {
    std::int64_t units = 0;
    for (std::size_t i = count_; i-- > 0 && spans_[i].until >= moment;) units += spans_[i].units;
    return units;
  }

 private:
  struct Span {
    flow::Time from = 0, until = 0;
    std::int64_t units = 0;
    Span with(const Span& next) const { return {from, next.until, units + next.units}; }
  };
  static constexpr flow::Time kShortest = 50'000;
  static constexpr flow::Time kPartOfAge = 4;  // a span is at most this fraction of its age

  /// Merges neighbours if the result is short enough for its age, and in any case makes room for one more span.
  void merge(flow::Time now) {
    std::size_t kept = 0;
    for (std::size_t i = 1; i < count_; ++i) {
      if ((spans_[i].until - spans_[kept].from) * kPartOfAge <= now - spans_[i].until) {
        spans_[kept] = spans_[kept].with(spans_[i]);
      } else {
        spans_[++kept] = spans_[i];
      }
    }
    count_ = kept + 1;
    if (count_ < spans_.size()) return;
    spans_[1] = spans_[0].with(spans_[1]);
    std::ranges::move(spans_.begin() + 1, spans_.begin() + static_cast<std::ptrdiff_t>(count_--), spans_.begin());
  }

  std::array<Span, 192> spans_;  // enough for a year
  std::size_t count_ = 0;
  std::int64_t alone_ = 0, told_ = 0;  // units granted without Redis: not told yet; told, and not heard
};

}  // namespace penstock::redis
