// SPDX-License-Identifier: Apache-2.0
// See keys.h. Sections are read in the order of their table, whatever the order of the file: `defaults` before the
// upstreams that start from them.
#include "config/keys.h"

#include <algorithm>
#include <span>

#include "config/suggestion.h"

namespace penstock::config {

namespace {

template <typename Owner>
struct Key {
  std::string_view name;
  void (*read)(Reading&, const Spot&, Owner&);
  void (*list)(const std::string& path, std::vector<std::string>& into) = nullptr;  // of a section: what is below it
};

template <typename>
struct Pointed;
template <typename Class, typename Member>
struct Pointed<Member Class::*> {
  using Owner = Class;
  using Type = Member;
};
template <auto member>
using OwnerOf = typename Pointed<decltype(member)>::Owner;

template <auto member>
constexpr Key<OwnerOf<member>> value(std::string_view name) {
  return {name, [](Reading& r, const Spot& spot, OwnerOf<member>& into) { read(r, spot, into.*member); }};
}

template <auto member>
constexpr Key<OwnerOf<member>> size(std::string_view name) {
  return {name, [](Reading& r, const Spot& spot, OwnerOf<member>& into) { read_size(r, spot, into.*member); }};
}

void list_keys(const auto& keys, const std::string& path, std::vector<std::string>& into) {
  for (const auto& key : keys) {
    const std::string here = path + std::string(key.name);
    into.push_back(here);
    if (key.list) key.list(here + ".", into);
  }
}

// The entries of a map with each key once; what else is there is complained of. Nothing where it is no map.
std::vector<const Entry*> unique_entries(Reading& reading, const Spot& spot, std::string_view expected) {
  std::vector<const Entry*> entries;
  if (spot.node.kind != Node::Kind::map) {
    const bool open = spot.node.kind == Node::Kind::null || spot.node.kind == Node::Kind::broken;
    if (!open) reading.complain(spot.node, (spot.path.empty() ? "the file" : named(spot.path)) + std::string(expected));
    return entries;
  }
  for (const auto& entry : spot.node.entries) {
    const auto same = [&](const Entry* earlier) { return earlier->key.text == entry.key.text; };
    const auto earlier = std::find_if(entries.begin(), entries.end(), same);
    if (entry.key.kind != Node::Kind::scalar) continue;
    if (entry.key.text == "<<") {
      reading.complain(entry.key, "merge keys are not supported");
    } else if (earlier == entries.end()) {
      entries.push_back(&entry);
    } else {
      reading.complain(entry.key, "duplicate key '" + entry.key.text + "'" +
                                      (spot.path.empty() ? "" : " in " + spot.path) + "; the first is in line " +
                                      std::to_string((*earlier)->key.line));
    }
  }
  return entries;
}

std::string listed(std::span<const std::string_view> names) {
  std::string text;
  for (const auto name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

void complain_unknown(Reading& reading, const Spot& spot, const Node& key, std::span<const std::string_view> known) {
  std::string message = "unknown key '" + key.text + "'" + (spot.path.empty() ? "" : " in " + spot.path);
  if (const auto meant = nearest(key.text, known)) {
    message += "; did you mean '" + std::string(*meant) + "'?";
  } else {
    message += "; known here: " + listed(known);
  }
  reading.complain(key, std::move(message));
}

std::string below(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

// A value that is missing stands nowhere: its key's place is the next best.
Node at_key_if_null(const Entry& entry) {
  if (entry.value.kind != Node::Kind::null) return entry.value;
  return {.kind = Node::Kind::null, .line = entry.key.line, .column = entry.key.column};
}

template <typename Owner>
void read_keys(Reading& reading, const Spot& spot, std::span<const Key<Owner>> keys, Owner& into) {
  const auto entries = unique_entries(reading, spot, " must hold keys, as in 'key: value'");
  std::vector<std::string_view> names;
  for (const auto& key : keys) names.push_back(key.name);
  for (const auto* entry : entries) {
    const bool known = std::find(names.begin(), names.end(), entry->key.text) != names.end();
    if (!known) complain_unknown(reading, spot, entry->key, names);
  }
  for (const auto& key : keys) {
    const auto is_it = [&](const Entry* entry) { return entry->key.text == key.name; };
    const auto found = std::find_if(entries.begin(), entries.end(), is_it);
    if (found == entries.end()) continue;
    const Node node = at_key_if_null(**found);
    const Spot below_spot{node, below(spot.path, key.name)};
    reading.met(below_spot.path, node);
    key.read(reading, below_spot, into);
  }
}

template <auto member, const auto& keys>
constexpr Key<OwnerOf<member>> section(std::string_view name) {
  using Section = typename Pointed<decltype(member)>::Type;
  return {name,
          [](Reading& r, const Spot& spot, OwnerOf<member>& into) {
            read_keys(r, spot, std::span<const Key<Section>>(keys), into.*member);
          },
          [](const std::string& path, std::vector<std::string>& into) { list_keys(keys, path, into); }};
}

constexpr Key<ProxyConfig> kProxy[] = {value<&ProxyConfig::listen>("listen"), value<&ProxyConfig::via>("via"),
                                       value<&ProxyConfig::grace>("grace")};
constexpr Key<AdminConfig> kAdmin[] = {value<&AdminConfig::listen>("listen")};
constexpr Key<LogConfig> kLog[] = {value<&LogConfig::level>("level"), value<&LogConfig::events>("events")};
constexpr Key<DnsConfig> kDns[] = {value<&DnsConfig::servers>("servers"), value<&DnsConfig::timeout>("timeout")};
constexpr Key<QueueConfig> kQueue[] = {value<&QueueConfig::max_pending>("maxPending"),
                                       value<&QueueConfig::max_wait>("maxWait")};
constexpr Key<TimeoutConfig> kTimeouts[] = {value<&TimeoutConfig::connect>("connect"),
                                            value<&TimeoutConfig::first_byte>("firstByte"),
                                            value<&TimeoutConfig::idle>("idle"), value<&TimeoutConfig::total>("total")};
constexpr Key<UpstreamSettings> kSettings[] = {value<&UpstreamSettings::max_concurrent>("maxConcurrent"),
                                               section<&UpstreamSettings::queue, kQueue>("queue"),
                                               section<&UpstreamSettings::timeouts, kTimeouts>("timeouts")};
constexpr Key<CapsConfig> kCaps[] = {size<&CapsConfig::header_bytes>("headerBytes"),
                                     value<&CapsConfig::header_count>("headerCount"),
                                     size<&CapsConfig::target_bytes>("targetBytes"),
                                     size<&CapsConfig::trailer_bytes>("trailerBytes"),
                                     size<&CapsConfig::chunk_line_bytes>("chunkLineBytes"),
                                     value<&CapsConfig::pipelined>("pipelined"),
                                     size<&CapsConfig::pending_body_bytes>("pendingBodyBytes"),
                                     size<&CapsConfig::pending_memory>("pendingMemory")};
constexpr Key<AccessConfig> kAccess[] = {value<&AccessConfig::clients>("clients"), value<&AccessConfig::allow>("allow"),
                                         value<&AccessConfig::deny>("deny")};

// An upstream's keys are those of its settings, and `match`.
template <std::size_t... index>
constexpr auto with_match(std::index_sequence<index...>) {
  return std::array<Key<UpstreamConfig>, sizeof...(index) + 1>{
      value<&UpstreamConfig::match>("match"),
      Key<UpstreamConfig>{
          kSettings[index].name,
          [](Reading& r, const Spot& spot, UpstreamConfig& into) { kSettings[index].read(r, spot, into.settings); },
          kSettings[index].list}...};
}
constexpr auto kUpstream = with_match(std::make_index_sequence<std::size(kSettings)>{});

void read_version(Reading& reading, const Spot& spot, Config&) {
  std::size_t version = 1;
  read(reading, spot, version);
  if (version != 1) reading.complain(spot.node, "version must be 1, the only one there is");
}

void read_defaults(Reading& reading, const Spot& spot, Config& config) {
  read_keys(reading, spot, std::span<const Key<UpstreamSettings>>(kSettings), config.defaults);
  config.unmatched = config.defaults;
}

void read_unmatched(Reading& reading, const Spot& spot, Config& config) {
  const auto text = reading.text(spot, "pass or deny");
  if (text && *text != "pass" && *text != "deny") reading.complain(spot.node, "unmatched must be pass or deny");
  if (text) config.pass_unmatched = *text != "deny";
}

// The entry "*": settings only.
void read_pattern_entry(Reading& reading, const Spot& spot, Config& config) {
  Node node = spot.node;
  std::erase_if(node.entries, [&](const Entry& entry) {
    const bool is_match = entry.key.text == "match";
    if (is_match) reading.complain(entry.key, "upstreams.* takes no match: it is what nothing else matches");
    return is_match;
  });
  read_keys(reading, {node, spot.path}, std::span<const Key<UpstreamSettings>>(kSettings), config.unmatched);
}

void read_upstreams(Reading& reading, const Spot& spot, Config& config) {
  for (const auto* entry : unique_entries(reading, spot, " must hold one entry for each upstream, as in 'name: ...'")) {
    const Node node = at_key_if_null(*entry);
    const Spot one{node, below(spot.path, entry->key.text)};
    reading.met(one.path, entry->key);
    if (entry->key.text == "*") {
      read_pattern_entry(reading, one, config);
    } else {
      auto& upstream = config.upstreams.emplace_back(entry->key.text, std::vector<Match>{}, config.defaults);
      read_keys(reading, one, std::span<const Key<UpstreamConfig>>(kUpstream), upstream);
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
     [](const std::string& path, std::vector<std::string>& into) { list_keys(kSettings, path, into); }},
    section<&Config::caps, kCaps>("caps"),
    {"unmatched", read_unmatched},
    section<&Config::access, kAccess>("access"),
    {"upstreams", read_upstreams,
     [](const std::string& path, std::vector<std::string>& into) { list_keys(kUpstream, path + "NAME.", into); }},
};

}  // namespace

void read_root(Reading& reading, const Node& root, Config& config) {
  read_keys(reading, {root, ""}, std::span<const Key<Config>>(kRoot), config);
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
