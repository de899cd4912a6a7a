// SPDX-License-Identifier: Apache-2.0
// Judges that processes which all want to send have equal shares, over stretches long enough to tell.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "simulation/reading.h"
#include "simulation/use.h"

namespace penstock::simulation {

namespace {

struct Stretch {
  Span span;
  std::vector<int> members;  // that want to send all the time
};

/// The least length of a stretch: max(10 s, 20 steps, 20 rounds of grants).
Time telling_shares(const Reading& reading, const std::vector<LimitConfig>& wide) {
  const double rate = slowest_rate(wide);
  const auto processes = reading.plan().members.size();
  const double rounds = 20 * static_cast<double>(processes) * grant(wide, reading.heaviest(), processes) / rate;
  const Time round = std::isfinite(rate) ? static_cast<Time>(rounds * 1e6) : 0;
  return std::max({10 * kSecond, 20 * longest_step(wide), round});
}

/// Cuts at each begin and end of a span, so that within each stretch the same processes want to send.
std::vector<Stretch> stretches(const std::vector<std::vector<Span>>& wanting, Time least) {
  std::vector<Time> edges;
  for (const auto& spans : wanting) {
    for (const Span& span : spans) edges.push_back(span.from), edges.push_back(span.until);
  }
  std::ranges::sort(edges);
  std::vector<Stretch> found;
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    Stretch stretch{.span = {edges[i], edges[i + 1]}};
    if (stretch.span.length() < least) continue;
    for (std::size_t member = 0; member < wanting.size(); ++member) {
      if (around(wanting[member], stretch.span.from, stretch.span.until))
        stretch.members.push_back(static_cast<int>(member));
    }
    if (stretch.members.size() > 1) found.push_back(std::move(stretch));
  }
  return found;
}

/// For each process: units that left, or permits · seconds.
std::vector<double> had(const Reading& reading, Span span, bool permits) {
  std::vector<double> had(reading.plan().members.size());
  for (const Left& one : reading.left()) {
    const Request& request = reading.journal().requests[one.id];
    double& mine = had[static_cast<std::size_t>(request.member)];
    const Time ended = request.ended == kNotYet ? reading.journal().ended : request.ended;
    if (permits)
      mine += static_cast<double>(std::max<Time>(0, std::min(ended, span.until) - std::max(one.at, span.from))) / 1e6;
    else if (one.at > span.from && one.at <= span.until)
      mine += one.units;
  }
  return had;
}

/// For permits only: when each process had a waiting request and a slot. The permits are what is shared.
std::vector<std::vector<Span>> waiting_for_permits(const Reading& reading) {
  std::vector<std::vector<Span>> waiting(reading.plan().members.size());
  for (const Request& request : reading.journal().requests) {
    const Time ended = request.ended == kNotYet ? reading.journal().ended : request.ended;
    const Span wait{reading.first_answer(request), request.departed == kNotYet ? ended : request.departed};
    auto& spans = waiting[static_cast<std::size_t>(request.member)];
    if (wait.length() <= 0) continue;
    // Requests are in order of arrival, so the spans are in order of their begin.
    if (!spans.empty() && wait.from <= spans.back().until)
      spans.back().until = std::max(spans.back().until, wait.until);
    else
      spans.push_back(wait);
  }
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    std::erase_if(waiting[i],
                  [&](const Span& span) { return reading.was_full(static_cast<int>(i), span.from, span.until); });
  }
  return waiting;
}

void judge_stretch(const Reading& reading, const Stretch& stretch, bool permits, double slack, Judgement& judgement) {
  const std::vector<double> all = had(reading, stretch.span, permits);
  double sum = 0, least = std::numeric_limits<double>::infinity(), most = 0;
  for (const int member : stretch.members) {
    const double mine = all[static_cast<std::size_t>(member)];
    sum += mine, least = std::min(least, mine), most = std::max(most, mine);
  }
  const double mean = sum / static_cast<double>(stretch.members.size());
  if (mean <= 0) return;
  const double ratio = least > 0 ? most / least : std::numeric_limits<double>::infinity();
  ++judgement.figures.shares;
  judgement.figures.widest_shares = std::max(judgement.figures.widest_shares, ratio);
  const double allowed = std::max(mean / 10, slack);
  if (most - mean <= allowed && mean - least <= allowed) return;
  breaks(judgement, "shares",
         said("%.1f to %.1f %s of %zu processes in %.3f s from %s on; %.1f ± %.1f would be right", least, most,
              permits ? "permits · s" : "units", stretch.members.size(),
              static_cast<double>(stretch.span.length()) / 1e6, moment(stretch.span.from).c_str(), mean, allowed),
         ratio);
}

}  // namespace

void judge_shares(const Reading& reading, Judgement& judgement) {
  if (reading.has_routes()) return;
  if (!reading.all_shared() || reading.has_refusing_limits() || reading.plan().members.size() < 2) return;
  const auto wide = reading.rate_limits(LimitConfig::Per::upstream);
  const bool permits = wide.empty() && !reading.has_group_limits() && reading.has(LimitKind::semaphore);
  if (wide.empty() && !permits) return;
  if (!permits && reading.has(LimitKind::semaphore)) return;  // either may be what holds a process
  const Time least = telling_shares(reading, wide);
  std::vector<std::vector<Span>> wanting = permits ? waiting_for_permits(reading) : reading.wanting();
  for (auto& spans : wanting) spans = calm_parts(reading, spans, least);
  const double one_grant = grant(wide, reading.heaviest(), reading.plan().members.size());
  // A flight may have just begun, or not quite ended, at either end.
  const double flight = 2 * static_cast<double>(reading.longest_flight()) / 1e6;
  const double slack = permits ? flight : std::max(2.0 * reading.heaviest(), one_grant);
  for (const Stretch& stretch : stretches(wanting, least)) judge_stretch(reading, stretch, permits, slack, judgement);
}

}  // namespace penstock::simulation
