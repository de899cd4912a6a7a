// SPDX-License-Identifier: Apache-2.0
// Regimes: named kinds of runs. Each draws a plan from a seed; the same seed always draws the same plan.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "simulation/plan.h"
#include "simulation/random.h"

namespace penstock::simulation {

struct Regime {
  std::string_view name;
  std::string_view about;
  Plan (*draw)(Random&);  ///< draws all but seed and name
};

/// Regimes about one thing come first, then those about anything.
std::span<const Regime> regimes();
/// nullptr: no regime has that name.
const Regime* regime_named(std::string_view name);
Plan draw(const Regime& regime, std::uint64_t seed);

// The tables that make up regimes(), one in each file.
std::vector<Regime> rate_regimes();
std::vector<Regime> share_regimes();
std::vector<Regime> outage_regimes();
std::vector<Regime> memory_regimes();
std::vector<Regime> permit_regimes();
std::vector<Regime> process_regimes();
std::vector<Regime> presence_regimes();
std::vector<Regime> message_regimes();
std::vector<Regime> cluster_regimes();
std::vector<Regime> any_regimes();

}  // namespace penstock::simulation
