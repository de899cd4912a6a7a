// SPDX-License-Identifier: Apache-2.0
// Whether a connection that may carry anything carries HTTP/1 requests: told by the fewest bytes that tell it. Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock::http {

enum class Protocol : std::uint8_t { undecided, request, other };

/// Of all bytes that have come so far, from the first.
Protocol sniff_protocol(std::string_view bytes);

}  // namespace penstock::http
