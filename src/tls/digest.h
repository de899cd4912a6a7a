// SPDX-License-Identifier: Apache-2.0
// Short names for texts, by hashing. Pure.
#pragma once

#include <string>
#include <string_view>

namespace penstock::tls {

/// The first 32 hexadecimal digits of the text's SHA-256, for file names.
std::string digest(std::string_view text);

}  // namespace penstock::tls
