// SPDX-License-Identifier: Apache-2.0
// How `penstock top` writes figures. What is not known is written –, and never 0.
#pragma once

#include <string>

#include "app/top_status.h"

namespace penstock::app {

inline constexpr const char* kUnknown = "–";

/// "3 912", "0.5".
std::string amount(Figure value);
/// "15.0", "120".
std::string rate_a_second(Figure value);
/// "24/200". Without spaces inside of the numbers.
std::string part_of(Figure value, Figure of);
/// "41 ms", "1.7 s", "12 min", "2 h". Of milliseconds.
std::string time_span(Figure milliseconds);
/// "▓▓▓░░░░░", of so many cells; blanks where nobody knows. More than nothing is never shown as nothing.
std::string bar(Figure value, Figure of, std::size_t cells, const char* full = "▓", const char* empty = "░");

/// "hour 3 912 of 5 000, 12 min left at this pace", "pacer 15/s, next in 41 ms". With a bar of so many cells behind the
/// name.
std::string limit_line(const ShownLimit& limit, std::size_t bar_cells);

}  // namespace penstock::app
