// SPDX-License-Identifier: Apache-2.0
// See limit_keys.h.
#include "config/limit_keys.h"

#include <array>
#include <utility>

#include "config/checks.h"
#include "config/key_table.h"
#include "config/units.h"

namespace penstock::config {

namespace {

constexpr Key<PacerConfig> kPacer[] = {value<&PacerConfig::qps>("qps"), value<&PacerConfig::max_burst>("maxBurst"),
                                       value<&PacerConfig::burst_allowance_factor>("burstAllowanceFactor")};
constexpr Key<WindowConfig> kWindow[] = {value<&WindowConfig::reservoir>("reservoir"),
                                         value<&WindowConfig::interval>("interval"),
                                         value<&WindowConfig::spread>("spread")};
constexpr Key<SlidingWindowConfig> kSlidingWindow[] = {value<&SlidingWindowConfig::max>("max"),
                                                       value<&SlidingWindowConfig::interval>("interval")};
constexpr Key<TokenBucketConfig> kTokenBucket[] = {value<&TokenBucketConfig::capacity>("capacity"),
                                                   value<&TokenBucketConfig::refill_amount>("refillAmount"),
                                                   value<&TokenBucketConfig::refill_frequency>("refillFrequency")};
constexpr Key<SemaphoreConfig> kSemaphore[] = {value<&SemaphoreConfig::capacity>("capacity"),
                                               value<&SemaphoreConfig::lease>("lease")};
constexpr Key<CounterConfig> kCounter[] = {value<&CounterConfig::max>("max"), value<&CounterConfig::period>("period")};

std::optional<Rate> rate_at(Reading& reading, const Spot& spot) {
  const auto text = reading.text(spot, "a rate such as 15/s");
  if (!text) return std::nullopt;
  const auto rate = parse_rate(*text);
  if (!rate) {
    reading.complain(spot.node, named(spot.path) + ": '" + spot.node.text +
                                    "' is not a rate, as in 15/s, 900/m, 100/h, 5000/d or 300/15m");
  }
  return rate;
}

template <auto member>
constexpr Key<OwnerOf<member>> per_second(std::string_view name) {
  return {name, [](Reading& r, const Spot& spot, OwnerOf<member>& into) {
            const auto rate = rate_at(r, spot);
            if (rate) into.*member = rate->count / std::chrono::duration<double>(rate->unit).count();
          }};
}
constexpr Key<AdaptiveConfig> kAdaptive[] = {per_second<&AdaptiveConfig::min>("min"),
                                             per_second<&AdaptiveConfig::max>("max")};

void read_unit(Reading& reading, const Spot& spot, LimitConfig& into) {
  const auto text = reading.text(spot, "requests, or the unit of cost");
  if (text && text->empty())
    reading.complain(spot.node, named(spot.path) + " is empty; write requests, or leave it out");
  if (text && *text != kRequests) into.unit = *text;
}

// The keys of a kind: its parameters, and those that all kinds share.
template <typename Kind, const auto& keys, std::size_t... index>
constexpr auto with_common(std::index_sequence<index...>) {
  return std::array<Key<LimitConfig>, sizeof...(index) + 5>{
      Key<LimitConfig>{keys[index].name,
                       [](Reading& r, const Spot& spot, LimitConfig& into) {
                         keys[index].read(r, spot, std::get<Kind>(into.kind));
                       }}...,
      value<&LimitConfig::per>("per"),
      value<&LimitConfig::shared>("shared"),
      value<&LimitConfig::mode>("mode"),
      value<&LimitConfig::name>("name"),
      Key<LimitConfig>{"unit", read_unit}};
}
template <typename Kind, const auto& keys>
constexpr auto kLimit = with_common<Kind, keys>(std::make_index_sequence<std::size(keys)>{});

struct KindKeys {
  LimitConfig::Kind kind;
  std::span<const Key<LimitConfig>> keys;
};
const KindKeys kKinds[] = {{PacerConfig{}, kLimit<PacerConfig, kPacer>},
                           {WindowConfig{}, kLimit<WindowConfig, kWindow>},
                           {SlidingWindowConfig{}, kLimit<SlidingWindowConfig, kSlidingWindow>},
                           {TokenBucketConfig{}, kLimit<TokenBucketConfig, kTokenBucket>},
                           {SemaphoreConfig{}, kLimit<SemaphoreConfig, kSemaphore>},
                           {CounterConfig{}, kLimit<CounterConfig, kCounter>},
                           {AdaptiveConfig{}, kLimit<AdaptiveConfig, kAdaptive>}};

const KindKeys* find_kind(std::string_view name) {
  const auto found = std::find_if(std::begin(kKinds), std::end(kKinds),
                                  [&](const KindKeys& kind) { return limit_key(kind.kind) == name; });
  return found == std::end(kKinds) ? nullptr : found;
}

void complain_unknown_kind(Reading& reading, const Spot& spot, const Node& key) {
  std::vector<std::string_view> names;
  for (const auto& kind : kKinds) names.push_back(limit_key(kind.kind));
  complain_unknown(reading, spot, key, names);
}

// An unreadable limit is left out of `into`. Paths count by `into`, so that they stay in step with it.
void read_limit(Reading& reading, const Spot& item, std::vector<LimitConfig>& into) {
  constexpr std::string_view kExpected =
      " must hold kinds of limits, as in '- window: { reservoir: 10, interval: 1s }'";
  const auto entries = unique_entries(reading, item, kExpected);
  const bool empty =
      item.node.entries.empty() && (item.node.kind == Node::Kind::map || item.node.kind == Node::Kind::null);
  if (empty) reading.complain(item.node, named(item.path) + std::string(kExpected));
  if (entries.empty()) return;
  const auto* kind = find_kind(entries[0]->key.text);
  if (!kind) return complain_unknown_kind(reading, item, entries[0]->key);
  if (entries.size() > 1) {
    reading.complain(entries[1]->key, "one limit is one kind; begin the next with '- " + entries[1]->key.text + ":'");
  }
  const std::string path = item.path + "[" + std::to_string(into.size()) + "]";
  const Node node = at_key_if_null(*entries[0]);
  const Spot spot{node, below(path, limit_key(kind->kind))};
  reading.met(path, item.node);
  reading.met(spot.path, node);
  auto& limit = into.emplace_back(kind->kind, std::string(limit_key(kind->kind)));
  const auto before = reading.problems();
  read_keys(reading, spot, kind->keys, limit);
  if (reading.problems() > before) reading.excuse(spot.path);
}

void check_shared(Reading& reading, const std::string& path, const UpstreamSettings& settings) {
  for (std::size_t i = 0; i < settings.limits.size(); ++i) {
    const auto of_limit = path_of_limit(path, settings, i) + ".shared";
    if (!settings.limits[i].shared || !reading.has_met(of_limit)) continue;
    reading.complain_about(of_limit, named(of_limit) + " needs Redis to share the limit through; set redis.url");
  }
}

}  // namespace

void read_rate(Reading& reading, const Spot& spot, UpstreamSettings& into) {
  const auto rate = rate_at(reading, spot);
  if (!rate) return;
  const auto limits = limits_of(*rate);
  into.limits.insert(into.limits.begin(), limits.begin(), limits.end());
  const auto upstream = spot.path.substr(0, spot.path.rfind('.'));
  for (std::size_t i = 0; i < limits.size(); ++i)
    reading.met(upstream + ".limits[" + std::to_string(i) + "]", spot.node);
}

void read_limits(Reading& reading, const Spot& spot, UpstreamSettings& into) {
  if (spot.node.kind == Node::Kind::null || spot.node.kind == Node::Kind::broken) return;
  if (spot.node.kind != Node::Kind::list) {
    return reading.complain(spot.node, named(spot.path) + " must be a list, as in '- pacer: { qps: 10 }'");
  }
  for (const auto& item : spot.node.items) read_limit(reading, {item, spot.path}, into.limits);
}

void list_limits(const std::string& path, std::vector<std::string>& into) {
  for (const auto& kind : kKinds) {
    const auto here = path + std::string(limit_key(kind.kind));
    into.push_back(here);
    list_keys(kind.keys, here + ".", into);
  }
}

void check_shared(Reading& reading, const Config& config) {
  if (!config.redis.empty()) return;
  check_shared(reading, "upstreams.*", config.unmatched);
  for (const auto& quota : config.quotas) check_shared(reading, "quotas." + quota.name, quota.settings);
  for (const auto& upstream : config.upstreams) {
    check_shared(reading, "upstreams." + upstream.name, upstream.settings);
  }
}

}  // namespace penstock::config
