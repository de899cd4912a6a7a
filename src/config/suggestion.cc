// SPDX-License-Identifier: Apache-2.0
// See suggestion.h.
#include "config/suggestion.h"

#include <algorithm>
#include <vector>

namespace penstock::config {

namespace {

constexpr std::size_t kLongestMisspelt = 40;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

// Optimal string alignment: insertions, deletions, replacements, and swaps of neighbours. Case is ignored.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const auto same = [&](std::size_t x, std::size_t y) { return lower(a[x - 1]) == lower(b[y - 1]); };
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same(i, j) ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && same(i, j - 1) && same(i - 1, j);
      if (swapped) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> known) {
  if (word.empty() || word.size() > kLongestMisspelt) return std::nullopt;
  std::size_t best = std::max<std::size_t>(1, word.size() / 3) + 1;
  std::optional<std::string_view> found;
  for (const auto candidate : known) {
    const std::size_t d = distance(word, candidate);
    if (d < best) {
      best = d;
      found = candidate;
    }
  }
  return found;
}

}  // namespace penstock::config
