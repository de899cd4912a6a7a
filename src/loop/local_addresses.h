// SPDX-License-Identifier: Apache-2.0
// The addresses of this machine at the moment, on all interfaces, whether up or not.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace penstock::loop {

/// Nullopt if the system cannot list them, for instance because AF_NETLINK is forbidden.
std::optional<std::vector<std::string>> local_addresses();

}  // namespace penstock::loop
