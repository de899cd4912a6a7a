// SPDX-License-Identifier: Apache-2.0
// Chat completions of OpenAI's shape tell the usage of a stream only if the request asks for it.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace penstock::cost {

/// What is put into such a body.
inline constexpr std::string_view kStreamOptions = R"("stream_options":{"include_usage":true},)";

/// Where in a whole JSON body kStreamOptions belongs; nothing: it asks for no stream, or speaks of `stream_options`
/// itself, in whichever way.
std::optional<std::size_t> place_of_stream_options(std::string_view body);

}  // namespace penstock::cost
