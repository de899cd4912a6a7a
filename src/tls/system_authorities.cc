// SPDX-License-Identifier: Apache-2.0
// See system_authorities.h.
#include "tls/system_authorities.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace penstock::tls {

std::string system_authorities(const std::string& root) {
  const char* chosen = std::getenv("SSL_CERT_FILE");
  if (chosen && *chosen) return chosen;
  const auto there = std::ranges::find_if(kSystemAuthorities, [&root](const char* place) {
    std::error_code unknown;
    return std::filesystem::exists(root + place, unknown);
  });
  return root + (there == kSystemAuthorities.end() ? kSystemAuthorities.front() : *there);
}

}  // namespace penstock::tls
