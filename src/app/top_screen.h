// SPDX-License-Identifier: Apache-2.0
// The picture of `penstock top`: a pure function of what is known, of what the user has chosen to see, and of the size.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/top_line.h"
#include "app/top_status.h"
#include "app/top_view.h"

namespace penstock::app {

struct TopSize {
  std::size_t columns = 80, rows = 24;
};

/// What is known.
struct TopNews {
  ShownStatus status;
  double now = 0;            ///< seconds since 1970
  std::string trouble = {};  ///< why the daemon does not answer now; empty: it does
  double age = 0;            ///< of the status, in seconds, where there is trouble
};

constexpr std::size_t kLeastColumns = 80, kLeastRows = 24;

/// As many lines as the size has rows, and none wider than it has columns.
std::vector<TopLine> top_screen(const TopNews& news, const TopView& view, const TopSize& size);

/// All rows without a screen around them, for a reader that is no terminal.
std::vector<TopLine> top_lines(const TopNews& news, std::size_t columns);

}  // namespace penstock::app
