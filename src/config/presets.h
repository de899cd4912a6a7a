// SPDX-License-Identifier: Apache-2.0
// Ready settings for well-known APIs, from the table presets.yaml, which is a part of the program. A plan has limits,
// and what they rest on: a page, the day on which it was read, and its words.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/document.h"

namespace penstock::config {

/// What is said rests on a page.
struct Source {
  std::string page;               ///< its address
  std::string read;               ///< the day, 2026-11-27
  std::vector<std::string> says;  ///< its own words
};

struct Plan {
  std::string name;
  Source source;
  std::vector<Entry> limits;             ///< `rate`, `limits`, `routes`
  std::optional<Source> of_routes = {};  ///< what `routes` rest on beside `source`
};

struct Preset {
  std::string name;
  std::string title;               ///< for people
  std::vector<Entry> settings;     ///< keys of an upstream, without its limits
  std::vector<std::string> with;   ///< presets of parts that are counted apart, which come along where it is listed
  std::optional<Source> refusals;  ///< of the settings that are about refusals: pauseOn, pauseScope, retry
  std::vector<Plan> plans;         ///< the lowest first; empty: no page is known that has figures
};

/// In the order of the table. Made at the first call; any thread.
std::span<const Preset> presets();
/// Null: there is none of that name.
const Preset* find_preset(std::string_view name);
/// The presets that come along with that one.
std::vector<std::string> parts_of(const std::string& name);
/// The names, as in "github, gitlab".
std::vector<std::string_view> preset_names();

/// The plan of that name, the first where it is empty; null: there is none.
const Plan* find_plan(const Preset& preset, std::string_view name);

/// The settings and limits as entries of an upstream at this position, without those keys that `beside` has. Where that
/// has `rate` or `limits`, the plan's are left out, and its routes.
std::vector<Entry> entries_of(const Preset& preset, const Plan* plan, const std::vector<Entry>& beside, const Node& at);

/// As YAML in one line: `[api.github.com, uploads.github.com]`.
std::string flow_text(const Node& node);

}  // namespace penstock::config
