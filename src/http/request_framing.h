// SPDX-License-Identifier: Apache-2.0
// What the fields of a request mean for its framing and its connection, and which of them make it unacceptable: the
// rules that no parser of single lines can know. Only request_parser uses it.
#pragma once

#include <optional>

#include "http/refusal.h"
#include "http/request_parser.h"

namespace penstock::http {

/// Fills body, content_length, keep_alive, expect_continue and upgrade from method, version and fields; or gives the
/// reason to refuse.
std::optional<Refusal> judge_framing(RequestHead& head);

}  // namespace penstock::http
