// SPDX-License-Identifier: Apache-2.0
// Whether the processes that share the limits of an upstream have the same. While a new configuration is being rolled
// out they do not, so that is said only when it has lasted; once, and once when it is over. Pure. For redis_booker.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "flow/limiter.h"

namespace penstock::redis {

class Agreement {
 public:
  enum class News : std::uint8_t { none, differ, agree };

  /// About once a second while the upstream is used: what another process told that has other limits; empty: none.
  News heard(flow::Time now, std::string_view other) {
    const bool was_silent = now - std::exchange(heard_at_, now) > kSilence;
    if (other.empty()) {
      since_.reset();
      return std::exchange(told_, false) ? News::agree : News::none;
    }
    if (!since_ || was_silent) since_ = now;
    if (told_ || now - *since_ < kLasts) return News::none;
    told_ = true;
    return News::differ;
  }
  /// As last said; of an upstream that is not used nothing is known.
  bool differs(flow::Time now) const { return told_ && now - heard_at_ <= kSilence; }

 private:
  static constexpr flow::Time kLasts = 10'000'000, kSilence = 4'000'000;

  std::optional<flow::Time> since_;  // when they began to differ
  flow::Time heard_at_ = 0;
  bool told_ = false;
};

}  // namespace penstock::redis
