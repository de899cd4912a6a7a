// SPDX-License-Identifier: Apache-2.0
// Where one configuration puts the requests of a log. Plain values.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "penstock/config.h"
#include "replay/request_log.h"

namespace penstock::replay {

/// The upstreams of one configuration to which requests of the log went, by Place::upstream.
struct Upstream {
  std::string name;  ///< printable
  const UpstreamSettings* settings = nullptr;
  bool is_denied = false;       ///< no request is sent there: `unmatched: deny`, or permits that are no more
  std::optional<Rate> quota{};  ///< what its API lets pass, where that was told
};

struct Side {
  std::vector<Upstream> upstreams;
  const std::deque<Place>* places = nullptr;
};

}  // namespace penstock::replay
