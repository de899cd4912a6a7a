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

constexpr Time kJustSeen = 5'000;  // what was told so lately is told again, and holds for another that looks
constexpr std::int64_t kMostUnits = 1'000'000'000'000, kLatest = 10'000'000'000'000'000;  // as in prelude.lua

bool plausible(std::int64_t value, std::int64_t most) { return value >= 0 && value <= most; }

bool read_line(Elements numbers, std::vector<flow::InLine>& into) {
  if (numbers.left() % 8 != 0) return false;
  const auto next = [&numbers] { return numbers.next().integer(); };
  while (numbers.left() > 0) {
    flow::InLine& one = into.emplace_back(flow::InLine{.is_own = next() == 1});
    one.differs = next() == 1;
    for (double* units : {&one.had, &one.wants})
      *units = static_cast<double>(std::clamp<std::int64_t>(next(), 0, kMostUnits));
    const auto at = next();
    for (double* units : {&one.units, &one.per_second})
      *units = static_cast<double>(std::clamp<std::int64_t>(next(), 0, kMostUnits));
    one.per_second /= 1'000;
    const auto asks_at = next();
    if (!plausible(at, kLatest) || !plausible(asks_at, kLatest)) return false;
    one.at = static_cast<Instant>(at);
    if (asks_at > 0) one.asks_at = static_cast<Instant>(asks_at);
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

bool read_strangers(Elements numbers, flow::ByStrangers& into) {
  into = {};
  if (numbers.left() == 0) return true;
  if (numbers.left() != 3) return false;
  into.units = numbers.next().integer();
  const auto from = numbers.next().integer(), until = numbers.next().integer();
  into.from = static_cast<Instant>(from), into.until = static_cast<Instant>(until);
  return plausible(into.units, kMostUnits) && plausible(from, kLatest) && plausible(until, kLatest);
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

void LineLook::report(const flow::LimiterEvents& here) {
  const Time now = calls_.now();
  if (!calls_.connected() || now - reported_ < kJustSeen) return;
  const flow::WaitingUnits units = here.units_waiting();
  const Time trip = calls_.clock().usual_round_trip();
  const auto asks_at = units.asks_at == 0 ? 0 : calls_.clock().to_script(units.asks_at + trip / 2);
  const auto fill = [&](const ScriptArgs& args, ScriptCall& into) { args.report_waiting(into, units, asks_at); };
  if (calls_.look(Script::ahead, fill, [](const Outcome&, Time) {})) reported_ = now;
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
  if (elements.left() != 5) return false;
  elements.next(), elements.next();  // now, how many were told
  const Elements line = elements.next().elements();
  Elements stands = elements.next().elements(), lists = elements.next().elements();
  if (stands.left() % 3 != 0 || lists.left() % 3 != 0) return false;
  const auto at_zero = static_cast<Instant>(calls_.clock().at_zero());
  Seen seen{.limits = std::make_unique<flow::LocalLimiter>(limits_, at_zero), .received = calls_.now()};
  if (!read_line(line, seen.line)) return false;
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
  flow::ByStrangers strangers;
  while (lists.left() > 0) {
    const auto limit = place_of(lists.next().integer());
    const bool has_times = read_times(lists.next().elements(), times);
    if (limit == flow::kNoLimit || !has_times || !read_strangers(lists.next().elements(), strangers)) return false;
    seen.limits->heard(limit, times, strangers);
  }
  seen_.emplace(std::move(seen));
  return true;
}

}  // namespace penstock::redis
