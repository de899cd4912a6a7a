// SPDX-License-Identifier: Apache-2.0
// See watched_authority.h.
#include "app/watched_authority.h"

#include <utility>

#include "app/authority_file.h"

namespace penstock::app {

WatchedAuthority::WatchedAuthority(NoticeSink notices) : notices_(std::move(notices)) {}

void WatchedAuthority::change(std::shared_ptr<const tls::Authority> authority) {
  authority_ = std::move(authority);
  told_.clear();
  look();
}

/// The warning names the days that are left, so it differs each day.
void WatchedAuthority::look() {
  auto warning = authority_ ? warning_of_end(*authority_) : "";
  if (warning != told_ && !warning.empty()) notices_({.level = LogLevel::warn, .text = warning});
  told_ = std::move(warning);
}

}  // namespace penstock::app
