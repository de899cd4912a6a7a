// SPDX-License-Identifier: Apache-2.0
// What is granted while it is told is kept apart: it was not told, if the rest is heard.
#include "redis/limits/untold.h"

#include <algorithm>
#include <utility>

namespace penstock::redis {

void Untold::granted(flow::LaneKey lane, const flow::Departure& departure, flow::Instant at_zero, bool unlimited) {
  using Excess = flow::LocalLimiter::Excess;
  const Excess excess = unlimited ? Excess::is_dropped : Excess::is_debt;
  granted_until_ = std::max(granted_until_, departure.at);
  for (auto* untold : {&unknown_, told_ != 0 ? &later_ : nullptr}) {
    if (!untold) continue;
    if (!*untold) *untold = std::make_unique<flow::LocalLimiter>(*limits_, at_zero, all_.epoch());
    (*untold)->book(departure.at, lane, departure.load(), departure.epoch, excess);
  }
}

/// What the process has taken of a limit that it kept by its part, if it did.
std::string Untold::taken_or(flow::LimitIndex limit, std::string_view group, const std::string& known) const {
  std::string taken = all_.limits().limit(limit, group).taken();
  return taken.empty() ? known : taken;
}

std::uint64_t Untold::tell(const Tell& tell) {
  if (const flow::LocalLimiter* untold = all_unknown_ ? &all_ : unknown_.get()) {
    untold->states([&](flow::LimitIndex limit, std::string_view group, const std::string& state) {
      const auto& kind = (*limits_)[static_cast<std::size_t>(limit)].kind;
      const bool is_latest = std::holds_alternative<PacerConfig>(kind) || std::holds_alternative<AdaptiveConfig>(kind);
      if (!all_unknown_) {
        tell(limit, group, is_latest ? all_.limits().limit(limit, group).state() : taken_or(limit, group, state), {});
      } else {
        tell(limit, group, state,
             unknown_ ? taken_or(limit, group, unknown_->limits().limit(limit, group).state()) : std::string());
      }
    });
  }
  told_all_ = std::exchange(all_unknown_, false);
  told_until_ = granted_until_;
  later_ = nullptr;
  return told_ = ++tellings_;
}

bool Untold::told(std::uint64_t telling, bool heard) {
  if (telling != told_) return false;
  told_ = 0;
  if (heard) unknown_ = std::exchange(later_, nullptr);
  later_ = nullptr;
  all_unknown_ |= told_all_ && !heard;
  return true;
}

}  // namespace penstock::redis
