// SPDX-License-Identifier: Apache-2.0
// Slots of keys of ours that no node of a cluster has, and what is to be reported of them: when there are any, and
// when there are none any more. Pure. Only for cluster.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "redis/wire/slot_map.h"

namespace penstock::redis {

/// A slot that was not asked for in this time is not used any more (µs).
inline constexpr std::int64_t kSlotIdleTimeout = 60'000'000;

class UnservedSlots {
 public:
  /// A key of the slot was asked for, and no node has it. True: that is new.
  bool asked(Slot slot, std::int64_t now) {
    const auto [known, is_new] = asked_.try_emplace(slot, now);
    known->second = now;
    return is_new;
  }
  /// Drops those that a node has by now, and those that nothing has asked for in a while.
  void forget(const SlotMap& map, std::int64_t now) {
    std::erase_if(asked_,
                  [&](const auto& one) { return map.owner(one.first) || now - one.second >= kSlotIdleTimeout; });
  }
  bool none() const { return asked_.empty(); }

  struct News {
    std::optional<Slot> first;  ///< nothing: there are none any more
    bool with_notice = false;   ///< people are to be told, which is rare where slots come and go
  };
  /// What has changed since the last call; nothing: whether there are any has not.
  std::optional<News> take_news(std::int64_t now) {
    if (std::exchange(reported_, !none()) == !none()) return std::nullopt;
    if (none()) return News{.first = {}, .with_notice = std::exchange(notice_is_open_, false)};
    if (!noticed_at_ || now - *noticed_at_ >= kBetweenNotices) noticed_at_ = now, notice_is_open_ = true;
    return News{.first = asked_.begin()->first, .with_notice = notice_is_open_};
  }

 private:
  static constexpr std::int64_t kBetweenNotices = 10'000'000;

  std::map<Slot, std::int64_t> asked_;  // when, last
  bool reported_ = false, notice_is_open_ = false;
  std::optional<std::int64_t> noticed_at_;
};

}  // namespace penstock::redis
