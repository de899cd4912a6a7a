// SPDX-License-Identifier: Apache-2.0
// Uses getifaddrs(), since libuv's list leaves out interfaces without a carrier, whose addresses are local all the
// same.
#include "loop/local_addresses.h"

#include <ifaddrs.h>

#include "loop/socket_address.h"

namespace penstock::loop {

std::optional<std::vector<std::string>> local_addresses() {
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return std::nullopt;
  std::vector<std::string> addresses;
  for (const auto* one = first; one; one = one->ifa_next) {
    if (!one->ifa_addr) continue;
    if (auto text = endpoint_of(one->ifa_addr).address; !text.empty()) addresses.push_back(std::move(text));
  }
  ::freeifaddrs(first);
  return addresses;
}

}  // namespace penstock::loop
