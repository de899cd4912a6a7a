// SPDX-License-Identifier: Apache-2.0
// What a log cannot tell, or a replay not play, in sentences. Internal to replay/.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/request_log.h"
#include "replay/side.h"

namespace penstock::replay {

/// `left_out`: sendings that were not played.
std::vector<std::string> unknowns(const RequestLog& log, const Side& now, std::uint64_t left_out);

}  // namespace penstock::replay
