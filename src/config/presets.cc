// SPDX-License-Identifier: Apache-2.0
// See presets.h.
#include "config/presets.h"

#include <algorithm>
#include <utility>

#include "config/presets_text.h"

namespace penstock::config {

namespace {

/// Null: the map has no such key. The table is a part of the program, and a test reads all of it.
const Node* value_of(const Node& map, std::string_view key) {
  const auto found = std::ranges::find(map.entries, key, [](const Entry& entry) { return entry.key.text; });
  return found == map.entries.end() ? nullptr : &found->value;
}

std::string text_of(const Node& map, std::string_view key) {
  const auto* node = value_of(map, key);
  return node ? node->text : std::string();
}

Source source_of(const Node& map) {
  Source source{.page = text_of(map, "page"), .read = text_of(map, "read"), .says = {}};
  if (const auto* says = value_of(map, "says")) {
    for (const auto& sentence : says->items) source.says.push_back(sentence.text);
  }
  return source;
}

bool is_limit(std::string_view key) { return key == "rate" || key == "limits" || key == "routes"; }

Plan plan_of(const Entry& entry) {
  Plan plan{.name = entry.key.text, .source = source_of(entry.value)};
  for (const auto& limit : entry.value.entries) {
    if (is_limit(limit.key.text)) plan.limits.push_back(limit);
  }
  if (const auto* of_routes = value_of(entry.value, "of_routes")) plan.of_routes = source_of(*of_routes);
  return plan;
}

Preset preset_of(const Entry& entry) {
  Preset preset{.name = entry.key.text, .title = text_of(entry.value, "title")};
  if (const auto* settings = value_of(entry.value, "settings")) preset.settings = settings->entries;
  if (const auto* with = value_of(entry.value, "with")) {
    for (const auto& name : with->items) preset.with.push_back(name.text);
  }
  if (const auto* refusals = value_of(entry.value, "refusals")) preset.refusals = source_of(*refusals);
  if (const auto* plans = value_of(entry.value, "plans")) {
    for (const auto& plan : plans->entries) preset.plans.push_back(plan_of(plan));
  }
  return preset;
}

std::vector<Preset> table() {
  const auto document = parse_document(kPresets);
  std::vector<Preset> all;
  for (const auto& entry : value_of(document.value().root, "presets")->entries) all.push_back(preset_of(entry));
  return all;
}

void put_at(Node& node, const Node& place) {
  node.line = place.line;
  node.column = place.column;
  for (auto& item : node.items) put_at(item, place);
  for (auto& entry : node.entries) put_at(entry.key, place), put_at(entry.value, place);
}

}  // namespace

std::span<const Preset> presets() {
  static const std::vector<Preset> all = table();
  return all;
}

const Preset* find_preset(std::string_view name) {
  const auto found = std::ranges::find(presets(), name, &Preset::name);
  return found == presets().end() ? nullptr : &*found;
}

std::vector<std::string> parts_of(const std::string& name) {
  const auto* preset = find_preset(name);
  return preset ? preset->with : std::vector<std::string>();
}

std::vector<std::string_view> preset_names() {
  std::vector<std::string_view> names;
  for (const auto& preset : presets()) names.emplace_back(preset.name);
  return names;
}

const Plan* find_plan(const Preset& preset, std::string_view name) {
  if (name.empty()) return preset.plans.empty() ? nullptr : preset.plans.data();
  const auto found = std::ranges::find(preset.plans, name, &Plan::name);
  return found == preset.plans.end() ? nullptr : &*found;
}

std::vector<Entry> entries_of(const Preset& preset, const Plan* plan, const std::vector<Entry>& beside,
                              const Node& at) {
  const auto has = [&](std::string_view key) {
    return std::ranges::any_of(beside, [&](const Entry& entry) { return entry.key.text == key; });
  };
  std::vector<Entry> entries;
  for (const auto& entry : preset.settings) {
    if (!has(entry.key.text)) entries.push_back(entry);
  }
  if (plan && !has("rate") && !has("limits")) {
    for (const auto& entry : plan->limits) {
      if (!has(entry.key.text)) entries.push_back(entry);
    }
  }
  for (auto& entry : entries) put_at(entry.key, at), put_at(entry.value, at);
  return entries;
}

std::string flow_text(const Node& node) {
  std::string text;
  if (node.kind == Node::Kind::scalar) return node.quoted ? "\"" + node.text + "\"" : node.text;
  if (node.kind == Node::Kind::list) {
    for (const auto& item : node.items) text += (text.empty() ? "" : ", ") + flow_text(item);
    return "[" + text + "]";
  }
  for (const auto& entry : node.entries)
    text += (text.empty() ? "" : ", ") + entry.key.text + ": " + flow_text(entry.value);
  return "{ " + text + " }";
}

}  // namespace penstock::config
