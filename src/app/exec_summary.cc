// SPDX-License-Identifier: Apache-2.0
// See exec_summary.h.
#include "app/exec_summary.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "observe/state_words.h"

namespace penstock::app {

namespace {

using observe::rounded;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

/// "1 request", "2 requests".
std::string counted(std::uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
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

void ExecSummary::Upstream::fails(std::string_view detail) {
  ++failed;
  why = detail;
}

/// Every request has exactly one event that is no `dispatch`, its last.
void ExecSummary::add(const Event& event) {
  if (event.kind == EventKind::dispatch) return;
  auto& upstream = upstream_of(event.upstream.empty() ? event.host : event.upstream);
  ++upstream.requests;
  upstream.tunnels += event.tunnel ? 1 : 0;
  if (event.outcome == Outcome::refused || event.outcome == Outcome::upstream_error) upstream.fails(event.detail);
  if (event.status == 429) ++upstream.refused_429;
  upstream.again += static_cast<std::uint64_t>(std::max(event.attempts - 1, 0));
  if (!event.limited_by.empty() && event.wait) upstream.waits_for(event.limited_by, *event.wait);
}

Duration ExecSummary::Upstream::median() const {
  auto sorted = waits;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  return *middle;
}

std::string ExecSummary::Upstream::what() const {
  return tunnels == requests ? counted(tunnels, "tunnel") : counted(requests, "request");
}

/// Those of which it is known.
std::string ExecSummary::Upstream::answers() const {
  auto refused = std::to_string(refused_429) + " × 429";
  if (tunnels == 0) return refused;
  return tunnels == requests ? "429s inside of tunnels are not seen"
                             : refused + " outside of " + counted(tunnels, "tunnel");
}

std::string ExecSummary::Upstream::line(const std::string& name) const {
  auto text = what() + " to " + name + " · " + std::to_string(waited) + " waited";
  if (waited > 0) {
    const auto most = std::ranges::max_element(waited_for, {}, [](const auto& one) { return one.second; });
    text += " (median " + rounded(median()) + ", longest " + rounded(longest) + ", for " + most->first + ")";
  }
  text += " · " + answers();
  if (again > 0) text += " · " + observe::again_in_words(again);
  return text + (failed > 0 ? " · " + std::to_string(failed) + " failed: " + why : "") + "\n";
}

std::string ExecSummary::text() const {
  std::string all;
  for (const auto& [name, upstream] : upstreams_) all += upstream.line(name);
  return all;
}

std::string ExecSummary::failures() const {
  std::string all;
  for (const auto& [name, upstream] : upstreams_) {
    if (upstream.failed == 0) continue;
    all += "penstock: " + std::to_string(upstream.failed) + " of " + upstream.what() + (name.empty() ? "" : " to ") +
           name + " failed: " + upstream.why + "\n";
  }
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
    one["askedAgain"] = upstream.again;
    one["tunnels"] = upstream.tunnels;
    one["failed"] = upstream.failed;
    if (upstream.failed > 0) one["lastFailure"] = upstream.why;
    all.push_back(std::move(one));
  }
  return nlohmann::ordered_json{{"upstreams", std::move(all)}}.dump() + "\n";
}

}  // namespace penstock::app
