// SPDX-License-Identifier: Apache-2.0
// Derives from a plan and a journal what several judges need.
#include "simulation/reading.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "simulation/wants.h"

namespace penstock::simulation {

namespace {

using Kind = Fault::Kind;

/// Microseconds of clock error that ClockMap puts down to drift.
constexpr double kUnnoticed = 100;

std::vector<Span> merged(std::vector<Span> spans) {
  std::ranges::sort(spans, {}, &Span::from);
  std::vector<Span> all;
  for (const Span& span : spans) {
    if (!all.empty() && span.from <= all.back().until)
      all.back().until = std::max(all.back().until, span.until);
    else
      all.push_back(span);
  }
  return all;
}

}  // namespace

Reading::Reading(const Plan& plan, const Journal& journal) : plan_(plan), journal_(journal) {
  read_requests();
  read_members();
  read_disturbances();
  auto wants = find_wants(*this);
  wanting_ = std::move(wants.wanting);
  full_ = std::move(wants.full);
}

void Reading::read_requests() {
  for (std::size_t id = 0; id < journal_.requests.size(); ++id) {
    const Request& request = journal_.requests[id];
    heaviest_ = std::max(heaviest_, request.weight);
    mixed_weights_ |= request.weight != journal_.requests.front().weight;
    if (request.departed == kNotYet) continue;
    left_.push_back({request.departed, request.weight, id});
    const Time ended = request.ended == kNotYet ? journal_.ended : request.ended;
    longest_flight_ = std::max(longest_flight_, ended - request.departed);
  }
  std::ranges::stable_sort(left_, {}, &Left::at);
  double units = 0;
  for (const Left& left : left_) units_before_.push_back(units), units += left.units;
  units_before_.push_back(units);
}

void Reading::read_members() {
  reached_.resize(plan_.members.size());
  for (const Standing& standing : journal_.standings) {
    Time& reached = reached_[static_cast<std::size_t>(standing.member)];
    if (standing.up && reached == 0) reached = standing.at;
  }
  for (const Member& member : plan_.members) {
    const double drift = std::abs(member.drift_ppm) * 1e-6;
    drift_ = std::max(drift_, drift);
    const auto trip = static_cast<double>(member.round_trip);
    // Drift is noticed when the clock contradicts earlier measurements, by a trip. In any case a tenth of a millisecond
    // goes unnoticed, and the first answers may have taken longer than those by which the clock is known later.
    const double error = kUnnoticed + trip * member.jitter / 2 + (drift > 0 ? trip * (1 + member.jitter) : 0);
    clock_error_ = std::max(clock_error_, static_cast<Time>(std::ceil(2 * error)));
    way_back_ = std::max(way_back_, static_cast<Time>(std::ceil(trip * (1 + member.jitter) / 2)));
  }
}

void Reading::read_disturbances() {
  std::vector<Span> spans;
  for (const Fault& fault : journal_.faults) {
    if (fault.kind == Kind::elsewhere) continue;
    spans.push_back({fault.at, end_of(fault, journal_.ended) + settles_after(plan_, fault)});
  }
  for (const auto& limit : plan_.limits) {  // in a cluster each new semaphore waits for half a lease
    const auto* semaphore = std::get_if<SemaphoreConfig>(&limit.kind);
    if (semaphore && plan_.masters > 0) spans.push_back({0, semaphore->lease.count() / 2 + kSettles});
  }
  for (const Pause& pause : journal_.pauses) spans.push_back({pause.at, pause.until + kSecond / 10});
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    const Member& member = plan_.members[i];
    if (member.joins > 0) spans.push_back({member.joins, member.joins + kSettles});
    if (member.ends > 0) spans.push_back({member.ends, member.ends + longest_flight_ + kSettles});
    if (member.reloads > 0) spans.push_back({0, member.reloads + kSettles});  // until then it uses other limits
    // A process too far away for redis.timeout uses whenDown all the time.
    if (round_trip(static_cast<int>(i)) >= plan_.redis_timeout.count()) spans.push_back({0, journal_.ended});
  }
  disturbed_ = merged(std::move(spans));
}

