// SPDX-License-Identifier: Apache-2.0
// Whether the processes that share an upstream's limits have the same limits. They differ while a new configuration is
// rolled out, so a difference is reported only when it has lasted; once, and once when it is over. Pure. For
// shared_limiter.
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

  /// To be called about once a second while the upstream is used. `other`: the limits reported by a process that has
  /// other ones; empty: no process does.
  News update(flow::Time now, std::string_view other) {
    const bool was_silent = now - std::exchange(updated_at_, now) > kSilence;
    if (other.empty()) {
      since_.reset();
      return std::exchange(reported_, false) ? News::agree : News::none;
    }
    if (!since_ || was_silent) since_ = now;
    if (reported_ || now - *since_ < kLasts) return News::none;
    reported_ = true;
    return News::differ;
  }
  /// As last reported. Of an upstream that is not used nothing is known, hence false.
  bool differs(flow::Time now) const { return reported_ && now - updated_at_ <= kSilence; }

 private:
  static constexpr flow::Time kLasts = 10'000'000, kSilence = 4'000'000;

  std::optional<flow::Time> since_;  // when the limits began to differ
  flow::Time updated_at_ = 0;
  bool reported_ = false;
};

}  // namespace penstock::redis
