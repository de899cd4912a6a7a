// SPDX-License-Identifier: Apache-2.0
// See exec_summary.h.
#include "app/exec_summary.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace penstock::app {

namespace {

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string rounded(Duration duration) {
  char text[32];
  std::snprintf(text, sizeof text, duration < 100ms ? "%.0f ms" : "%.1f s",
                duration < 100ms ? 1000 * seconds(duration) : seconds(duration));
  return text;
}

}  // namespace

ExecSummary::Upstream& ExecSummary::upstream_of(std::string_view name) {
  const auto found = upstreams_.find(name);
  if (found != upstreams_.end()) return found->second;
  return upstreams_[std::string(upstreams_.size() < kMostUpstreams ? name : "others")];
}

void ExecSummary::Upstream::waits_for(std::string_view limit, Duration wait) {
  ++waited;
  longest = std::max(longest, wait);
  if (waits.size() < kMostWaits) waits.push_back(wait);
  ++waited_for[std::string(limit)];
}

/// Every request has exactly one event that is no `dispatch`, its last.
void ExecSummary::add(const Event& event) {
  if (event.kind == EventKind::dispatch) return;
  auto& upstream = upstream_of(event.upstream.empty() ? event.host : event.upstream);
  ++upstream.requests;
  if (event.status == 429) ++upstream.refused_429;
  if (!event.limited_by.empty() && event.wait) upstream.waits_for(event.limited_by, *event.wait);
}

Duration ExecSummary::Upstream::median() const {
  auto sorted = waits;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  return *middle;
}

std::string ExecSummary::Upstream::line(const std::string& name) const {
  auto text = std::to_string(requests) + (requests == 1 ? " request to " : " requests to ") + name + " · ";
  text += std::to_string(waited) + " waited";
  if (waited > 0) {
    const auto most = std::ranges::max_element(waited_for, {}, [](const auto& one) { return one.second; });
    text += " (median " + rounded(median()) + ", longest " + rounded(longest) + ", for " + most->first + ")";
  }
  return text + " · " + std::to_string(refused_429) + " × 429\n";
}

std::string ExecSummary::text() const {
  std::string all;
  for (const auto& [name, upstream] : upstreams_) all += upstream.line(name);
  return all;
}

std::string ExecSummary::json() const {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& [name, upstream] : upstreams_) {
    nlohmann::ordered_json one{{"upstream", name}, {"requests", upstream.requests}, {"waited", upstream.waited}};
    if (upstream.waited > 0) {
      one["medianWait"] = seconds(upstream.median());
      one["longestWait"] = seconds(upstream.longest);
      one["waitedFor"] = upstream.waited_for;
    }
    one["status429"] = upstream.refused_429;
    all.push_back(std::move(one));
  }
  return nlohmann::ordered_json{{"upstreams", std::move(all)}}.dump() + "\n";
}

}  // namespace penstock::app
