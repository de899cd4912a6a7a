// SPDX-License-Identifier: Apache-2.0
// See plain_rows.h.
#include "observe/live/plain_rows.h"

#include <algorithm>
#include <array>
#include <vector>

#include "observe/live/live_texts.h"
#include "observe/state_words.h"

namespace penstock::observe {
namespace {

constexpr std::size_t kCells = 4;

using Cells = std::array<std::string, kCells>;

Cells cells_of(const UpstreamSnapshot& upstream) {
  return {upstream.name, std::to_string(upstream.pending),
          std::to_string(upstream.in_flight) + "/" + std::to_string(upstream.max_concurrent), state_in_words(upstream)};
}

}  // namespace

std::string plain_rows(Snapshot snapshot) {
  const std::size_t not_shown =
      snapshot.upstreams_left_out + keep_busiest(snapshot.upstreams, LiveTexts::kMostUpstreams);
  std::vector<Cells> rows{{"upstream", "waiting", "in flight", "what is happening"}};
  for (const auto& upstream : snapshot.upstreams) rows.push_back(cells_of(upstream));
  std::array<std::size_t, kCells> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < kCells; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (auto& row : rows) {
    for (std::size_t i = 0; i + 1 < kCells; ++i) row[i].resize(widths[i] + 2, ' ');
    for (const auto& cell : row) text += cell;
    text.resize(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  if (not_shown > 0) text += std::to_string(not_shown) + " more are not shown: these are the busiest\n";
  return text;
}

}  // namespace penstock::observe
