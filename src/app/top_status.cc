// SPDX-License-Identifier: Apache-2.0
// See top_status.h.
#include "app/top_status.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "app/top_text.h"

namespace penstock::app {

namespace {

using TopJson = nlohmann::ordered_json;

/// What is below `key`; null if there is no such thing.
const TopJson& below(const TopJson& json, const char* key) {
  static const TopJson nothing;
  if (!json.is_object()) return nothing;
  const auto found = json.find(key);
  return found == json.end() ? nothing : *found;
}

Figure as_figure(const TopJson& json) {
  if (!json.is_number()) return std::nullopt;
  const auto value = json.get<double>();
  return std::isfinite(value) && value >= 0 ? Figure(value) : std::nullopt;
}

Figure figure(const TopJson& json, const char* key) { return as_figure(below(json, key)); }

std::string as_text(const TopJson& json) {
  return json.is_string() ? safe_text(json.get_ref<const std::string&>()) : std::string();
}

std::string text_below(const TopJson& json, const char* key) { return as_text(below(json, key)); }

bool is_true(const TopJson& json, const char* key) { return below(json, key) == true; }

std::optional<bool> truth(const TopJson& json, const char* key) {
  const auto& value = below(json, key);
  return value.is_boolean() ? std::optional(value.get<bool>()) : std::nullopt;
}

std::vector<std::string> texts_below(const TopJson& json, const char* key) {
  std::vector<std::string> all;
  if (const auto& list = below(json, key); list.is_array()) {
    for (const auto& one : list) all.push_back(as_text(one));
  }
  return all;
}

std::optional<std::vector<std::pair<std::string, double>>> counts_below(const TopJson& json, const char* key) {
  const auto& object = below(json, key);
  if (!object.is_object()) return std::nullopt;
  std::vector<std::pair<std::string, double>> all;
  for (const auto& [name, value] : object.items()) {
    if (const auto count = as_figure(value)) all.emplace_back(safe_text(name), *count);
  }
  return all;
}

template <typename Read>
auto list_of(const TopJson& json, const char* key, Read read) -> std::optional<std::vector<decltype(read(json))>> {
  const auto& list = below(json, key);
  if (!list.is_array()) return std::nullopt;
  std::vector<decltype(read(json))> all;
  for (const auto& one : list) all.push_back(read(one));
  return all;
}

ShownLimit shown_limit(const TopJson& json) {
  const bool shadow = text_below(json, "mode") == "shadow";
  return {.name = text_below(json, "name") + (shadow ? " (shadow)" : ""),
          .kind = text_below(json, "kind"),
          .shared = is_true(json, "shared"),
          .used = figure(json, "used"),
          .of = figure(json, "of"),
          .rate = figure(json, "rate"),
          .units = figure(json, "units"),
          .would_wait = figure(json, "wouldWait"),
          .opens_in_ms = figure(json, "opensInMs"),
          .resets_in_ms = figure(json, "resetsInMs")};
}

ShownGroup shown_group(const TopJson& json) {
  return {.name = text_below(json, "name"),
          .pending = figure(json, "pending"),
          .limits = list_of(json, "limits", shown_limit).value_or(std::vector<ShownLimit>{})};
}

std::optional<ShownHead> shown_head(const TopJson& json) {
  if (!json.is_object()) return std::nullopt;
  return ShownHead{.limited_by = text_below(json, "limitedBy"),
                   .since_ms = figure(json, "sinceMs"),
                   .leaves_in_ms = figure(json, "leavesInMs"),
                   .last_leaves_in_ms = figure(json, "lastLeavesInMs")};
}

std::optional<ShownPause> shown_pause(const TopJson& json) {
  if (!json.is_object()) return std::nullopt;
  return ShownPause{.group = text_below(json, "group"),
                    .state = text_below(json, "state"),
                    .left_ms = figure(json, "leftMs"),
                    .status = figure(json, "status")};
}

ShownTimes shown_times(const TopJson& json) {
  return {figure(json, "count"), figure(json, "p50"), figure(json, "p95"), figure(json, "p99"), figure(json, "max")};
}

ShownMinute shown_minute(const TopJson& json) {
  return {.out = figure(json, "out"),
          .out_a_second = figure(json, "outPerSecond"),
          .upstream_429 = figure(json, "upstream429"),
          .refused = counts_below(json, "refused"),
          .statuses = counts_below(json, "statuses"),
          .wait = shown_times(below(json, "waitMs")),
          .flight = shown_times(below(json, "flightMs"))};
}

ShownUpstream shown_upstream(const TopJson& json) {
  const auto& tunnels = below(json, "tunnels");
  ShownUpstream shown{.name = text_below(json, "name"),
                      .quota = text_below(json, "quota"),
                      .state = text_below(json, "state"),
                      .pending = figure(json, "pending"),
                      .max_pending = figure(json, "maxPending"),
                      .in_flight = figure(json, "inFlight"),
                      .max_concurrent = figure(json, "maxConcurrent"),
                      .busy_tunnels = figure(tunnels, "busy"),
                      .resting_tunnels = figure(tunnels, "resting"),
                      .max_tunnels = figure(json, "maxTunnels"),
                      .dispatched = figure(below(json, "totals"), "dispatched"),
                      .head = shown_head(below(json, "head")),
                      .pause = shown_pause(below(json, "pause")),
                      .limits = list_of(json, "limits", shown_limit),
                      .groups = list_of(json, "groups", shown_group),
                      .minute = shown_minute(below(json, "lastMinute")),
                      .tunnels_only = is_true(json, "tunnelsOnly"),
                      .unreachable = is_true(json, "unreachable")};
  shown.out_a_second = shown.minute.out_a_second;
  return shown;
}

int whole_figure(const TopJson& json, const char* key) {
  constexpr double kMost = 1e9;
  return static_cast<int>(std::min(figure(json, key).value_or(0), kMost));
}

RedisNodeSnapshot shown_node(const TopJson& json) {
  return {.name = text_below(json, "name"), .up = is_true(json, "up")};
}

ShownRedis shown_redis(const TopJson& json) {
  return {.told = {.name = text_below(json, "name"),
                   .up = is_true(json, "up"),
                   .processes = whole_figure(json, "processes"),
                   .kind = text_below(json, "kind"),
                   .tls = is_true(json, "tls"),
                   .mode = text_below(json, "mode"),
                   .share_of = whole_figure(json, "shareOf"),
                   .degraded = is_true(json, "degraded"),
                   .limits_differ = texts_below(json, "limitsDiffer"),
                   .nodes = list_of(json, "nodes", shown_node).value_or(std::vector<RedisNodeSnapshot>{})},
          .up = truth(json, "up")};
}

std::vector<ShownRedis> all_redis(const TopJson& json) {
  if (!json.is_object()) return {};
  return list_of(json, "each", shown_redis).value_or(std::vector{shown_redis(json)});
}

/// Of what only grows; unknown where it began anew.
Figure rate_of(Figure now, Figure before, double seconds) {
  return now && before && *now >= *before ? Figure((*now - *before) / seconds) : std::nullopt;
}

void compare_limits(std::vector<ShownLimit>& now, const std::vector<ShownLimit>& before, double seconds) {
  constexpr double kNew = 0.1;  // of a second's pace in the smoothed one
  for (auto& one : now) {
    const auto found = std::ranges::find(before, one.name, &ShownLimit::name);
    if (found == before.end()) continue;
    const auto rate = rate_of(one.used, found->used, seconds);
    one.pace = rate && found->pace ? Figure((1 - kNew) * *found->pace + kNew * *rate) : rate ? rate : found->pace;
  }
}

TopJson parsed_status(std::string_view body) { return TopJson::parse(valid_utf8(body), nullptr, false); }

}  // namespace

std::optional<ShownStatus> read_status(std::string_view body) {
  const auto json = parsed_status(body);
  auto upstreams = list_of(json, "upstreams", shown_upstream);
  if (!upstreams) return std::nullopt;
  return ShownStatus{.version = text_below(json, "version"),
                     .listen = text_below(json, "listen"),
                     .config_hash = text_below(json, "configHash"),
                     .details_why = text_below(json, "detailsWhy"),
                     .draining = truth(json, "draining"),
                     .connections = figure(json, "connections"),
                     .loaded_at = figure(json, "loadedAt"),
                     .redis = all_redis(below(json, "redis")),
                     .reload_errors = texts_below(below(json, "reload"), "errors"),
                     .upstreams = std::move(*upstreams)};
}

void compare(ShownStatus& now, const ShownStatus& before, double seconds_between) {
  if (seconds_between <= 0) return;
  std::map<std::string_view, const ShownUpstream*> earlier;
  for (const auto& one : before.upstreams) earlier[one.name] = &one;
  for (auto& one : now.upstreams) {
    const auto found = earlier.find(one.name);
    if (found == earlier.end()) continue;
    const auto rate = rate_of(one.dispatched, found->second->dispatched, seconds_between);
    if (!one.minute.out_a_second) one.out_a_second = rate;
    if (one.limits && found->second->limits) compare_limits(*one.limits, *found->second->limits, seconds_between);
  }
}

std::string in_one_line(std::string_view body) {
  const auto json = parsed_status(body);
  return json.is_discarded() ? "" : json.dump(-1, ' ', true) + "\n";
}

}  // namespace penstock::app
