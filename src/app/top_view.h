// SPDX-License-Identifier: Apache-2.0
// What the user has chosen to see, and what keys change of that. Pure. For `penstock top` only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "app/top_keys.h"
#include "app/top_status.h"

namespace penstock::app {

struct TopView {
  enum class Sort : std::uint8_t { waiting, rate, name };
  enum class Page : std::uint8_t { list, filter, details, help };  ///< filter: the list, while its filter is written

  Sort sort = Sort::waiting;
  Page page = Page::list;
  std::string filter = {};    ///< a part of a name or of what is happening, whatever its case
  std::string selected = {};  ///< the name of an upstream; where there is none of it, the first row is
  std::size_t scrolled = 0;   ///< lines of the details that are above the screen
  bool held = false;          ///< what is shown stands still
};

/// Those that the filter lets pass, in order.
std::vector<const ShownUpstream*> rows_of(const ShownStatus& status, const TopView& view);
/// The place of the selected one; 0 where there is none of it.
std::size_t selected_of(const std::vector<const ShownUpstream*>& rows, const TopView& view);

/// What the key changes. True: it ends the program.
bool press(TopView& view, const Key& key, const ShownStatus& status);

}  // namespace penstock::app
