// SPDX-License-Identifier: Apache-2.0
// Closed, probed, opened: what each refusal and each answer changes.
#include "flow/gate.h"

#include <utility>

namespace penstock::flow {

namespace {
constexpr Time kFirstPause = 1'000'000;
constexpr int kMostDoublings = 20;      // beyond any maxPause
constexpr Time kIsSentIn = 100'000;     // looks again whether a request was sent
constexpr Time kProlongedIn = 400'000;  // before it ends; a probe that is sent at once proves something before that
}  // namespace

/// While a pause that others do not have is not proven over, no other pause makes them know of it.
void Gate::close(Time until, std::uint32_t since, bool alone) {
  alone_ = alone || (alone_ && !opened());
  until_ = std::max(until_, until);
  since_ = since;
  state_ = State::closed;
  elsewhere_ = false;
  right_ = Right::none;
  right_changes_ = 0;
  allowance_ = 0;
  flying_.clear();
}

/// Of requests that were in flight together, each refusal means the same: only one that passed the gate says that the
/// pause was too short.
Time Gate::usual_pause(Time now, std::optional<std::uint32_t> refused) {
  const bool first = refusals_ == 0, too_short = refused && flies(*refused);
  if ((first || too_short) && refusals_ <= kMostDoublings) ++refusals_;
  return now + (kFirstPause << (refusals_ - 1));
}

std::size_t Gate::allowance(Time now) {
  if (now < until_) return 0;
  prove_by_time(now);
  if (!opened() && right_ == Right::held && now >= right_changes_) right_ = Right::none, allowance_ = 0;
  return allowance_;
}

Time Gate::again(Time now) const {
  if (now < until_) return until_;
  if (flying_.empty()) return std::max(now + kRightIsAnsweredIn, right_changes_);
  Time next = kNever;
  for (const Flight& flight : flying_) {
    next = std::min(next, flight.left ? *flight.left + kProof : now + kIsSentIn);
  }
  return std::max(now + 1, next);
}

/// Closed, it lets one pass; then two for each that passed or is on its way. So the number of a round is twice that of
/// the one before.
int Gate::rounds_until(std::size_t before) const {
  constexpr int kMostRounds = 40;
  const bool sends_probe = !opened() && flying_.empty();
  std::size_t may_pass = sends_probe ? 1 : allowance_, next = 2 * (flying_.size() + may_pass);
  if (done() || next == 0) return 0;
  int rounds = 0;
  for (; before >= may_pass && rounds < kMostRounds; ++rounds, next *= 2) may_pass += next;
  return rounds;
}

bool Gate::wants_probe(Time now) {
  if (now < until_ || opened() || right_ == Right::held || now < right_changes_) return false;
  right_ = Right::asked;
  right_changes_ = now + kRightIsAnsweredIn;
  return true;
}

bool Gate::wants_more_time(Time now) {
  if (alone_ || !probes() || flying_.empty() || now < prolong_at_) return false;
  prolong_at_ = now + kRightIsAnsweredIn;
  return true;
}

void Gate::may_probe(bool may, Time until) {
  if (opened() || right_ == Right::none) return;
  const bool held = std::exchange(right_, may ? Right::held : Right::none) == Right::held;
  right_changes_ = held && may ? std::max(right_changes_, until) : until;
  prolong_at_ = right_changes_ - kProlongedIn;
  elsewhere_ = !may;
  if (!may) allowance_ = 0;
  if (may && !held) allowance_ = flying_.empty() ? 1 : 0;
}

Time Gate::tend_at() const {
  if (opened() || flying_.empty()) return kNever;
  Time next = probes() && !alone_ ? prolong_at_ : kNever;
  for (const Flight& flight : flying_) {
    if (flight.left) next = std::min(next, *flight.left + kProof);
  }
  return next;
}

void Gate::open() {
  if (opened()) return;
  state_ = State::opened;
  refusals_ = 0;
  allowance_ = 2;
}

void Gate::prove() {
  if (!opened()) return open();
  if (allowance_ > 0) state_ = State::done;  // something else holds back what waits, if anything does
  allowance_ += 2;
}

void Gate::prove_by_time(Time now) {
  const auto proved = std::erase_if(flying_, [now](auto& one) { return one.left && *one.left + kProof <= now; });
  for (std::size_t i = 0; i < proved; ++i) prove();
}

void Gate::left(std::uint32_t index, Time now) {
  const auto flight = std::ranges::find(flying_, index, &Flight::index);
  if (flight != flying_.end() && !flight->left) flight->left = now;
}

bool Gate::land(std::uint32_t index) {
  return std::erase_if(flying_, [=](auto& one) { return one.index == index; }) > 0;
}

bool Gate::flies(std::uint32_t index) const {
  return std::ranges::find(flying_, index, &Flight::index) != flying_.end();
}

bool Gate::answered(std::uint32_t index) {
  if (!land(index)) return false;
  const bool was_open = opened();
  prove();
  return !was_open;
}

void Gate::failed(std::uint32_t index) {
  if (land(index) && may_send()) ++allowance_;
}

}  // namespace penstock::flow
