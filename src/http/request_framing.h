// SPDX-License-Identifier: Apache-2.0
// What a request's fields mean for its framing and its connection, and which of them make it unacceptable: the rules
// that a parser of single lines cannot know. Only request_parser uses it.
#pragma once

#include <optional>

#include "http/refusal.h"
#include "http/request_head.h"

namespace penstock::http {

/// Fills body, content_length, keep_alive, expect_continue and upgrade from method, version and fields; or returns the
/// reason to refuse.
std::optional<Refusal> judge_framing(RequestHead& head);

}  // namespace penstock::http
