// SPDX-License-Identifier: Apache-2.0
// Judges that what happens to other nodes of a cluster is no matter of this upstream.
#include <algorithm>

#include "simulation/reading.h"

namespace penstock::simulation {

void judge_elsewhere(const Reading& reading, Judgement& judgement) {
  const auto of_ours = [&](const Fault& fault) {
    return fault.kind != Fault::Kind::elsewhere && may_be_outage(fault.kind);
  };
  if (std::ranges::any_of(reading.journal().faults, of_ours)) return;
  for (const Fault& fault : reading.plan().faults) {
    if (!fault.elsewhere) continue;
    const Time until = end_of(fault, reading.journal().ended) + kSettles;
    auto one = std::ranges::lower_bound(reading.left(), fault.at, {}, &Left::at);
    for (; one != reading.left().end() && one->at <= until; ++one) {
      const Request& request = reading.journal().requests[one->id];
      if (!request.without_redis) continue;
      breaks(
          judgement, "elsewhere",
          said("request %zu left process %d at %s without Redis, though nothing has happened but to another node at %s",
               one->id, request.member, moment(one->at).c_str(), moment(fault.at).c_str()),
          1);
      break;
    }
  }
}

}  // namespace penstock::simulation
