// SPDX-License-Identifier: Apache-2.0
// When each process wanted to send and could have, were it not for the shared limits. For Reading.
#pragma once

#include <vector>

namespace penstock::simulation {

class Reading;
struct Span;

struct Wants {
  std::vector<std::vector<Span>> wanting, full;  // for each process
};

Wants find_wants(const Reading& reading);

}  // namespace penstock::simulation
