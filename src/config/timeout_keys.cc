// SPDX-License-Identifier: Apache-2.0
// See timeout_keys.h.
#include "config/timeout_keys.h"

#include <algorithm>
#include <span>

namespace penstock::config {

namespace {

bool is_of_connection(const Entry& entry) {
  const auto is_it = [&](const auto& key) { return key.name == entry.key.text; };
  return std::ranges::any_of(kConnection, is_it);
}

}  // namespace

void read_timeouts(Reading& reading, const Spot& spot, UpstreamSettings& into) {
  Node node = spot.node;
  std::erase_if(node.entries, [&](const Entry& entry) {
    if (!is_of_connection(entry)) return false;
    reading.complain(entry.key, "'" + entry.key.text + "' in " + shown(spot.path) +
                                    " is of the connection, where no upstream is known yet; set it in defaults");
    return true;
  });
  read_keys(reading, {node, spot.path}, std::span<const Key<TimeoutConfig>>(kTimeouts), into.timeouts);
}

void list_timeouts(const std::string& path, std::vector<std::string>& into) { list_keys(kTimeouts, path, into); }

}  // namespace penstock::config
