// SPDX-License-Identifier: Apache-2.0
// Finds the certificates that programs' own settings name, before a variable of ours makes them name others.
#pragma once

#include <string>
#include <vector>

#include "penstock/config.h"

namespace penstock::app {

/// The value of `ca_certificate` in the text of a wgetrc; empty: it has none.
std::string ca_certificate_of_wget(const std::string& wgetrc);

/// The value of `cafile` in the user's npmrc, or else in that of all users, wherever it is; empty: there is none.
std::string cafile_of_npm(const Environment& environment);

/// The values of `key` (`curl.cainfo`) in each file that command-line PHP of any version reads on this machine: its
/// php.ini, and the files of the folders that it scans. `folders`: further ones.
std::vector<std::string> named_by_php(const std::string& key, const Environment& environment,
                                      const std::vector<std::string>& folders);

}  // namespace penstock::app
