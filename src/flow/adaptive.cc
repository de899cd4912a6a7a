// SPDX-License-Identifier: Apache-2.0
// The rate grows only with the time in which departures are held back by this limit: an unused rate proves nothing.
#include "flow/adaptive.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace penstock::flow {

namespace {

constexpr double kLeft = 0.7;      // RFC 9438, section 4.6: the part of the rate that a refusal leaves
constexpr double kCurve = 0.4;     // section 4.1: C, here in units a second for each cube of a second
constexpr double kPlateau = 0.93;  // ours: the part of the refused rate at which the curve is flat
constexpr double kMostMore = 1.5;  // section 4.2: the most by which one step of growth multiplies the rate
constexpr double kDoubling = 0.69314718055994529;  // ln 2: before the first refusal the rate doubles each second
/// A departure that leaves at most this long (us) after the free moment has waited for it.
constexpr Instant kWaited = kGuard;
/// After a refusal nothing leaves for so long (us): the upstream's count is full, and a second refusal would follow.
constexpr Instant kSettles = 50'000;
/// After so long (us) without a departure the upstream may allow another rate: it is learned anew.
constexpr Instant kRemembered = 600e6;

}  // namespace

double Adaptive::rate() const { return std::min(config_.max, std::max(config_.min, rate_)); }

void Adaptive::commit(Instant at, int weight) {
  if (at >= free_ + kRemembered) rate_ = peak_ = reaches_peak_ = grown_ = 0, cut_ = kAlways;
  rate_ = rate();
  if (last_ != kAlways && at > last_ && at <= free_ + kWaited) grow((at - last_) / 1'000'000);
  last_ = std::max(last_, at);
  free_ = last_ + weight * 1'000'000.0 / rate_;
}

void Adaptive::grow(double seconds) {
  if (rate_ >= config_.max) return;
  double to = rate_ + kDoubling * rate_ * seconds;
  if (peak_ > 0) {
    grown_ += seconds;
    const double off = grown_ - reaches_peak_;
    to = std::min(kMostMore * rate_, peak_ + kCurve * off * off * off);
  }
  rate_ = std::min(config_.max, std::max(rate_, to));
}

// Only the newest departure is taken back. Its time is free again, and does not count for growth once more.
void Adaptive::give_back(Instant at, int) {
  if (rounded_up(last_) == at) free_ = last_;
}

// One decrease answers all refusals of requests that left before it, or were booked before: they are of the rate that
// was found too high. CUBIC returns to the rate that was refused and stays there; a limiter that knows it to be refused
// stays a little below it, and is refused less often.
void Adaptive::refused(Instant now, Instant departed) {
  if (last_ == kAlways || departed < cut_ + 1 || now >= free_ + kRemembered) return;
  const double refused = rate();
  rate_ = std::max(config_.min, kLeft * refused);
  peak_ = std::max(rate_, kPlateau * refused);
  reaches_peak_ = std::pow((peak_ - rate_) / kCurve, 1.0 / 3);
  grown_ = 0;
  cut_ = std::max(now, last_);
  free_ = std::max(now, free_) + kSettles;
}

Instant Adaptive::frontier_behind(Instant now, std::int64_t units, int weight) const {
  return std::max(now, free_) + static_cast<double>(units + weight - 1) * 1'000'000 / rate();
}

void Adaptive::heard(Instant free, std::int64_t millionths) {
  rate_ = static_cast<double>(millionths) / 1'000'000;
  free_ = free;
  last_ = free - 1'000'000 / rate();
}

void Adaptive::go_on_from(const Adaptive& all) {
  if (all.last_ == kAlways) return;
  rate_ = all.rate_;
  free_ = std::max(free_, all.free_), last_ = std::max(last_, all.last_);
}

double Adaptive::passes() const { return rate() / 1'000'000; }

double Adaptive::room(Instant now, Instant till) const {
  const Instant from = std::max(now, free_);
  return from > till ? 0 : (till - from) * passes() + 1;
}

Instant Adaptive::forgettable_at() const { return free_ + kRemembered; }

void Adaptive::begin(double rate, Instant free) { rate_ = peak_ = rate, free_ = last_ = free; }

std::string Adaptive::state() const {
  char text[192];
  std::snprintf(text, sizeof text, "1r %.4f %.4f %.4f %.17g %.17g %.17g %.17g", free_, last_, std::max(0.0, cut_),
                rate_, peak_, reaches_peak_, grown_);
  return last_ == kAlways ? "" : text;
}

}  // namespace penstock::flow
