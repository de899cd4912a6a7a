// SPDX-License-Identifier: Apache-2.0
// Random plans from the whole range of what a configuration allows, and of faults.
#pragma once

#include <optional>

#include "simulation/plan.h"
#include "simulation/random.h"

namespace penstock::simulation {

/// In the order of LimitConfig::Kind.
enum class DrawnKind : std::size_t { pacer, window, sliding_window, token_bucket, semaphore, counter };
inline constexpr std::size_t kLimitKinds = 6;

/// A limit with random parameters from their whole ranges; each order of magnitude is equally likely.
LimitConfig any_limit(Random& random, DrawnKind kind, bool for_group = false);

/// What is not left to chance.
struct Wishes {
  std::optional<DrawnKind> kind;  ///< of the first limit
  bool one_limit = false;         ///< and no other limit
  int members = 0;                ///< 0: 1 to 16
  bool faults = false;
  bool rare_faults = false;  ///< instead of the usual ones
  std::optional<WhenDown> when_down;
  bool groups = false;              ///< there are groups, with limits of their own
  bool comings_and_goings = false;  ///< processes join, and are told to end
  bool routes = false;              ///< some requests are of a route, with limits of its own
};

Plan any_plan(Random& random, const Wishes& wishes);

/// One to four faults of all kinds that affect Redis, the network and processes, except the rare ones below.
void any_faults(Random& random, Plan& plan);
/// One to three faults of messages, replies, scripts and ids, and perhaps an outage. Separate, so that what a seed
/// draws with any_faults() stays the same.
void rare_faults(Random& random, Plan& plan);

}  // namespace penstock::simulation
