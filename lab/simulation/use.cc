// SPDX-License-Identifier: Apache-2.0
// Judges the use of limits on the rate. Arrivals in a closed loop depend on departures, so the twin cannot be given
// them. But where one process had a request waiting at every moment, with a slot, its arrivals do not matter: it could
// have sent whatever the limits allow. So the twin begins with what had left by then, and always has one more request.
#include "simulation/use.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "flow/limiter.h"
#include "simulation/twin.h"

namespace penstock::simulation {

namespace {

/// The most stretches, and the most groups, that are judged in a run: those in which least was sent.
constexpr std::size_t kMostStretches = 8, kMostGroupsJudged = 16;

/// What other processes may have of a limit that the twin has not: a full burst is forgotten when memory is lost, and
/// counts as spent after a time without limits.
double forgotten(const Reading& reading, const std::vector<LimitConfig>& limits, Time until) {
  double units = 0;
  for (const Fault& fault : reading.journal().faults) {
    if (fault.at > until) continue;
    const bool unlimited = reading.plan().when_down == WhenDown::open && is_outage(reading.plan(), fault);
    for (const LimitConfig& limit : limits) {
      const bool earned = kind_of(limit) == LimitKind::pacer || kind_of(limit) == LimitKind::token_bucket;
      if (unlimited || (earned && loses_memory(fault.kind)))
        units = std::max(units, size_of(limit) + reading.heaviest());
    }
  }
  return units;
}

/// Heavy requests wait for room, and what they leave unused at the end of a step depends on the order of arrival.
double packing(const Reading& reading, const std::vector<LimitConfig>& limits, Time length) {
  double units = 0;
  for (const LimitConfig& limit : limits) {
    const Time step = step_of(limit);
    if (step == 0 || kind_of(limit) == LimitKind::token_bucket || !reading.mixed_weights()) continue;
    units = std::max(units, static_cast<double>(length / step + 1) * (reading.heaviest() - 1));
  }
  return units;
}

/// A counter's resets are a period apart, or more: one of the processes makes them, by its own clock, counted from its
/// own begin.
double late_resets(const Reading& reading, const std::vector<LimitConfig>& limits, double possible) {
  double units = 0;
  for (const LimitConfig& limit : limits) {
    if (kind_of(limit) != LimitKind::counter) continue;
    const auto period = static_cast<double>(step_of(limit));
    const auto late = static_cast<double>(2 * reading.longest_trip() + 2 * kMillisecond);
    units = std::max(units, size_of(limit) + possible * late / (period + late));
  }
  return units;
}

double units_between(const std::vector<Left>& left, Time from, Time until) {
  double units = 0;
  auto one = std::ranges::upper_bound(left, from, {}, &Left::at);
  for (; one != left.end() && one->at <= until; ++one) units += one->units;
  return units;
}

std::vector<Span> tiles(const std::vector<Span>& spans, Time length) {
  std::vector<Span> tiles;
  for (const Span& span : spans) {
    for (Time from = span.from; from + length <= span.until; from += length) tiles.push_back({from, from + length});
  }
  return tiles;
}

/// Judges the stretches in which least was sent.
void judge_scope(const Reading& reading, const std::vector<LimitConfig>& limits, const std::vector<Left>& left,
                 const std::vector<Span>& spans, const std::string& name, Judgement& judgement) {
  std::vector<std::pair<double, Span>> by_sent;
  for (const Span& tile : tiles(spans, telling_length(limits)))
    by_sent.emplace_back(units_between(left, tile.from, tile.until), tile);
  std::ranges::stable_sort(by_sent, {}, &std::pair<double, Span>::first);
  if (by_sent.size() > kMostStretches) by_sent.resize(kMostStretches);
  for (const auto& [sent, tile] : by_sent) {
    const Use use = use_of(reading, limits, left, tile);
    ++judgement.figures.stretches;
    if (use.possible > 0) judgement.figures.least_use = std::min(judgement.figures.least_use, use.sent / use.possible);
    if (use.missing <= 0) continue;
    breaks(judgement, "use",
           said("%s: %.0f of %.0f possible units (%.1f %%) in %.3f s from %s on, %.1f too few", name.c_str(), use.sent,
                use.possible, 100 * use.sent / use.possible, static_cast<double>(tile.length()) / 1e6,
                moment(tile.from).c_str(), use.missing),
           use.sent / use.possible);
  }
}

/// When a request of the group waited in a process that had a slot.
std::map<int, std::vector<Span>> waits_of_groups(const Reading& reading) {
  std::map<std::pair<int, int>, std::vector<Span>> lanes;
  for (const Request& request : reading.journal().requests) {
    const Time ended = request.ended == kNotYet ? reading.journal().ended : request.ended;
    const Span wait{reading.first_answer(request), request.departed == kNotYet ? ended : request.departed};
    if (wait.length() <= 0) continue;
    auto& spans = lanes[{request.group, request.member}];
    if (!spans.empty() && wait.from <= spans.back().until)
      spans.back().until = std::max(spans.back().until, wait.until);
    else
      spans.push_back(wait);
  }
  std::map<int, std::vector<Span>> groups;
  for (const auto& [lane, spans] : lanes) {
    for (const Span& span : spans) {
      if (!reading.was_full(lane.second, span.from, span.until)) groups[lane.first].push_back(span);
    }
  }
  return groups;
}

void judge_groups(const Reading& reading, const std::vector<LimitConfig>& limits, Judgement& judgement) {
  std::map<int, std::vector<Left>> left;
  for (const Left& one : reading.left()) left[reading.journal().requests[one.id].group].push_back(one);
  std::vector<std::pair<Time, int>> longest;
  std::map<int, std::vector<Span>> calm;
  for (const auto& [group, spans] : waits_of_groups(reading)) {
    auto parts = calm_parts(reading, spans, telling_length(limits));
    Time length = 0;
    for (const Span& part : parts) length += part.length();
    if (length > 0) longest.emplace_back(-length, group), calm[group] = std::move(parts);
  }
  std::ranges::sort(longest);
  if (longest.size() > kMostGroupsJudged) longest.resize(kMostGroupsJudged);
  for (const auto& [length, group] : longest)
    judge_scope(reading, limits, left[group], calm[group], said("limits of group %d", group), judgement);
}

// ---- permits --------------------------------------------------------------------------------------------------------

struct Change {
  Time at;
  int member;
  int waiting, flying;
};

/// How many permits were idle, and for how long, while a request with a slot waited for one.
struct Permits {
  const Reading& reading;
  double capacity;
  std::vector<int> waiting, flying;
  std::vector<int> gave_back;  // processes whose returned permits are not taken yet, oldest first
  std::size_t taken = 0;
  double idle = 0, wanted = 0, handing_over = 0;  // permits · microseconds

