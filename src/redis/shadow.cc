// SPDX-License-Identifier: Apache-2.0
// Two local bookers: one for all departures, one for those that Redis does not know.
#include "redis/shadow.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "redis/share.h"

namespace penstock::redis {

using Stop = flow::Booking::Stop;

Shadow::Shadow(const std::vector<LimitConfig>& limits, flow::Instant at_zero)
    : limits_(limits), at_zero_(at_zero), all_(limits, at_zero), alone_until_(std::numeric_limits<flow::Time>::min()) {}

void Shadow::set_clock(flow::Instant at_zero) {
  at_zero_ = at_zero;
  all_.set_clock(at_zero);
  if (unknown_) unknown_->set_clock(at_zero);
}

void Shadow::give_back(flow::Time now, std::string_view group, const flow::Departure& departure) {
  all_.give_back(now, group, departure);
  if (unknown_ && granted_alone(departure.at)) unknown_->give_back(now, group, departure);
}

void Shadow::left(std::string_view group, const flow::Departure& departure, flow::Time booked, flow::Time at) {
  flow::Departure earliest = departure;
  earliest.at = booked;
  all_.left(group, earliest, at);
  if (unknown_ && granted_alone(departure.at)) unknown_->left(group, departure, at);
}

void Shadow::go_alone(int processes) {
  alone_ = true;
  processes_ = processes;
  divide();
}

void Shadow::come_back() {
  if (!alone_) return;
  alone_ = false;
  divide();
}

void Shadow::set_apart(const std::vector<Apart::One>& limits, int processes) {
  apart_.clear();
  for (const auto& one : limits) apart_.push_back(one.limit);
  processes_ = processes;
  divide();
}

void Shadow::change(const std::vector<Apart::One>& apart) {
  apart_.clear();
  for (const auto& one : apart) apart_.push_back(one.limit);
  divide();
  if (unknown_) unknown_->set_limits(limits_);
}

void Shadow::divide() {
  auto limits = shares_of(limits_, processes_);
  for (std::size_t i = 0; i < limits.size() && !alone_; ++i) {
    const bool apart = std::ranges::find(apart_, static_cast<flow::LimitIndex>(i)) != apart_.end();
    if (!apart) limits[i] = limits_[i];
  }
  all_.set_limits(std::move(limits));
}

void Shadow::answer(flow::Time now, const flow::Ask& ask, WhenDown rule, flow::Booking& booking) {
  switch (rule) {
    case WhenDown::share: all_.ask(now, ask, booking); break;
    case WhenDown::open:
      for (std::size_t i = 0; i < ask.count; ++i) {
        booking.departures.push_back({.at = now, .weight = ask.weight, .era = all_.era()});
        all_.book(now, ask.group, ask.weight, all_.era());
      }
      break;
    case WhenDown::hold:
      booking.ask_again = now + flow::kHorizon;
      booking.not_before = now;
      booking.limited_by = flow::kRedis;
      break;
    case WhenDown::refuse:
      booking.stop = Stop::unavailable;
      booking.limited_by = flow::kRedis;
      break;
  }
  for (const auto& departure : booking.departures) granted(ask, departure);
}

void Shadow::granted(const flow::Ask& ask, const flow::Departure& departure) {
  if (!unknown_) unknown_ = std::make_unique<flow::LocalBooker>(limits_, at_zero_, all_.era());
  unknown_->book(departure.at, ask.group, departure.weight, departure.era);
  alone_until_ = std::max(alone_until_, departure.at);
}

void Shadow::hand_in(const flow::LocalBooker::TellState& tell) {
  if (all_unknown_) {
    all_.states(tell);
  } else if (unknown_) {
    unknown_->states(tell);
  }
  all_unknown_ = false;
  unknown_.reset();
}

}  // namespace penstock::redis
