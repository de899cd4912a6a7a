// SPDX-License-Identifier: Apache-2.0
// Regimes: kinds of runs that have a name. Each draws a plan from a seed; the same seed always draws the same plan.
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
  Plan (*draw)(Random&);  ///< all but seed and name
};

/// Those that are about one thing come first, then those that are about anything.
std::span<const Regime> regimes();
/// nullptr: none has that name.
const Regime* regime_named(std::string_view name);
Plan draw(const Regime& regime, std::uint64_t seed);

// What they are put together from, one table a file.
std::vector<Regime> rate_regimes();
std::vector<Regime> share_regimes();
std::vector<Regime> outage_regimes();
std::vector<Regime> memory_regimes();
std::vector<Regime> permit_regimes();
std::vector<Regime> process_regimes();
std::vector<Regime> presence_regimes();
std::vector<Regime> message_regimes();
std::vector<Regime> any_regimes();

}  // namespace penstock::simulation