  void pass(Time from, Time until) {
    double wants = 0, flies = 0;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      const auto slots = static_cast<int>(flow::slots_of(reading.plan().members[i].settings));
      wants += std::max(0, std::min(waiting[i], slots - flying[i])), flies += flying[i];
    }
    if (wants <= 0 || !reading.calm(from, until)) return;
    wanted += capacity * static_cast<double>(until - from);
    idle += std::max(0.0, std::min(wants, capacity - flies)) * static_cast<double>(until - from);
  }
  void apply(const Change& change) {
    const auto member = static_cast<std::size_t>(change.member);
    waiting[member] += change.waiting, flying[member] += change.flying;
    if (change.flying < 0) gave_back.push_back(change.member);
    if (change.flying <= 0 || taken == gave_back.size()) return;
    const int from = gave_back[taken++];
    if (from == change.member || !reading.calm(change.at, change.at)) return;
    handing_over += 2.0 * static_cast<double>(std::max(reading.round_trip(from), reading.round_trip(change.member)));
  }
};

void judge_permits(const Reading& reading, Judgement& judgement) {
  double capacity = std::numeric_limits<double>::infinity();
  for (const auto& limit : reading.plan().limits) capacity = std::min(capacity, size_of(limit));
  std::vector<Change> changes;
  for (const Request& request : reading.journal().requests) {
    const bool left = request.departed != kNotYet;
    const Time ended = request.ended == kNotYet ? reading.journal().ended : request.ended;
    const Time known = reading.first_answer(request), gone = left ? request.departed : ended;
    if (known < gone)
      changes.push_back({known, request.member, 1, 0}), changes.push_back({gone, request.member, -1, 0});
    if (left) changes.push_back({request.departed, request.member, 0, 1});
    if (left && ended > request.departed) changes.push_back({ended, request.member, 0, -1});
    if (left && ended == request.departed) changes.back().flying = 0;
  }
  std::ranges::stable_sort(changes, [](auto& a, auto& b) { return a.at != b.at ? a.at < b.at : a.flying < b.flying; });
  Permits permits{reading, capacity, std::vector<int>(reading.plan().members.size()),
                  std::vector<int>(reading.plan().members.size())};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    permits.apply(changes[i]);
    if (i + 1 < changes.size() && changes[i + 1].at > changes[i].at) permits.pass(changes[i].at, changes[i + 1].at);
  }
  if (permits.wanted < capacity * 2e6) return;
  const double use = 1 - permits.idle / permits.wanted;
  judgement.figures.least_permit_use = std::min(judgement.figures.least_permit_use, use);
  const double over = permits.idle - permits.wanted / 100 - permits.handing_over;
  if (over <= 0) return;
  breaks(judgement, "use",
         said("permits: idle for %.3f s though wanted, of %.3f s (%.1f %% used); %.3f s would be right",
              permits.idle / 1e6, permits.wanted / 1e6, 100 * use, (permits.idle - over) / 1e6),
         use);
}

}  // namespace

