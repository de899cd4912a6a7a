// SPDX-License-Identifier: Apache-2.0
// The table of all regimes.
#include "simulation/regimes.h"

#include <algorithm>

namespace penstock::simulation {

namespace {

std::vector<Regime> all_regimes() {
  std::vector<Regime> all;
  for (const auto table : {rate_regimes, share_regimes, outage_regimes, memory_regimes, permit_regimes, process_regimes,
                           presence_regimes, message_regimes, cluster_regimes, any_regimes}) {
    std::ranges::copy(table(), std::back_inserter(all));
  }
  return all;
}

/// So that regimes do not draw the same from the same seed.
std::uint64_t mixed(std::string_view name, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash ^ (seed * 0x9e3779b97f4a7c15);
}

}  // namespace

std::span<const Regime> regimes() {
  static const std::vector<Regime> kAll = all_regimes();
  return kAll;
}

const Regime* regime_named(std::string_view name) {
  const auto all = regimes();
  const auto found = std::ranges::find(all, name, &Regime::name);
  return found == all.end() ? nullptr : &*found;
}

Plan draw(const Regime& regime, std::uint64_t seed) {
  Random random(mixed(regime.name, seed));
  Plan plan = regime.draw(random);
  plan.seed = seed;
  plan.regime = regime.name;
  return plan;
}

}  // namespace penstock::simulation
