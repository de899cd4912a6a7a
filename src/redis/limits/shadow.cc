// SPDX-License-Identifier: Apache-2.0
// A LocalLimiter with all departures, whose limits are divided while the process is alone.
#include "redis/limits/shadow.h"

#include <algorithm>
#include <utility>

#include "flow/limit_remap.h"
#include "flow/part_of_limit.h"
#include "redis/limits/divide_limits.h"

namespace penstock::redis {

using Stop = flow::Booking::Stop;

namespace {
/// What it had before is not new.
std::unique_ptr<flow::LocalLimiter> with_limits(std::unique_ptr<flow::LocalLimiter> memory,
                                                const std::vector<LimitConfig>& limits, flow::Instant at_zero) {
  memory->correct_clock(at_zero);
  memory->set_limits(limits);
  return memory;
}
}  // namespace

Shadow::Shadow(const std::vector<LimitConfig>& limits, flow::Instant at_zero,
               std::unique_ptr<flow::LocalLimiter> memory)
    : limits_(&limits),
      at_zero_(at_zero),
      all_(memory ? with_limits(std::move(memory), limits, at_zero)
                  : std::make_unique<flow::LocalLimiter>(limits, at_zero)),
      untold_(limits, *all_) {
  for (const auto& limit : limits) parts_.push_back(std::make_shared<LimitConfig>(limit));
}

void Shadow::refer_to(flow::Time now, const std::vector<LimitConfig>& limits) {
  limits_ = &limits;
  untold_.refer_to(limits);
  change(now, {});
}

/// Its owner, which has the limits that it refers to, may be gone.
std::unique_ptr<flow::LocalLimiter> Shadow::release(flow::Time now) {
  const flow::Instant at = at_zero_ + static_cast<flow::Instant>(now);
  all_->exchange([at](flow::LimitIndex, std::unique_ptr<flow::Limit> known, flow::Remaining& left) {
    auto* const part = dynamic_cast<flow::PartOfLimit*>(known.get());
    if (!part) return known;
    left = part->left_alone(at, left);
    return part->release();
  });
  all_->exchange([](flow::LimitIndex, std::unique_ptr<flow::Limit> known, flow::Remaining&) { return known; });
  return std::move(all_);
}

/// Until Redis' clock is known, times are by this machine's clock, which may be wrong.
void Shadow::set_clock(flow::Instant at_zero) {
  const bool is_first = !std::exchange(knows_clock_, true);
  at_zero_ = at_zero;
  const auto set = [=](flow::LocalLimiter& memory) {
    is_first ? memory.correct_clock(at_zero) : memory.set_clock(at_zero);
  };
  set(*all_);
  untold_.each(set);
}

void Shadow::book(flow::LaneKey lane, flow::Departure& departure) {
  all_->book(departure.at, lane, departure.load(), departure.epoch);
  remember(departure);
}

void Shadow::remember(flow::Departure& departure) const { departure.in_memory = remembered(departure.at).in_memory; }

/// The departure at the time at which it is remembered, whatever was learned of the clock since.
flow::Departure Shadow::as_remembered(flow::Departure departure) const {
  departure.at = recalled({departure.at, departure.in_memory});
  return departure;
}

void Shadow::give_back(flow::Time now, flow::LaneKey lane, const flow::Departure& departure) {
  const flow::Departure booked = as_remembered(departure);
  all_->give_back(now, lane, booked);
  untold_.each_of(departure, [&](flow::LocalLimiter& untold) { untold.give_back(now, lane, booked); });
}

bool Shadow::settle(flow::Time now, flow::LaneKey lane, const flow::Departure& departure, int cost) {
  const flow::Departure booked = as_remembered(departure);
  untold_.each_of(departure, [&](flow::LocalLimiter& untold) { untold.settle(now, lane, booked, cost); });
  return all_->settle(now, lane, booked, cost);
}

void Shadow::refused(flow::Time now, flow::LaneKey lane, const flow::Departure& departure) {
  all_->refused(now, lane, as_remembered(departure));
}

void Shadow::learned(flow::Time now, flow::LaneKey lane, const flow::Departure& departure, const flow::Report& report) {
  all_->learned(now, lane, as_remembered(departure), report);
}

flow::Departure Shadow::report_late(flow::LaneKey lane, flow::Departure departure, flow::Time at) {
  const flow::Departure booked = as_remembered(departure);
  all_->report_late(lane, booked, at);
  untold_.each_of(departure, [&](flow::LocalLimiter& untold) { untold.report_late(lane, booked, at); });
  departure.late += at - departure.at;
  departure.at = at;
  remember(departure);
  return departure;
}

void Shadow::note_left(std::string_view group, flow::LimitIndex limit, const flow::Remaining& left) {
  all_->note_left(limit, group, left);
}

void Shadow::note_taken(std::string_view group, flow::LimitIndex limit, std::int64_t units) {
  if (flow::Remaining* const left = all_->left_of(limit, group)) left->units -= units;
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

void Shadow::divide_some(flow::Time now, std::vector<flow::LimitIndex> limits, int processes) {
  by_part_ = std::move(limits);
  processes_ = processes;
  divide(now);
}

void Shadow::change(flow::Time now, std::vector<flow::LimitIndex> by_part) {
  all_->set_limits(*limits_, now);
  const auto known = std::exchange(parts_, {});
  for (const auto& limit : *limits_) {
    const auto same = std::ranges::find_if(known, [&](const auto& part) { return flow::same_limit(*part, limit); });
    parts_.push_back(same != known.end() ? *same : std::make_shared<LimitConfig>(limit));
  }
  by_part_ = std::move(by_part);
  divide(now);
  untold_.each([this, now](flow::LocalLimiter& untold) { untold.set_limits(*limits_, now); });
}

bool Shadow::by_part(flow::LimitIndex limit) const {
  const bool divided = alone_ || std::ranges::find(by_part_, limit) != by_part_.end();
  return (*limits_)[static_cast<std::size_t>(limit)].shared && divided;
}

void Shadow::divide(flow::Time now) {
  auto parts = shares_of(*limits_, processes_);
  for (std::size_t i = 0; i < parts.size(); ++i) *parts_[i] = std::move(parts[i]);
  const flow::Instant at = at_zero_ + static_cast<flow::Instant>(now);
  all_->exchange([this, at](flow::LimitIndex limit, std::unique_ptr<flow::Limit> known, flow::Remaining& left) {
    auto* const part = dynamic_cast<flow::PartOfLimit*>(known.get());
    if (by_part(limit) == (part != nullptr)) return known;
    if (!part) {
      const LimitConfig& its = *parts_[static_cast<std::size_t>(limit)];
      known = std::make_unique<flow::PartOfLimit>(std::move(known), its.kind, left, processes_, at, !its.unit.empty());
    } else {
      left = part->left_alone(at, left);
      known = part->release();
    }
    return known;
  });
}

void Shadow::answer(flow::Time now, const flow::Ask& ask, WhenDown rule, flow::Booking& booking) {
  switch (rule) {
    case WhenDown::share: all_->ask(now, ask, booking); break;
    case WhenDown::open:
      for (std::size_t i = 0; i < ask.count; ++i) {
        booking.departures.push_back(
            {.at = now, .weight = ask.weight, .epoch = all_->epoch(), .cost = ask.cost, .unlimited = true});
        all_->book(now, ask.lane(), ask.load(), all_->epoch(), flow::LocalLimiter::Excess::is_dropped);
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
    untold_.granted(ask.lane(), departure, at_zero_, rule == WhenDown::open);
    recent_.granted_alone(largest(departure.load()));
  }
}

}  // namespace penstock::redis
