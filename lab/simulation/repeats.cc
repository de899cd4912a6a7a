// SPDX-License-Identifier: Apache-2.0
// See repeats.h.
#include "simulation/repeats.h"

#include <string>

#include "proxy/exchange/retry_policy.h"

namespace penstock::simulation {

Repeats::Repeats(const Plan& plan) {
  if (!plan.refusing) return;
  request_.method = plan.refusing->method;
  settings_.retry = plan.refusing->retry;
  refusal_.status = plan.refusing->status;
  if (plan.refusing->pause > 0) refusal_.fields.add("Retry-After", std::to_string(plan.refusing->pause / kSecond));
  keeps_bodies_ = plan.refusing->keeps_bodies;
}

bool Repeats::judge(Time now, Time wall, int attempts, Time deadline) {
  using proxy::Again;
  const proxy::SentRequest sent{
      .head = request_, .attempts = attempts, .has_its_body = keeps_bodies_, .now = now, .deadline = deadline};
  const Again again = proxy::judge_answer(settings_, sent, refusal_, wall);
  return again == Again::refused || (again == Again::failed && budget_.take(now, settings_.retry.budget));
}

}  // namespace penstock::simulation
