// SPDX-License-Identifier: Apache-2.0
// How an upstream is limited, in words: per request, or per tunnel and why. `explain` has all of them, `run` eight for
// each upstream at its start.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "penstock/config.h"

namespace penstock::app {

/// `entry` as in proxy::Route: 0 is "*", n the n-th of `upstreams`. `proxy` is the proxy's URL.
std::string how_limited(const Config& config, std::size_t entry, const std::string& proxy);

/// "preset github, plan token"; empty: its settings came from no preset.
std::string preset_of(const UpstreamConfig& upstream);
/// "quota github, with uploads": on which it draws, and what else does. Empty: it draws on none.
std::string quota_in_words(const Config& config, const UpstreamConfig& upstream);

/// `upstream NAME: ` and at most eight words, for each entry in the order of the file, and for "*" unless unmatched
/// requests are refused.
std::vector<std::string> how_all_are_limited(const Config& config, const std::string& proxy);

}  // namespace penstock::app
