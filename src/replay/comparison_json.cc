// SPDX-License-Identifier: Apache-2.0
// The comparison for programs. Only this file of the room uses nlohmann-json.
#include <cmath>
#include <nlohmann/json.hpp>

#include "replay/comparison.h"

namespace penstock::replay {

namespace {

using Json = nlohmann::ordered_json;

double milliseconds(Time microseconds) { return static_cast<double>(microseconds) / 1000; }
double four_places(double value) { return std::round(value * 10'000) / 10'000; }

Json refused(const Figures& figures) {
  Json kinds = Json::object();
  for (std::size_t i = static_cast<std::size_t>(Fate::queue_full); i < kFateNames.size(); ++i) {
    if (figures.fates[i] > 0) kinds[std::string(kFateNames[i])] = figures.fates[i];
  }
  return kinds;
}

Json limits(const Figures& figures) {
  Json all = Json::array();
  for (const auto& limit : figures.limits) {
    all.push_back({{"name", limit.limit},
                   {"perGroup", limit.per_group},
                   {"mean", four_places(limit.mean)},
                   {"busiest", four_places(limit.most)}});
  }
  return all;
}

Json course(const Figures& figures, const ComparedUpstream& upstream, bool is_log) {
  const auto& waits = figures.waits;
  Json one{{"sent", figures.of(Fate::sent)},
           {"sendings", figures.sendings},
           {"gone", figures.of(Fate::gone)},
           {"refused", refused(figures)},
           {"waitMs",
            {{"p50", milliseconds(waits.p50)},
             {"p95", milliseconds(waits.p95)},
             {"p99", milliseconds(waits.p99)},
             {"max", milliseconds(waits.max)}}},
           {"longestQueue", figures.longest_queue},
           {"mostInFlight", figures.most_in_flight},
           {"slots", {{"of", upstream.max_concurrent}, {"mean", four_places(figures.slots_used)}}},
           {"limits", limits(figures)}};
  one["upstream429"] = is_log ? Json(upstream.answered_429) : Json();
  one["beyondQuota"] = figures.api_refused ? Json(*figures.api_refused) : Json();
  return one;
}

Json of_log(const RequestLog& log) {
  Json bad = Json::array();
  for (const auto& line : log.first_bad_lines) bad.push_back({{"file", printable(line.file)}, {"line", line.line}});
  return {{"events", log.events},
          {"requests", log.size()},
          {"lines", log.lines},
          {"badLines", log.bad_lines},
          {"firstBadLines", bad},
          {"cut", log.is_cut},
          {"first", milliseconds(log.first)},
          {"last", milliseconds(log.last)}};
}

}  // namespace

std::string in_json(const Comparison& comparison, const RequestLog& log) {
  Json upstreams = Json::array();
  for (const auto& upstream : comparison.upstreams) {
    Json one{{"name", printable(upstream.name)},
             {"requests", upstream.requests},
             {"tunnels", upstream.tunnels},
             {"logged", course(upstream.logged, upstream, true)}};
    if (upstream.by_old) one["old"] = course(*upstream.by_old, upstream, false);
    one["new"] = course(upstream.by_new, upstream, false);
    upstreams.push_back(std::move(one));
  }
  return Json{{"log", of_log(log)}, {"upstreams", std::move(upstreams)}, {"notKnown", comparison.unknown}}.dump() +
         "\n";
}

}  // namespace penstock::replay
