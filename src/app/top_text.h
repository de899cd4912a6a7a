// SPDX-License-Identifier: Apache-2.0
// Text in the cells of a terminal: what a daemon says is made harmless, and measured. Pure. For `penstock top` only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::app {

/// The text with U+FFFD for each byte that is no UTF-8.
std::string valid_utf8(std::string_view text);

/// The text as it may reach a terminal. U+FFFD stands for control characters, those that turn the direction of writing,
/// invisible ones and bytes that are no UTF-8. A character keeps three combining ones at most.
std::string safe_text(std::string_view text);

enum class Side : std::uint8_t { left, right };

/// How many cells safe text takes. A character of CJK takes two.
std::size_t cells_of(std::string_view safe);
/// Safe text in exactly so many cells: blanks fill them up, … says that it was cut.
std::string in_cells(std::string_view safe, std::size_t cells, Side side = Side::left);
/// Safe text for a terminal that has ASCII alone, in as many cells.
std::string in_ascii(std::string_view safe);

}  // namespace penstock::app