Use use_of(const Reading& reading, const std::vector<LimitConfig>& limits, const std::vector<Left>& left,
           Span stretch) {
  std::vector<Left> before;
  std::vector<int> weights;
  for (const Left& one : left) {
    const bool unlimited =
        reading.plan().when_down == WhenDown::open && reading.journal().requests[one.id].without_redis;
    if (one.at <= stretch.from && !unlimited) before.push_back(one);
    if (one.at > stretch.from && one.at <= stretch.until) weights.push_back(one.units);
  }
  const auto twin = twin_sends(reading, limits, before, weights, stretch);
  Use use;
  use.sent = units_between(left, stretch.from, stretch.until);
  // What the twin sends at a step just before the end reaches the others a horizon and a trip later, and is forgiven.
  // Where the twin sends evenly, nothing is.
  const Time grace = flow::kHorizon + 2 * reading.longest_trip();
  const double even = slowest_rate(limits) * static_cast<double>(grace) / 1e6;
  const double not_yet = std::max(0.0, units_between(twin, stretch.until - grace, stretch.until) - even);
  use.possible = units_between(twin, stretch.from, stretch.until) - not_yet;
  const double one_grant = grant(limits, reading.heaviest(), reading.plan().members.size());
  const double forgiven = one_grant + reading.heaviest() + packing(reading, limits, stretch.length()) +
                          late_resets(reading, limits, use.possible) + forgotten(reading, limits, stretch.from);
  use.missing = 0.99 * use.possible - forgiven - use.sent;
  return use;
}

std::vector<Span> calm_parts(const Reading& reading, const std::vector<Span>& spans, Time least) {
  std::vector<Span> parts;
  for (Span span : spans) {
    for (const Span& wrong : reading.disturbed()) {
      if (wrong.until < span.from || wrong.from > span.until) continue;
      if (wrong.from - 1 - span.from >= least) parts.push_back({span.from, wrong.from - 1});
      span.from = wrong.until + 1;
    }
    if (span.length() >= least) parts.push_back(span);
  }
  return parts;
}

std::vector<Span> somebody_wants(const Reading& reading, Time least) {
  std::vector<Span> all;
  for (const auto& spans : reading.wanting()) all.insert(all.end(), spans.begin(), spans.end());
  std::ranges::sort(
      all, [](const Span& a, const Span& b) { return a.from != b.from ? a.from < b.from : a.until > b.until; });
  std::vector<Span> disjoint;
  Time covered = std::numeric_limits<Time>::min();
  for (Span span : all) {
    span.from = std::max(span.from, covered);
    if (span.length() < least) continue;
    disjoint.push_back(span);
    covered = span.until;
  }
  return disjoint;
}

void judge_use(const Reading& reading, Judgement& judgement) {
  if (reading.has_routes()) return;
  if (!reading.all_shared() || reading.has_refusing_limits() || reading.plan().limits.empty()) return;
  const auto wide = reading.rate_limits(LimitConfig::Per::upstream), own = reading.rate_limits(LimitConfig::Per::group);
  if (!wide.empty()) {
    const Time length = telling_length(wide);
    judge_scope(reading, wide, reading.left(), calm_parts(reading, somebody_wants(reading, length), length), "limits",
                judgement);
  } else if (!own.empty() && !reading.has(LimitKind::semaphore)) {
    judge_groups(reading, own, judgement);
  }
  if (wide.empty() && own.empty() && !reading.has_group_limits()) judge_permits(reading, judgement);
}

}  // namespace penstock::simulation
