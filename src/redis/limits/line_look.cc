// SPDX-License-Identifier: Apache-2.0
// Tells, waits for the reports, reads; nothing is used of an answer that is not understood in whole.
#include "redis/limits/line_look.h"

#include <algorithm>
#include <utility>

#include "redis/client/scripts.h"

namespace penstock::redis {

using flow::Instant;
using flow::Time;

namespace {

constexpr Time kJustSeen = 5'000;  // what was told so lately is told again
constexpr std::int64_t kMostUnits = 1'000'000'000'000, kLatest = 10'000'000'000'000'000;  // as in prelude.lua

bool plausible(std::int64_t value, std::int64_t most) { return value >= 0 && value <= most; }

bool read_others(Elements numbers, std::int64_t before, std::vector<flow::OtherProcess>& into) {
  if (numbers.left() % 3 != 0) return false;
  for (std::int64_t place = 0; numbers.left() > 0; ++place) {
    const auto had_less = numbers.next().integer(), units = numbers.next().integer(), came = numbers.next().integer();
    into.push_back({.had_less = std::clamp(had_less, -kMostUnits, kMostUnits),
                    .units = static_cast<double>(std::clamp<std::int64_t>(units, 0, kMostUnits)),
                    .per_second = static_cast<double>(std::clamp<std::int64_t>(came, 0, kMostUnits)),
                    .is_senior = place < before});
  }
  return true;
}

bool read_times(Elements numbers, std::vector<Instant>& into) {
  into.clear();
  while (numbers.left() > 0) {
    const auto time = numbers.next().integer();
    if (!plausible(time, kLatest) || (!into.empty() && static_cast<Instant>(time) < into.back())) return false;
    into.push_back(static_cast<Instant>(time));
  }
  return true;
}

}  // namespace

LineLook::LineLook(UpstreamCalls& calls, const std::vector<LimitConfig>& limits)
    : calls_(calls), limits_(limits), timer_(calls.shared().loop(), [this] { time_passed(); }) {}

bool LineLook::look(Time now, std::function<void()> told) {
  const bool just_seen = seen_ && now - seen_->received < kJustSeen;
  if (just_seen || !calls_.connected() || !calls_.args().holds_all()) return false;
  waiting_.push_back(std::move(told));
  if (step_ != Step::none) return true;  // hears what the first one hears
  ++round_;
  timer_.start(now + kMost);
  ask(ScriptArgs::LookAhead::tell);
  return true;
}

void LineLook::report(const flow::WaitingUnits& units) {
  if (!calls_.connected()) return;
  const auto fill = [&units](const ScriptArgs& args, ScriptCall& into) { args.report_waiting(into, units); };
  calls_.look(Script::ahead, fill, [](const Outcome&, Time) {});
}

void LineLook::ask(ScriptArgs::LookAhead what) {
  step_ = what == ScriptArgs::LookAhead::tell ? Step::telling : Step::reading;
  const auto fill = [what](const ScriptArgs& args, ScriptCall& into) { args.look_ahead(into, what); };
  const bool sent = calls_.look(
      Script::ahead, fill,
      [alive = calls_.ref(), this, what, round = round_, changes = calls_.changes()](const Outcome& outcome, Time) {
        if (!alive || round != round_ || calls_.changes() != changes) return;
        answered(outcome, what);
      });
  if (!sent) timer_.start(calls_.now());  // `told` is not called from within look()
}

/// An answer says how many were told; if none was, it says all that there is to say.
void LineLook::answered(const Outcome& outcome, ScriptArgs::LookAhead what) {
  if (!outcome) return end();
  auto elements = outcome->elements();
  elements.next();  // now
  const bool reports_come = what == ScriptArgs::LookAhead::tell && elements.next().integer() > 0;
  if (!reports_come) {
    if (!read(outcome)) seen_.reset();
    return end();
  }
  step_ = Step::awaiting_reports;
  timer_.start(calls_.now() + kUntilReported);
}

void LineLook::time_passed() {
  if (step_ != Step::awaiting_reports) return end();
  timer_.start(calls_.now() + kMost - kUntilReported);
  ask(ScriptArgs::LookAhead::read);
}

void LineLook::end() {
  timer_.stop();
  step_ = Step::none;
  ++round_;
  for (const auto& told : std::exchange(waiting_, {})) told();
}

bool LineLook::read(const Outcome& outcome) {
  auto elements = outcome->elements();
  if (elements.left() != 6) return false;
  elements.next(), elements.next();  // now, how many were told
  const Elements others = elements.next().elements();
  const auto before = elements.next().integer();
  Elements stands = elements.next().elements(), lists = elements.next().elements();
  if (stands.left() % 3 != 0 || lists.left() % 2 != 0) return false;
  const auto at_zero = static_cast<Instant>(calls_.clock().at_zero());
  Seen seen{.limits = std::make_unique<flow::LocalLimiter>(limits_, at_zero), .received = calls_.now()};
  if (!read_others(others, before, seen.others)) return false;
  const auto places = calls_.args().places_ahead();
  const auto place_of = [&](std::int64_t number) {
    return plausible(number, static_cast<std::int64_t>(places.size()) - 1) ? places[static_cast<std::size_t>(number)]
                                                                           : flow::kNoLimit;
  };
  while (stands.left() > 0) {
    const auto limit = place_of(stands.next().integer());
    const auto since = stands.next().integer(), much = stands.next().integer();
    if (limit == flow::kNoLimit || !plausible(since, kLatest) || !plausible(much, kLatest)) return false;
    seen.limits->heard(limit, static_cast<Instant>(since), much);
  }
  std::vector<Instant> times;
  while (lists.left() > 0) {
    const auto limit = place_of(lists.next().integer());
    if (limit == flow::kNoLimit || !read_times(lists.next().elements(), times)) return false;
    seen.limits->heard(limit, times);
  }
  seen_.emplace(std::move(seen));
  return true;
}

}  // namespace penstock::redis
