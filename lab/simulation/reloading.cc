// SPDX-License-Identifier: Apache-2.0
// Judges the time in which processes have different limits, because one after the other reads new ones.
#include <algorithm>
#include <variant>
#include <vector>

#include "simulation/reading.h"

namespace penstock::simulation {

namespace {

/// Units of one process in that stretch.
double units_of(const Reading& reading, int member, const Span& stretch) {
  double units = 0;
  for (const Left& one : reading.left()) {
    const bool is_its = reading.journal().requests[one.id].member == member;
    if (is_its && one.at > stretch.from && one.at <= stretch.until) units += one.units;
  }
  return units;
}

double qps_of(const std::vector<LimitConfig>& limits) {
  const auto* pacer = limits.size() == 1 ? std::get_if<PacerConfig>(&limits.front().kind) : nullptr;
  return pacer ? pacer->qps : 0;
}

void judge_stretch(const Reading& reading, const Span& stretch, Judgement& judgement) {
  const auto& members = reading.plan().members;
  const double rate = qps_of(reading.plan().limits), seconds = static_cast<double>(stretch.length()) / 1e6;
  const auto is_former = [&](const Member& member) { return member.reloads >= stretch.until; };
  const auto former = static_cast<double>(std::ranges::count_if(members, is_former));
  const double sent = reading.units(stretch.from, stretch.until), due = 0.95 * rate * seconds;
  if (sent < due) {
    breaks(judgement, "reloads",
           said("%.0f units left in %.3f s from %s on, while %.0f processes had former limits; at least %.0f would be "
                "right",
                sent, seconds, moment(stretch.from).c_str(), former, due),
           sent / due);
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    const double own = qps_of(members[i].former);
    if (!is_former(members[i]) || own <= 0 || own >= rate) continue;
    const double units = units_of(reading, static_cast<int>(i), stretch);
    // A process with a rate near that of the others can have only its share of theirs.
    const double part = std::min(own / former, rate / static_cast<double>(members.size()));
    const double least = 0.8 * part * seconds - 1;
    if (units >= least) continue;
    breaks(judgement, "reloads",
           said("process %zu, which had a former limit, sent %.0f units in %.3f s from %s on; at least %.0f would be "
                "right",
                i, units, seconds, moment(stretch.from).c_str(), least),
           units / least);
  }
}

}  // namespace

void judge_reloads(const Reading& reading, Judgement& judgement) {
  std::vector<Time> moments;
  for (const Member& member : reading.plan().members) {
    if (member.reloads > 0) moments.push_back(member.reloads);
  }
  if (moments.empty() || qps_of(reading.plan().limits) <= 0) return;
  std::ranges::sort(moments);
  for (std::size_t i = 0; i + 1 < moments.size(); ++i) {
    const Span stretch{moments[i] + kSecond, moments[i + 1]};
    const auto wants = [&](const auto& spans) { return around(spans, stretch.from, stretch.until) != nullptr; };
    if (stretch.length() >= 5 * kSecond && std::ranges::all_of(reading.wanting(), wants))
      judge_stretch(reading, stretch, judgement);
  }
}

}  // namespace penstock::simulation
