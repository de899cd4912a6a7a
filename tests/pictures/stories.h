// SPDX-License-Identifier: Apache-2.0
// What the pictures of docs/limits.md show: a limit of each kind, and requests that bring out its character.
#pragma once

#include <string>
#include <vector>

#include "penstock/limits.h"
#include "pictures/simulation.h"

namespace penstock::pictures {

struct Story {
  std::string file;   ///< below docs/pictures
  std::string title;  ///< as it would stand in a configuration
  LimitConfig limit;
  std::vector<Request> requests;
  flow::Time lasts;
  flow::Time grid = 0;   ///< the edges of what the limit counts in, where these are fixed
  bool flights = false;  ///< whether the time in flight matters
};

std::vector<Story> stories();

}  // namespace penstock::pictures
