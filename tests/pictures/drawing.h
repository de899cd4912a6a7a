// SPDX-License-Identifier: Apache-2.0
// A story as an SVG: above when requests arrive, below when they leave, and a line from the one to the other.
#pragma once

#include <string>
#include <vector>

#include "pictures/stories.h"

namespace penstock::pictures {

/// The story's requests with the times at which they leave.
std::string drawn(const Story& story, const std::vector<Request>& requests);

}  // namespace penstock::pictures
