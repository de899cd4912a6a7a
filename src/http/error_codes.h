// SPDX-License-Identifier: Apache-2.0
// Which error an answer's JSON body names. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "http/fields.h"

namespace penstock::http {

/// Whether a body with these fields can name an error: it is JSON, and not encoded.
bool may_name_error(const Fields& fields);

/// Whether a `code`, `type` or `error_code`, at any depth, is one of `codes`. False for a body that is not JSON by its
/// fields, or is encoded, or malformed before such a word.
bool names_error(const Fields& fields, std::string_view body, std::span<const std::string> codes);

}  // namespace penstock::http
