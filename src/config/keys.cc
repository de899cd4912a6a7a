// SPDX-License-Identifier: Apache-2.0
// See keys.h. Sections are read in the order of their table, not of the file: `defaults` comes before the upstreams
// that start from them.
#include "config/keys.h"

#include <algorithm>
#include <array>

#include "config/cost_keys.h"
#include "config/key_table.h"
#include "config/limit_keys.h"
#include "config/presets.h"
#include "config/redis_keys.h"
#include "config/refusal_keys.h"
#include "config/route_keys.h"
#include "config/suggestion.h"
#include "config/timeout_keys.h"

namespace penstock::config {

namespace {

constexpr Key<ProxyConfig> kProxy[] = {value<&ProxyConfig::listen>("listen"), value<&ProxyConfig::via>("via"),
                                       value<&ProxyConfig::grace>("grace"), value<&ProxyConfig::names>("names"),
                                       value<&ProxyConfig::request_id>("requestId")};
constexpr Key<AdminConfig> kAdmin[] = {
    value<&AdminConfig::listen>("listen"),
    value<&AdminConfig::details>("details"),
    {"page", [](Reading& r, const Spot& spot, AdminConfig& into) { read_switch(r, spot, into.page); }}};
constexpr Key<LogConfig> kLog[] = {value<&LogConfig::level>("level"), value<&LogConfig::events>("events"),
                                   value<&LogConfig::client>("client")};
constexpr Key<DnsConfig> kDns[] = {value<&DnsConfig::servers>("servers"), value<&DnsConfig::timeout>("timeout")};
constexpr Key<QueueConfig> kQueue[] = {value<&QueueConfig::max_pending>("maxPending"),
                                       value<&QueueConfig::max_wait>("maxWait")};
constexpr Key<UpstreamSettings> kSettings[] = {value<&UpstreamSettings::max_concurrent>("maxConcurrent"),
                                               value<&UpstreamSettings::max_tunnels>("maxTunnels"),
                                               value<&UpstreamSettings::max_weight>("maxWeight"),
                                               section<&UpstreamSettings::queue, kQueue>("queue"),
                                               {"timeouts", read_timeouts, list_timeouts},
                                               {"retry", read_retry, list_retry},
                                               value<&UpstreamSettings::https>("https")};
constexpr Key<TlsConfig> kTls[] = {value<&TlsConfig::ca>("ca"), value<&TlsConfig::client_cert>("clientCert"),
                                   value<&TlsConfig::client_key>("clientKey")};
// Further keys of an upstream, which `defaults` does not have. `rate` comes before `limits`, as its pacer does;
// `routes` comes last, since a route starts from all else.
constexpr Key<UpstreamSettings> kLimits[] = {section<&UpstreamSettings::tls, kTls>("tls"),
                                             {"rate", read_rate},
                                             value<&UpstreamSettings::group>("group"),
                                             {"limits", read_limits, list_limits},
                                             value<&UpstreamSettings::obey>("obey"),
                                             value<&UpstreamSettings::max_pause>("maxPause"),
                                             value<&UpstreamSettings::pause_on>("pauseOn"),
                                             value<&UpstreamSettings::pause_scope>("pauseScope"),
                                             value<&UpstreamSettings::learn>("learn"),
                                             {"breaker", read_breaker, list_breaker},
                                             value<&UpstreamSettings::redact>("redact"),
                                             value<&UpstreamSettings::redis>("redis"),
                                             {"cost", read_cost, list_cost},
                                             {"routes", read_routes, list_routes}};
constexpr Key<CapsConfig> kCaps[] = {size<&CapsConfig::header_bytes>("headerBytes"),
                                     value<&CapsConfig::header_count>("headerCount"),
                                     size<&CapsConfig::target_bytes>("targetBytes"),
                                     size<&CapsConfig::trailer_bytes>("trailerBytes"),
                                     size<&CapsConfig::chunk_line_bytes>("chunkLineBytes"),
                                     value<&CapsConfig::pipelined>("pipelined"),
                                     size<&CapsConfig::pending_body_bytes>("pendingBodyBytes"),
                                     size<&CapsConfig::pending_memory>("pendingMemory"),
                                     size<&CapsConfig::replay_body>("replayBody"),
                                     value<&CapsConfig::connections>("connections"),
                                     value<&CapsConfig::connections_per_client>("connectionsPerClient")};
constexpr Key<AccessConfig> kAccess[] = {value<&AccessConfig::clients>("clients"),
                                         value<&AccessConfig::users>("users"),
                                         value<&AccessConfig::hints>("steering"),
                                         value<&AccessConfig::allow>("allow"),
                                         value<&AccessConfig::deny>("deny"),
                                         value<&AccessConfig::connect_ports>("connectPorts"),
                                         value<&AccessConfig::plain_ports>("plainPorts")};
constexpr Key<InterceptConfig> kIntercept[] = {value<&InterceptConfig::ca>("ca"), value<&InterceptConfig::key>("key"),
                                               value<&InterceptConfig::bypass_on_pin>("bypassOnPin"),
                                               value<&InterceptConfig::h2_only>("h2Only")};

constexpr auto kPatternEntry = [] {
  std::array<Key<UpstreamSettings>, std::size(kSettings) + std::size(kLimits)> keys{};
  std::copy(std::begin(kLimits), std::end(kLimits),
            std::copy(std::begin(kSettings), std::end(kSettings), keys.begin()));
  return keys;
}();

// What a quota decides for all upstreams that draw on it; these have all other keys of an upstream.
constexpr std::array<std::string_view, 14> kDecidedByQuota{
    "maxConcurrent", "maxTunnels", "maxWeight", "queue",      "rate",  "group", "limits",
    "obey",          "maxPause",   "pauseOn",   "pauseScope", "learn", "redis", "cost"};
constexpr auto kQuota = [] {
  std::array<Key<UpstreamSettings>, kDecidedByQuota.size()> keys{};
  std::ranges::copy_if(kPatternEntry, keys.begin(),
                       [](const auto& key) { return std::ranges::count(kDecidedByQuota, key.name) > 0; });
  return keys;
}();

// A named upstream has these keys, and `match`, `baseUrl`, `permits` and `quota`.
template <std::size_t... index>
constexpr auto of_named(std::index_sequence<index...>) {
  return std::array<Key<UpstreamConfig>, sizeof...(index) + 4>{
      value<&UpstreamConfig::match>("match"), value<&UpstreamConfig::base_url>("baseUrl"),
      value<&UpstreamConfig::permits>("permits"), value<&UpstreamConfig::quota>("quota"),
      Key<UpstreamConfig>{
          kPatternEntry[index].name,
          [](Reading& r, const Spot& spot, UpstreamConfig& into) { kPatternEntry[index].read(r, spot, into.settings); },
          kPatternEntry[index].list}...};
}
constexpr auto kUpstream = of_named(std::make_index_sequence<std::size(kPatternEntry)>{});

void read_version(Reading& reading, const Spot& spot, Config&) {
  std::size_t version = 1;
  read(reading, spot, version);
  if (version != 1) reading.complain(spot.node, "version must be 1, the only one there is");
}

// In `defaults` the time-outs of a client's connection stand beside those of a request.
template <std::size_t... of_request, std::size_t... of_connection>
constexpr auto all_timeouts(std::index_sequence<of_request...>, std::index_sequence<of_connection...>) {
  return std::array{Key<Config>{kTimeouts[of_request].name,
                                [](Reading& r, const Spot& spot, Config& into) {
                                  kTimeouts[of_request].read(r, spot, into.defaults.timeouts);
                                }}...,
                    Key<Config>{kConnection[of_connection].name, [](Reading& r, const Spot& spot, Config& into) {
                                  kConnection[of_connection].read(r, spot, into.connection);
                                }}...};
}
constexpr auto kAllTimeouts =
    all_timeouts(std::make_index_sequence<std::size(kTimeouts)>{}, std::make_index_sequence<std::size(kConnection)>{});

void read_all_timeouts(Reading& reading, const Spot& spot, Config& config) {
  read_keys(reading, spot, std::span<const Key<Config>>(kAllTimeouts), config);
}
void list_all_timeouts(const std::string& path, std::vector<std::string>& into) { list_keys(kAllTimeouts, path, into); }

template <std::size_t... index>
constexpr auto of_defaults(std::index_sequence<index...>) {
  std::array keys{
      Key<Config>{kSettings[index].name,
                  [](Reading& r, const Spot& spot, Config& into) { kSettings[index].read(r, spot, into.defaults); },
                  kSettings[index].list}...};
  *std::ranges::find(keys, "timeouts", &Key<Config>::name) = {"timeouts", read_all_timeouts, list_all_timeouts};
  return keys;
}
constexpr auto kDefaults = of_defaults(std::make_index_sequence<std::size(kSettings)>{});

void read_defaults(Reading& reading, const Spot& spot, Config& config) {
  read_keys(reading, spot, std::span<const Key<Config>>(kDefaults), config);
  config.unmatched = unmatched_from(config.defaults);
}

void read_unmatched(Reading& reading, const Spot& spot, Config& config) {
  const auto text = reading.text(spot, "pass or deny");
  if (text && *text != "pass" && *text != "deny") reading.complain(spot.node, "unmatched must be pass or deny");
  if (text) config.pass_unmatched = *text != "deny";
}

// The entry "*" has settings only.
void read_pattern_entry(Reading& reading, const Spot& spot, Config& config) {
  Node node = spot.node;
  std::erase_if(node.entries, [&](const Entry& entry) {
    const bool is_match = entry.key.text == "match", is_url = entry.key.text == "baseUrl";
    if (is_match) reading.complain(entry.key, "upstreams.* takes no match: it is what nothing else matches");
    if (is_url) reading.complain(entry.key, "upstreams.* takes no baseUrl: it has no name to be reached by");
    const bool is_permits = entry.key.text == "permits", is_quota = entry.key.text == "quota";
    if (is_permits) reading.complain(entry.key, "upstreams.* takes no permits: it has no name to be asked for by");
    if (is_quota) reading.complain(entry.key, "upstreams.* takes no quota: name the hosts that share an account");
    return is_match || is_url || is_permits || is_quota;
  });
  read_keys(reading, {node, spot.path}, std::span<const Key<UpstreamSettings>>(kPatternEntry), config.unmatched);
}

/// Takes a key out of a map; nothing: it is not there.
std::optional<Entry> take(Node& node, std::string_view name) {
  const auto found = std::ranges::find(node.entries, name, [](const Entry& entry) { return entry.key.text; });
  if (found == node.entries.end()) return std::nullopt;
  auto entry = std::move(*found);
  node.entries.erase(found);
  return entry;
}

/// Null after a complaint.
const Preset* preset_named(Reading& reading, const Spot& spot) {
  const auto text = reading.text(spot, "the name of a preset, as `penstock presets` lists them");
  if (!text) return nullptr;
  const auto* preset = find_preset(*text);
  if (preset) return preset;
  const auto names = preset_names();
  const auto meant = nearest(*text, names);
  reading.complain(spot.node,
                   named(spot.path) + ": there is no preset '" + spot.node.text + "'" +
                       (meant ? "; did you mean '" + std::string(*meant) + "'?" : "; `penstock presets` lists them"));
  return nullptr;
}

const Plan* plan_named(Reading& reading, const Spot& spot, const Preset& preset) {
  const auto text = reading.text(spot, "the name of a plan");
  if (!text) return nullptr;
  if (const auto* plan = find_plan(preset, *text)) return plan;
  std::string all;
  for (const auto& plan : preset.plans) all += (all.empty() ? "" : ", ") + plan.name;
  reading.complain(spot.node, named(spot.path) + ": " + preset.name + " has no plan '" + spot.node.text + "'; " +
                                  (all.empty() ? "it has none" : "there are " + all));
  return nullptr;
}

/// Before the upstream's own: its `retry` leaves what no waiting cures in that API, and its `cost` how that is read.
void read_sections_of(const Preset& preset, Reading& reading, const Spot& spot, UpstreamSettings& into) {
  for (const auto& entry : preset.settings) {
    if (entry.key.text == "retry") read_retry(reading, {entry.value, below(spot.path, "retry")}, into);
    if (entry.key.text == "cost") read_cost(reading, {entry.value, below(spot.path, "cost")}, into);
  }
}

/// The entries of the upstream with those of its preset, which stand in for keys that it does not have itself.
Node with_preset(Reading& reading, const Spot& spot, UpstreamConfig& upstream) {
  Node node = spot.node;
  const auto wanted = take(node, "preset"), tier = take(node, "plan");
  if (!wanted) {
    if (tier)
      reading.complain(tier->key,
                       "plan in " + shown(spot.path) + " is one of a preset; write which, as in preset: github");
    return node;
  }
  const auto* preset = preset_named(reading, {wanted->value, below(spot.path, "preset")});
  if (!preset) return reading.excuse(spot.path), node;
  const auto* plan =
      tier ? plan_named(reading, {tier->value, below(spot.path, "plan")}, *preset) : find_plan(*preset, "");
  upstream.preset = preset->name;
  upstream.plan = plan ? plan->name : "";
  read_sections_of(*preset, reading, spot, upstream.settings);
  auto more = entries_of(*preset, plan, node.entries, wanted->value);
  node.kind = Node::Kind::map;
  node.entries.insert(node.entries.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return node;
}

// The keys of an upstream of permits: all others are about hosts, connections to them, or what they answer.
constexpr std::array<std::string_view, 9> kOfPermits{"permits", "maxConcurrent", "maxWeight", "queue", "rate",
                                                     "group",   "limits",        "redis",     "quota"};

void complain_of_hosts(Reading& reading, const Spot& spot) {
  for (const auto& entry : spot.node.entries) {
    const std::string_view key = entry.key.text;
    const bool known =
        key == "preset" || key == "plan" || std::ranges::count(kUpstream, key, &Key<UpstreamConfig>::name) > 0;
    if (!known || std::ranges::count(kOfPermits, key) > 0) continue;
    reading.complain(at_key_if_null(entry),
                     named(below(spot.path, key)) + " stands beside permits: true, which leads to no host");
  }
}

constexpr std::array<std::string_view, 5> kAlsoInRoute{"maxConcurrent", "queue", "rate", "limits", "obey"};

/// The entries of the upstream without those that its quota decides, if it has one: of these each is an error.
Node without_decided(Reading& reading, const Spot& spot) {
  Node node = spot.node;
  const auto quota = std::ranges::find(node.entries, "quota", [](const Entry& entry) { return entry.key.text; });
  if (quota == node.entries.end()) return node;
  const std::string name = quota->value.text;
  std::erase_if(node.entries, [&](const Entry& entry) {
    const auto& key = entry.key.text;
    const bool is_preset = key == "preset" || key == "plan";
    if (!is_preset && std::ranges::count(kDecidedByQuota, key) == 0) return false;
    const bool in_route = std::ranges::count(kAlsoInRoute, key) > 0;
    reading.complain(entry.key,
                     named(below(spot.path, key)) + " stands beside quota: " + name +
                         (is_preset ? ", and brings limits; write what `penstock presets` shows of it under quotas."
                                    : ", which decides it for all its upstreams; write it under quotas.") +
                         name + (in_route ? ", or in a route" : ""));
    return true;
  });
  return node;
}

void read_named(Reading& reading, const Spot& spot, UpstreamConfig& upstream) {
  const Node own = without_decided(reading, spot);
  const Node node = with_preset(reading, {own, spot.path}, upstream);
  read_keys(reading, {node, spot.path}, std::span<const Key<UpstreamConfig>>(kUpstream), upstream);
  if (upstream.permits) complain_of_hosts(reading, spot);
  const auto& url = upstream.base_url;
  if (!url || url->host.empty() || reading.has_met(below(spot.path, "match"))) return;
  auto& match = upstream.match.emplace_back(Match{.host = url->host});
  if (url->port != (url->secure ? 443 : 80)) match.port = url->port;
}

void read_upstreams(Reading& reading, const Spot& spot, Config& config) {
  for (const auto* entry : unique_entries(reading, spot, " must hold one entry for each upstream, as in 'name: ...'")) {
    const Node node = at_key_if_null(*entry);
    const Spot one{node, below(spot.path, entry->key.text)};
    reading.met(one.path, entry->key);
    if (entry->key.text == "*") {
      read_pattern_entry(reading, one, config);
    } else {
      read_named(reading, one, config.upstreams.emplace_back(entry->key.text, std::vector<Match>{}, config.defaults));
    }
  }
}

void list_upstream(const std::string& path, std::vector<std::string>& into) {
  list_keys(kUpstream, path + "NAME.", into);
  for (const char* key : {"preset", "plan"}) into.push_back(path + "NAME." + key);
}

// Of an upstream's keys a quota has those of the queue alone.
void read_quota(Reading& reading, const Spot& spot, QuotaConfig& quota) {
  Node node = spot.node;
  std::erase_if(node.entries, [&](const Entry& entry) {
    const bool of_upstream = std::ranges::count(kUpstream, entry.key.text, &Key<UpstreamConfig>::name) > 0 &&
                             std::ranges::count(kQuota, entry.key.text, &Key<UpstreamSettings>::name) == 0;
    if (of_upstream)
      reading.complain(entry.key, named(below(spot.path, entry.key.text)) +
                                      " belongs to the upstreams that draw on it, as in upstreams: { NAME: { quota: " +
                                      quota.name + ", … } }");
    return of_upstream;
  });
  read_keys(reading, {node, spot.path}, std::span<const Key<UpstreamSettings>>(kQuota), quota.settings);
}

void read_quotas(Reading& reading, const Spot& spot, Config& config) {
  for (const auto* entry : unique_entries(reading, spot, " must hold one entry for each quota, as in 'name: ...'")) {
    const Node node = at_key_if_null(*entry);
    const Spot one{node, below(spot.path, entry->key.text)};
    reading.met(one.path, entry->key);
    read_quota(reading, one, config.quotas.emplace_back(entry->key.text, config.defaults));
  }
}

Node scalar_at(const Node& place, const std::string& text) {
  return {.kind = Node::Kind::scalar, .line = place.line, .column = place.column, .text = text};
}

/// An upstream of that name with `preset: NAME`, unless `upstreams` has one. `item` has the place.
void read_listed_preset(Reading& reading, const std::string& name, const std::string& plan, const Node& item,
                        Config& config) {
  if (std::ranges::find(config.upstreams, name, &UpstreamConfig::name) != config.upstreams.end()) return;
  Node map{.kind = Node::Kind::map, .line = item.line, .column = item.column};
  map.entries.push_back({scalar_at(item, "preset"), scalar_at(item, name)});
  if (!plan.empty()) map.entries.push_back({scalar_at(item, "plan"), scalar_at(item, plan)});
  const Spot one{map, below("upstreams", name)};
  reading.met(one.path, item);
  read_named(reading, one, config.upstreams.emplace_back(name, std::vector<Match>{}, config.defaults));
}

/// The parts of a preset, with its plan where they have one of that name.
void read_parts(Reading& reading, const Node& item, Config& config) {
  const auto whole = *std::ranges::find(config.upstreams, item.text, &UpstreamConfig::name);
  if (whole.preset != item.text) return;
  for (const auto& name : parts_of(item.text)) {
    const bool same_plan = !whole.plan.empty() && find_plan(*find_preset(name), whole.plan);
    read_listed_preset(reading, name, same_plan ? whole.plan : "", item, config);
  }
}

/// Presets and their parts, unless `upstreams` has something else of their name. A part has the host of the whole, so
/// its https must travel the same way.
void read_presets(Reading& reading, const Spot& spot, Config& config) {
  if (spot.node.kind != Node::Kind::list)
    return reading.complain(spot.node, "presets must be a list, as in [github, openai]");
  const auto own = static_cast<std::ptrdiff_t>(config.upstreams.size());
  for (const auto& item : spot.node.items) read_listed_preset(reading, item.text, "", item, config);
  for (const auto& item : spot.node.items) read_parts(reading, item, config);
  for (const auto& item : spot.node.items) {
    const auto https = std::ranges::find(config.upstreams, item.text, &UpstreamConfig::name)->settings.https;
    for (const auto& name : parts_of(item.text)) {
      const auto part =
          std::ranges::find(config.upstreams.begin() + own, config.upstreams.end(), name, &UpstreamConfig::name);
      if (part != config.upstreams.end()) part->settings.https = https;
    }
  }
}

constexpr Key<Config> kRoot[] = {
    {"version", read_version},
    section<&Config::proxy, kProxy>("proxy"),
    section<&Config::admin, kAdmin>("admin"),
    section<&Config::log, kLog>("log"),
    section<&Config::dns, kDns>("dns"),
    {"defaults", read_defaults,
     [](const std::string& path, std::vector<std::string>& into) { list_keys(kDefaults, path, into); }},
    section<&Config::caps, kCaps>("caps"),
    {"redis", read_redis, list_redis},
    {"unmatched", read_unmatched},
    section<&Config::access, kAccess>("access"),
    section<&Config::intercept, kIntercept>("intercept"),
    {"quotas", read_quotas,
     [](const std::string& path, std::vector<std::string>& into) { list_keys(kQuota, path + "NAME.", into); }},
    {"upstreams", read_upstreams, list_upstream},
    {"presets", read_presets},  // behind the upstreams, which win
};

}  // namespace

void read_root(Reading& reading, const Node& root, Config& config) {
  read_keys(reading, {root, ""}, std::span<const Key<Config>>(kRoot), config);
  check_shared(reading, config);
  const bool missing = root.kind == Node::Kind::null || root.kind == Node::Kind::map;
  if (missing && !reading.has_met("version"))
    reading.complain_about("", "the key 'version' is missing; write version: 1");
}

std::vector<std::string> known_keys() {
  std::vector<std::string> keys;
  list_keys(kRoot, "", keys);
  return keys;
}

}  // namespace penstock::config
