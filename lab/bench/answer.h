// SPDX-License-Identifier: Apache-2.0
// The one answer that travels in a benchmark: what the origin sends, and whether it arrived whole. For bench_origin
// and bench_load only.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock::bench {

inline constexpr std::string_view kEndOfHead = "\r\n\r\n";

/// `length` bytes that differ from their neighbours, so that a lost or doubled one shows.
std::string answer_body(std::size_t length);

/// Head and body, as the origin sends them.
std::string whole_answer(std::size_t length);

enum class Arrival { partial, whole, wrong };

/// What has been received for one request so far. Whole: a 200 with exactly `body`, and nothing after it.
Arrival judge(std::string_view received, std::string_view body);

}  // namespace penstock::bench
