// SPDX-License-Identifier: Apache-2.0
// Whom programs trust by files of their own: the certificates that such a file names already, before a variable of ours
// makes it name others.
#pragma once

#include <string>
#include <vector>

#include "penstock/config.h"

namespace penstock::app {

/// The value of `ca_certificate` in the text of a file of wget; empty: it has none.
std::string ca_certificate_of_wget(const std::string& wgetrc);

/// The value of `cafile` in the user's file of npm, or else in that of all users, wherever it is; empty: there is none.
std::string cafile_of_npm(const Environment& environment);

/// What `key` (`curl.cainfo`) names in each file that the PHP of command lines reads on this machine, whatever its
/// version: its php.ini, and the files of the folders that it scans. `folders`: further ones.
std::vector<std::string> named_by_php(const std::string& key, const Environment& environment,
                                      const std::vector<std::string>& folders);

}  // namespace penstock::app
