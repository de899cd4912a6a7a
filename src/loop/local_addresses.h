// SPDX-License-Identifier: Apache-2.0
// Which addresses this machine has at the moment, on whichever interface, be it up or not.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace penstock::loop {

/// Nothing where the system does not tell, which AF_NETLINK forbidden is a reason for.
std::optional<std::vector<std::string>> local_addresses();

}  // namespace penstock::loop
