// SPDX-License-Identifier: Apache-2.0
// The URLs that commands are given may be short: host/path for https://host/path, @NAME for /@NAME.
#pragma once

#include <string>

namespace penstock::app {

inline std::string whole_url(const std::string& given) {
  if (given.starts_with('/') || given.contains("://")) return given;
  return given.starts_with('@') ? "/" + given : "https://" + given;
}

}  // namespace penstock::app
