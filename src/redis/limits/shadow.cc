// SPDX-License-Identifier: Apache-2.0
// LocalLimiters: one for all departures, others for those that Redis does not know.
#include "redis/limits/shadow.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "flow/limit_remap.h"
#include "flow/part_of_limit.h"
#include "redis/limits/divide_limits.h"

namespace penstock::redis {

using Stop = flow::Booking::Stop;

Shadow::Shadow(const std::vector<LimitConfig>& limits, flow::Instant at_zero)
    : limits_(limits), at_zero_(at_zero), all_(limits, at_zero), alone_until_(std::numeric_limits<flow::Time>::min()) {
  for (const auto& limit : limits_) parts_.push_back(std::make_shared<LimitConfig>(limit));
}

/// Until Redis' clock is known, times are by this machine's clock, which may be wrong.
void Shadow::set_clock(flow::Instant at_zero) {
  const bool is_first = !std::exchange(knows_clock_, true);
  at_zero_ = at_zero;
  for (auto* each : {&all_, unknown_.get(), later_.get()}) {
    if (each) is_first ? each->correct_clock(at_zero) : each->set_clock(at_zero);
  }
}

/// Calls `use` for the limiters that hold a departure granted alone.
template <typename Use>
void Shadow::each_untold(const flow::Departure& departure, Use use) {
  if (departure.in_redis != 0) return;
  if (unknown_) use(*unknown_);
  if (later_ && departure.at > told_until_) use(*later_);
}

void Shadow::book(std::string_view group, flow::Departure& departure) {
  all_.book(departure.at, group, departure.weight, departure.epoch);
  remember(departure);
}

void Shadow::remember(flow::Departure& departure) const { departure.in_memory = remembered(departure.at).in_memory; }

/// The departure at the time at which it is remembered, whatever was learned of the clock since.
flow::Departure Shadow::as_remembered(flow::Departure departure) const {
  departure.at = recalled({departure.at, departure.in_memory});
  return departure;
}

void Shadow::give_back(flow::Time now, std::string_view group, const flow::Departure& departure) {
  const flow::Departure booked = as_remembered(departure);
  all_.give_back(now, group, booked);
  each_untold(departure, [&](flow::LocalLimiter& untold) { untold.give_back(now, group, booked); });
}

flow::Departure Shadow::report_late(std::string_view group, flow::Departure departure, flow::Time at) {
  const flow::Departure booked = as_remembered(departure);
  all_.report_late(group, booked, at);
  each_untold(departure, [&](flow::LocalLimiter& untold) { untold.report_late(group, booked, at); });
  departure.at = at;
  remember(departure);
  return departure;
}

void Shadow::note_left(std::string_view group, flow::LimitIndex limit, const flow::Remaining& left) {
  all_.note_left(limit, group, left);
}

void Shadow::note_taken(std::string_view group, flow::LimitIndex limit, std::int64_t units) {
  if (flow::Remaining* const left = all_.left_of(limit, group)) left->units -= units;
}

void Shadow::go_alone(flow::Time now, int processes) {
  alone_ = true;
  processes_ = processes;
  divide(now);
}

void Shadow::come_back(flow::Time now) {
  if (!alone_) return;
  alone_ = false;
  divide(now);
}

void Shadow::quarantine(flow::Time now, const std::vector<Quarantine::Part>& limits, int processes) {
  quarantine_.clear();
  for (const auto& one : limits) quarantine_.push_back(one.limit);
  processes_ = processes;
  divide(now);
}

void Shadow::change(flow::Time now, const std::vector<Quarantine::Part>& apart) {
  all_.set_limits(limits_);
  const auto known = std::exchange(parts_, {});
  for (const auto& limit : limits_) {
    const auto same = std::ranges::find_if(known, [&](const auto& part) { return flow::same_limit(*part, limit); });
    parts_.push_back(same != known.end() ? *same : std::make_shared<LimitConfig>(limit));
  }
  quarantine_.clear();
  for (const auto& one : apart) quarantine_.push_back(one.limit);
  divide(now);
  for (auto* each : {unknown_.get(), later_.get()}) {
    if (each) each->set_limits(limits_);
  }
}

bool Shadow::by_part(flow::LimitIndex limit) const {
  const bool apart = std::ranges::find(quarantine_, limit) != quarantine_.end();
  return limits_[static_cast<std::size_t>(limit)].shared && (alone_ || apart);
}

void Shadow::divide(flow::Time now) {
  auto parts = shares_of(limits_, processes_);
  for (std::size_t i = 0; i < parts.size(); ++i) *parts_[i] = std::move(parts[i]);
  const flow::Instant at = at_zero_ + static_cast<flow::Instant>(now);
  all_.exchange([this, at](flow::LimitIndex limit, std::unique_ptr<flow::Limit> known, flow::Remaining& left) {
    auto* const part = dynamic_cast<flow::PartOfLimit*>(known.get());
    if (by_part(limit) == (part != nullptr)) return known;
    if (!part) {
      const auto& kind = parts_[static_cast<std::size_t>(limit)]->kind;
      known = std::make_unique<flow::PartOfLimit>(std::move(known), kind, left, processes_, at);
    } else {
      left = part->left_alone(at);
      known = part->release();
    }
    return known;
  });
}

void Shadow::answer(flow::Time now, const flow::Ask& ask, WhenDown rule, flow::Booking& booking) {
  switch (rule) {
    case WhenDown::share: all_.ask(now, ask, booking); break;
    case WhenDown::open:
      for (std::size_t i = 0; i < ask.count; ++i) {
        booking.departures.push_back({.at = now, .weight = ask.weight, .epoch = all_.epoch()});
        all_.book_unlimited(now, ask.group, ask.weight, all_.epoch());
      }
      break;
    case WhenDown::wait:
      booking.ask_again = now + flow::kHorizon;
      booking.not_before = now;
      booking.limited_by = flow::kRedis;
      break;
    case WhenDown::refuse:
      booking.stop = Stop::unavailable;
      booking.limited_by = flow::kRedis;
      break;
  }
  for (auto& departure : booking.departures) {
    remember(departure);
    granted(ask, departure, rule == WhenDown::open);
  }
}

void Shadow::granted(const flow::Ask& ask, const flow::Departure& departure, bool unlimited) {
  alone_until_ = std::max(alone_until_, departure.at);
  for (auto* untold : {&unknown_, told_ != 0 ? &later_ : nullptr}) {
    if (!untold) continue;
    if (!*untold) *untold = std::make_unique<flow::LocalLimiter>(limits_, at_zero_, all_.epoch());
    if (unlimited) {
      (*untold)->book_unlimited(departure.at, ask.group, departure.weight, departure.epoch);
    } else {
      (*untold)->book(departure.at, ask.group, departure.weight, departure.epoch);
    }
  }
}

std::uint64_t Shadow::replay(const Tell& tell) {
  const flow::LocalLimiter* told = all_unknown_ ? &all_ : unknown_.get();
  const auto taken_or = [this](flow::LimitIndex limit, std::string_view group, const std::string& known) {
    const std::string taken = all_.taken(limit, group);
    return taken.empty() ? known : taken;
  };
  if (told) {
    told->states([&](flow::LimitIndex limit, std::string_view group, const std::string& state) {
      const bool is_latest = std::holds_alternative<PacerConfig>(limits_[static_cast<std::size_t>(limit)].kind);
      if (!all_unknown_) {
        tell(limit, group, is_latest ? all_.state(limit, group) : taken_or(limit, group, state), {});
      } else {
        tell(limit, group, state, unknown_ ? taken_or(limit, group, unknown_->state(limit, group)) : std::string());
      }
    });
  }
  told_all_ = std::exchange(all_unknown_, false);
  told_until_ = alone_until_;
  later_ = nullptr;
  return told_ = ++tellings_;
}

bool Shadow::replayed(std::uint64_t telling, bool heard) {
  if (telling != told_) return false;
  told_ = 0;
  if (heard) unknown_ = std::exchange(later_, nullptr);
  later_ = nullptr;
  all_unknown_ |= told_all_ && !heard;
  return true;
}

}  // namespace penstock::redis
