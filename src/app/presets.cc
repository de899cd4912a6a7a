// SPDX-License-Identifier: Apache-2.0
// `penstock presets` and `penstock init`: what is known of vendors' APIs, and a file that begins with it.
#include "config/presets.h"

#include <algorithm>
#include <iostream>

#include "app/commands.h"
#include "app/settings.h"
#include "config/suggestion.h"

namespace penstock::app {

namespace {

using config::Plan;
using config::Preset;

constexpr const char* kUnverified =
    "limits not verified: no page is known that has them; 429s with Retry-After are obeyed";

/// Null after a complaint.
const Preset* known(const std::string& name) {
  if (const auto* preset = config::find_preset(name)) return preset;
  const auto names = config::preset_names();
  const auto meant = config::nearest(name, names);
  complain("there is no preset '" + name + "'" +
           (meant ? "; did you mean '" + std::string(*meant) + "'?" : "; `penstock presets` lists them"));
  return nullptr;
}

std::string limits_of(const Plan& plan) {
  std::string text;
  for (const auto& entry : plan.limits)
    text += (text.empty() ? "" : ", ") + entry.key.text + ": " + config::flow_text(entry.value);
  return text;
}

void print_source(const config::Source& source, const char* before) {
  for (const auto& sentence : source.says) std::cout << before << "  \"" << sentence << "\"\n";
  std::cout << before << "  " << source.page << ", read on " << source.read << '\n';
}

void print_plan(const Plan& plan, const char* before) {
  std::cout << before << plan.name << ": " << limits_of(plan) << '\n';
  print_source(plan.source, before);
  if (plan.of_routes) print_source(*plan.of_routes, before);
}

int print_one(const Preset& preset) {
  std::cout << preset.name << ": " << preset.title << '\n';
  for (const auto& entry : preset.settings)
    std::cout << "  " << entry.key.text << ": " << config::flow_text(entry.value) << '\n';
  if (preset.refusals) std::cout << "of refusals:\n", print_source(*preset.refusals, "");
  if (preset.plans.empty()) std::cout << "  " << kUnverified << '\n';
  if (!preset.plans.empty()) std::cout << "plans, of which the first holds where none is chosen:\n";
  for (const auto& plan : preset.plans) print_plan(plan, "  ");
  return 0;
}

int list() {
  std::size_t widest = 0;
  for (const auto& preset : config::presets()) widest = std::max(widest, preset.name.size());
  for (const auto& preset : config::presets()) {
    std::cout << preset.name << std::string(widest + 2 - preset.name.size(), ' ') << preset.title
              << (preset.plans.empty() ? " (limits not verified)" : "") << '\n';
  }
  return 0;
}

void print_upstream(const Preset& preset) {
  std::cout << "  " << preset.name << ":    # " << preset.title << "\n    preset: " << preset.name << '\n';
  if (preset.plans.empty()) std::cout << "    # " << kUnverified << "; what yours are you write as\n    # rate: 5/s\n";
  for (const auto& plan : preset.plans) {
    if (preset.plans.size() > 1)
      std::cout << "    " << (&plan == preset.plans.data() ? "" : "#") << "plan: " << plan.name << '\n';
    print_plan(plan, "    #   ");
  }
}

}  // namespace

int presets(const std::string& name) {
  if (name.empty()) return list();
  const auto* preset = known(name);
  return preset ? print_one(*preset) : 1;
}

int init(const std::vector<std::string>& names) {
  std::vector<const Preset*> wanted;
  const auto want = [&](const Preset* preset) {
    if (std::ranges::find(wanted, preset) == wanted.end()) wanted.push_back(preset);
  };
  for (const auto& name : names) {
    const auto* preset = known(name);
    if (!preset) return 1;
    want(preset);
    for (const auto& part : preset->with) want(config::find_preset(part));
  }
  std::cout
      << "# Check it with `penstock check FILE`, run it with `penstock run FILE`. Every key: config/reference.yaml.\n"
         "# Programs that call http://… through http_proxy are held to the limits, request by request. Those that "
         "call\n"
         "# https://… pass in tunnels, whose requests nobody sees. For these write `https: intercept` beside each "
         "preset\n"
         "# (docs/https.md), or run them by `penstock exec --preset`.\n"
         "version: 1\n\n# With Redis, all processes on all machines keep these limits together.\n"
         "#redis: { url: redis://127.0.0.1:6379/0 }\n\nupstreams:\n";
  for (const auto* preset : wanted) print_upstream(*preset);
  return 0;
}

}  // namespace penstock::app
