// SPDX-License-Identifier: Apache-2.0
// What vendors publish, as counters that are played against the presets: how many requests, in what time, counted how.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simulation/plan.h"

namespace penstock::simulation {

enum class Counted : std::uint8_t {
  in_any_stretch,  ///< of that length: the strictest way
  from_the_first,  ///< in units that begin with the first request after the one before has ended
};

/// What a page says.
struct Rule {
  int most;
  Time unit;
  bool each_group = false;
  Counted counted = Counted::in_any_stretch;
};

using Name = std::pair<std::string, std::string>;

/// By preset and plan, as in the sentences of presets.yaml. The first is the one that binds.
inline const std::map<Name, std::vector<Rule>> kPublished{
    {{"github", "token"}, {{900, kMinute}, {5000, kHour, false, Counted::from_the_first}}},
    {{"github", "anonymous"}, {{60, kHour, false, Counted::from_the_first}}},
    {{"gitlab", "token"}, {{2000, kMinute}}},
    {{"gitlab", "anonymous"}, {{500, kMinute}}},
    {{"discord", "bot"}, {{50, kSecond}}},
    {{"stripe", "sandbox"}, {{25, kSecond}}},
    {{"stripe", "live"}, {{25, kSecond, true}, {100, kSecond}}},
    {{"slack", "tier1"}, {{1, kMinute, true}}},
    {{"slack", "tier2"}, {{20, kMinute, true}}},
    {{"slack", "tier3"}, {{50, kMinute, true}}},
    {{"slack", "tier4"}, {{100, kMinute, true}}},
    {{"slack-hooks", "any"}, {{1, kSecond, true}}},
    {{"shopify", "standard"}, {{2, kSecond, true}}},
    {{"shopify", "advanced"}, {{4, kSecond, true}}},
    {{"shopify", "plus"}, {{20, kSecond, true}}},
    {{"notion", "any"}, {{3, kSecond}}},
    {{"airtable", "any"}, {{5, kSecond, true}, {50, kSecond}}},
    {{"hubspot", "free"}, {{100, 10 * kSecond}}},          // and 250,000 a day, more than a test can play
    {{"hubspot", "professional"}, {{150, 10 * kSecond}}},  // and 500,000 a day
    {{"google-geocoding", "any"}, {{3000, kMinute}}},
    {{"telegram", "bot"}, {{30, kSecond}}},
};

inline int most_in_any_stretch(const std::vector<Time>& times, Time unit) {
  std::ptrdiff_t most = 0;
  for (auto first = times.begin(), last = first; first != times.end(); ++first) {
    while (last != times.end() && *last < *first + unit) ++last;
    most = std::max(most, last - first);
  }
  return static_cast<int>(most);
}

inline int most_from_the_first(const std::vector<Time>& times, Time unit) {
  int most = 0, count = 0;
  Time begin = times.empty() ? 0 : times.front();
  for (const Time at : times) {
    if (at >= begin + unit) begin = at, count = 0;
    most = std::max(most, ++count);
  }
  return most;
}

inline int most_of(const Rule& rule, const std::vector<Time>& times) {
  return rule.counted == Counted::in_any_stretch ? most_in_any_stretch(times, rule.unit)
                                                 : most_from_the_first(times, rule.unit);
}

}  // namespace penstock::simulation
