// SPDX-License-Identifier: Apache-2.0
// Checks a password against a hash. Takes as long as the hash was made to take: not for the loop's thread.
#pragma once

#include <string>

namespace penstock::access {

/// `password` has no NUL. The comparison of the hashes takes constant time.
bool is_password(const std::string& password, const std::string& hash);

}  // namespace penstock::access
