// SPDX-License-Identifier: Apache-2.0
// What a table of keys is made of: a key's name, and the function that reads its value into the owner, be it a single
// value or a section of further keys. For keys.cc and limit_keys.cc, which have the tables.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/reading.h"

namespace penstock::config {

template <typename Owner>
struct Key {
  std::string_view name;
  void (*read)(Reading&, const Spot&, Owner&);
  void (*list)(const std::string& path, std::vector<std::string>& into) = nullptr;  // of a section: the keys below it
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

/// The entries of a map, each key once; reports all others. Empty if the node is no map.
std::vector<const Entry*> unique_entries(Reading& reading, const Spot& spot, std::string_view expected);
void complain_unknown(Reading& reading, const Spot& spot, const Node& key, std::span<const std::string_view> known);
std::string below(const std::string& path, std::string_view key);
/// A missing value has no position, so it gets that of its key.
Node at_key_if_null(const Entry& entry);

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

}  // namespace penstock::config
