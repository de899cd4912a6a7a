// SPDX-License-Identifier: Apache-2.0
// Detects whether a connection that may carry anything carries HTTP/1 requests, from as few bytes as possible. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock::http {

enum class Protocol : std::uint8_t { undecided, request, other };

/// `bytes` are all that have come so far, from the first.
Protocol sniff_protocol(std::string_view bytes);

}  // namespace penstock::http
