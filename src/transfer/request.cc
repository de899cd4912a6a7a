// SPDX-License-Identifier: Apache-2.0
// How header lines lie in their block.
#include "transfer/request.h"

#include <strings.h>

namespace penstock::transfer {

void HeaderLines::reserve(std::size_t bytes, std::size_t lines) {
  text_.reserve(bytes);
  starts_.reserve(lines);
}

void HeaderLines::add(std::string_view name, std::string_view value) {
  starts_.push_back(static_cast<std::uint32_t>(text_.size()));
  text_.append(name);
  if (value.empty()) {
    text_.push_back(';');
  } else {
    text_.append(": ").append(value);
  }
  text_.push_back('\0');
  if (name.size() == 6 && strncasecmp(name.data(), "Accept", 6) == 0) has_accept_ = true;
}

}  // namespace penstock::transfer
