// SPDX-License-Identifier: Apache-2.0
// All that is known of one upstream, as lines of `penstock top`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/top_line.h"
#include "app/top_status.h"

namespace penstock::app {

/// `why`: why details such as groups are not shown, in words of the daemon.
std::vector<TopLine> details_of(const ShownUpstream& upstream, const std::string& why, std::size_t columns);

}  // namespace penstock::app
