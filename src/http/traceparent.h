// SPDX-License-Identifier: Apache-2.0
// The trace that a request belongs to, by W3C Trace Context. Pure.
#pragma once

#include <string_view>

#include "http/fields.h"

namespace penstock::http {

/// The trace-id of a valid `traceparent`, a view into `fields`: 32 hexadecimal digits. Empty: there is none, several,
/// or one that is not valid.
std::string_view trace_id_of(const Fields& fields);

}  // namespace penstock::http