double Reading::units(Time from, Time until) const {
  const auto number = [&](Time at) { return std::ranges::upper_bound(left_, at, {}, &Left::at) - left_.begin(); };
  return units_before_[static_cast<std::size_t>(number(std::max(from, until)))] -
         units_before_[static_cast<std::size_t>(number(from))];
}

Time Reading::round_trip(int member) const {
  const Member& one = plan_.members[static_cast<std::size_t>(member)];
  return static_cast<Time>(std::ceil(static_cast<double>(one.round_trip) * (1 + one.jitter)));
}

Time Reading::longest_trip() const {
  Time longest = 0;
  for (std::size_t i = 0; i < plan_.members.size(); ++i) longest = std::max(longest, round_trip(static_cast<int>(i)));
  return longest;
}

bool Reading::has(LimitKind kind) const {
  return std::ranges::any_of(plan_.limits, [&](const LimitConfig& limit) { return kind_of(limit) == kind; });
}
bool Reading::has_group_limits() const { return std::ranges::any_of(plan_.limits, of_group); }
bool Reading::has_routes() const { return std::ranges::any_of(plan_.limits, of_route); }
bool Reading::has_refusing_limits() const {
  return std::ranges::any_of(plan_.limits, [](auto& limit) { return limit.mode == LimitConfig::Mode::refuse; });
}
bool Reading::all_shared() const {
  return plan_.members.size() == 1 || std::ranges::all_of(plan_.limits, [](auto& limit) { return limit.shared; });
}

std::vector<LimitConfig> Reading::rate_limits(LimitConfig::Per per) const {
  std::vector<LimitConfig> limits;
  for (const auto& limit : plan_.limits) {
    if (limit.per == per && !of_route(limit) && !counts_flights(limit)) limits.push_back(limit);
  }
  return limits;
}

bool Reading::calm(Time from, Time until) const { return !overlaps(disturbed_, from, until); }

bool Reading::was_full(int member, Time from, Time until) const {
  return overlaps(full_[static_cast<std::size_t>(member)], from, until);
}

std::int64_t Reading::wall(Time at) const {
  std::int64_t wall = journal_.wall_at_begin + at;
  for (const Fault& fault : journal_.faults) {
    if (fault.kind == Kind::clock_steps && fault.at <= at) wall += fault.step;
  }
  return wall;
}

bool overlaps(const std::vector<Span>& spans, Time from, Time until) {
  const auto first = std::ranges::lower_bound(spans, from, {}, &Span::until);
  return first != spans.end() && first->from <= until;
}

const Span* around(const std::vector<Span>& spans, Time from, Time until) {
  const auto first = std::ranges::lower_bound(spans, until, {}, &Span::until);
  return first != spans.end() && first->from <= from ? &*first : nullptr;
}

std::string moment(Time at) { return said("%.6f s", static_cast<double>(at) / 1e6); }

std::string said(const char* format, ...) {
  char text[512];
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  return text;
}

std::string called(const LimitConfig& limit) {
  const std::string kind(limit_key(limit.kind));
  return limit.name.empty() ? kind : kind + " '" + limit.name + "'";
}

void breaks(Judgement& judgement, const char* rule, std::string detail, double figure) {
  const auto same = std::ranges::count(judgement.broken, rule, &Verdict::rule);
  if (static_cast<std::size_t>(same) < kMostVerdicts) judgement.broken.push_back({rule, std::move(detail), figure});
}

Judgement judge(const Plan& plan, const Journal& journal) {
  const Reading reading(plan, journal);
  Judgement judgement;
  for (const auto rule : {judge_keeps, judge_use, judge_room, judge_shares, judge_order, judge_draining, judge_calls,
                          judge_recovery, judge_parts, judge_told, judge_alone, judge_waits, judge_degraded,
                          judge_pauses, judge_cuts, judge_elsewhere, judge_keys, judge_reloads}) {
    rule(reading, judgement);
  }
  return judgement;
}

}  // namespace penstock::simulation
