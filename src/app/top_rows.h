// SPDX-License-Identifier: Apache-2.0
// The rows of `penstock top`, one for each upstream: its figures, what is happening, and its limits.
#pragma once

#include <cstddef>
#include <vector>

#include "app/top_line.h"
#include "app/top_status.h"

namespace penstock::app {

/// Which columns there are, and how wide the first is.
struct TopTable {
  std::size_t columns = 80;     ///< of the screen
  std::size_t name_cells = 20;  ///< of the names of upstreams
};

/// As wide as the longest name needs, and the screen allows.
TopTable table_for(const std::vector<const ShownUpstream*>& rows, std::size_t columns);

TopLine table_head(const TopTable& table);
/// One line or two: the second has what found no place in the first.
std::vector<TopLine> row_of(const ShownUpstream& upstream, const TopTable& table, bool selected);

/// Their 429s in the last minute; unknown where requests are not seen.
Figure their_429s(const ShownUpstream& upstream);
/// How what is happening is to be seen.
Ink ink_of(const ShownUpstream& upstream);

}  // namespace penstock::app
