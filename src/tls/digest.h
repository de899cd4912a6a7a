// SPDX-License-Identifier: Apache-2.0
// Names for texts. Pure.
#pragma once

#include <string>
#include <string_view>

namespace penstock::tls {

/// 32 hexadecimal digits that no other text has (of SHA-256): for the names of files.
std::string digest(std::string_view text);

}  // namespace penstock::tls
