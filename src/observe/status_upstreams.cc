// SPDX-License-Identifier: Apache-2.0
// What /status and /live say of one upstream.
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "observe/state_words.h"
#include "observe/status_json.h"

namespace penstock::observe {
namespace {

using Json = nlohmann::ordered_json;

double milliseconds(Duration duration) { return static_cast<double>(duration.count()) / 1000; }

Json milliseconds(const std::optional<Duration>& duration) {
  return duration ? Json(milliseconds(*duration)) : Json(nullptr);
}

Json totals_json(const Totals& totals) {
  return {{"dispatched", totals.dispatched},  {"success", totals.success},
          {"httpError", totals.http_error},   {"upstreamError", totals.upstream_error},
          {"clientGone", totals.client_gone}, {"clientGonePending", totals.client_gone_pending},
          {"refused", totals.refused}};
}

Json handshakes_json(const HandshakeTotals& totals) {
  return {{"done", totals.done},     {"rejected", totals.rejected},  {"left", totals.left},
          {"failed", totals.failed}, {"timedOut", totals.timed_out}, {"bypassed", totals.bypassed}};
}

Json head_json(const std::optional<HeadSnapshot>& head) {
  if (!head) return nullptr;
  return {{"limitedBy", head->limited_by},
          {"sinceMs", milliseconds(head->since)},
          {"leavesInMs", milliseconds(head->leaves_in)},
          {"lastLeavesInMs", milliseconds(head->last_leaves_in)}};
}

/// A limit that has no such thing as a capacity, or whose state is unknown, has none of these figures.
Json limit_state_json(const LimitSnapshot& limit) {
  const bool counts = limit.known && limit.of > 0;
  Json json{{"name", limit.name},
            {"kind", limit.kind},
            {"allows", limit.allows},
            {"mode", mode_name(limit.mode)},
            {"shared", limit.shared},
            {"used", counts ? Json(limit.used) : Json(nullptr)},
            {"of", counts ? Json(limit.of) : Json(nullptr)},
            {"opensInMs", limit.known ? milliseconds(limit.opens_in) : Json(nullptr)},
            {"resetsInMs", limit.known ? milliseconds(limit.resets_in) : Json(nullptr)},
            {"rate", limit.rate ? Json(*limit.rate) : Json(nullptr)},
            {"units", limit.units},
            {"wouldWait", limit.mode == LimitConfig::Mode::shadow ? Json(limit.would_wait) : Json(nullptr)}};
  if (!limit.route.empty()) json["route"] = limit.route;
  if (!limit.unit.empty()) json["unit"] = limit.unit;
  return json;
}

Json limit_states_json(const std::vector<LimitSnapshot>& limits) {
  Json json = Json::array();
  for (const LimitSnapshot& one : limits) json.push_back(limit_state_json(one));
  return json;
}

Json pause_json(const std::optional<PauseSnapshot>& pause, std::int64_t taken_at, bool details) {
  if (!pause) return nullptr;
  const bool names = details && !pause->group.empty();
  return {{"untilMs", (taken_at + pause->left.count()) / 1000},
          {"leftMs", milliseconds(pause->left)},
          {"status", pause->status == 0 ? Json(nullptr) : Json(pause->status)},
          {"group", names ? Json(pause->group) : Json(nullptr)},
          {"state", pause->probing ? "probe" : "closed"}};
}

Json percentiles_json(const Percentiles& of) {
  const auto figure = [&](Duration value) { return of.count > 0 ? Json(milliseconds(value)) : Json(nullptr); };
  return {{"count", of.count},
          {"p50", figure(of.p50)},
          {"p95", figure(of.p95)},
          {"p99", figure(of.p99)},
          {"max", figure(of.max)}};
}

Json last_minute_json(const LastMinute& minute) {
  Json refused = Json::object(), statuses = Json::object();
  for (const auto& [kind, count] : minute.refused) refused[kind] = count;
  for (const auto& [status, count] : minute.statuses) statuses[std::to_string(status)] = count;
  return {{"out", minute.out},
          {"outPerSecond", std::round(minute.out_per_second * 100) / 100},
          {"upstream429", minute.upstream_429},
          {"refused", std::move(refused)},
          {"statuses", std::move(statuses)},
          {"waitMs", percentiles_json(minute.wait)},
          {"flightMs", percentiles_json(minute.flight)}};
}

}  // namespace

Json groups_json(const std::vector<GroupSnapshot>& groups) {
  Json json = Json::array();
  for (const GroupSnapshot& one : groups) {
    json.push_back({{"name", one.name}, {"pending", one.pending}, {"limits", limit_states_json(one.limits)}});
    for (Json& limit : json.back()["limits"]) limit["units"] = limit["wouldWait"] = nullptr;  // not counted
  }
  return json;
}

Json upstream_json(const UpstreamSnapshot& upstream, std::int64_t taken_at, const Details& details) {
  Json json{{"name", upstream.name},
            {"pending", upstream.pending},
            {"inFlight", upstream.in_flight},
            {"maxConcurrent", upstream.max_concurrent},
            {"maxPending", upstream.max_pending},
            {"tunnels", {{"busy", upstream.busy_tunnels}, {"resting", upstream.resting_tunnels}}},
            {"maxTunnels", upstream.max_tunnels},
            {"tunnelsOnly", upstream.tunnels_only},
            {"pauses", upstream.pauses},
            {"pause", pause_json(upstream.pause, taken_at, details.shown)},
            {"unreachable", upstream.unreachable},
            {"degraded", upstream.degraded},
            {"state", state_in_words(upstream)},
            {"oldestWaitMs", milliseconds(upstream.oldest_wait)},
            {"head", head_json(upstream.head)},
            {"limits", limit_states_json(upstream.limits)},
            {"lastMinute", last_minute_json(upstream.last_minute)},
            {"totals", totals_json(upstream.totals)},
            {"handshakes", handshakes_json(upstream.handshakes)}};
  if (!upstream.quota.empty()) {
    json["quota"] = upstream.quota;
    json["pendingInQuota"] = upstream.pending_in_quota;
  }
  if (details.shown) json["groups"] = groups_json(upstream.groups);
  if (upstream.totals.tunnels_past_limits > 0) json["tunnelsPastLimits"] = upstream.totals.tunnels_past_limits;
  return json;
}

Json waiting_json(const UpstreamDetails& details) {
  Json json = Json::array();
  for (const WaitingRequest& one : details.waiting) {
    json.push_back({{"id", one.id},
                    {"method", one.method},
                    {"host", one.host},
                    {"path", one.path},
                    {"group", one.group},
                    {"user", one.user},
                    {"client", one.client},
                    {"sinceMs", milliseconds(one.since)},
                    {"limitedBy", one.limited_by},
                    {"leavesInMs", milliseconds(one.leaves_in)}});
  }
  return json;
}

Json callers_json(const UpstreamDetails& details) {
  Json json = Json::array();
  for (const auto& [client, pending] : details.callers) json.push_back(Json::array({client, pending}));
  return json;
}

}  // namespace penstock::observe
