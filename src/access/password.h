// SPDX-License-Identifier: Apache-2.0
// Whether a password is the one behind a hash. Takes as long as the hash was made to take: not for the loop's thread.
#pragma once

#include <string>

namespace penstock::access {

/// `password` has no NUL. In constant time, as far as what is alike is concerned.
bool is_password(const std::string& password, const std::string& hash);

}  // namespace penstock::access
