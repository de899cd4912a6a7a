// SPDX-License-Identifier: Apache-2.0
// Answers to renewals also tell of pauses, in case the message about one is lost.
#include "redis/limits/permit_calls.h"

#include <algorithm>
#include <charconv>

namespace penstock::redis {

using flow::Time;

void PermitCalls::renew(const SemaphoreName& which, const std::string& told) {
  const SemaphoreTable::Row& row = leases_.table().row(which.limit);
  calls_.permits(row.config, row.place, which.group, told, fleet_.alive(),
                 [alive = calls_.ref(), this, which, told_at = calls_.now()](const Outcome& outcome, Time) {
                   if (alive) renewed(which, outcome, told_at);
                 });
}

void PermitCalls::renewed(const SemaphoreName& which, const Outcome& outcome, Time told_at) {
  if (!calls_.worked(outcome)) {
    if (outcome.error().kind == FailureKind::corrupt) leases_.met_foreign(which);
    return;
  }
  auto elements = outcome->elements();
  const auto at = elements.next().integer();
  PermitReply reply;
  for (std::int64_t* number : {&reply.granted, &reply.lost, &reply.sharers, &reply.look}) {
    *number = elements.next().integer();
  }
  const auto opens = elements.next().integer(), paused = elements.next().integer();
  pauses_.some_lane(paused);
  leases_.renewed(which, told_at, reply, std::max<Time>(0, opens - at));
}

void PermitCalls::message(std::string_view words) {
  if (!words.starts_with(' ')) return;
  words.remove_prefix(1);
  const auto gap = words.find(' '), next = words.find(' ', gap + 1);
  if (gap == std::string_view::npos || next == std::string_view::npos) return;
  const auto limit = calls_.args().limit_of(words.substr(next + 1));
  std::int64_t number = 0;
  const bool read = std::from_chars(words.data() + gap + 1, words.data() + next, number).ec == std::errc{};
  if (!limit || !read) return;
  leases_.message({leases_.table().at(limit->first), std::string(limit->second)}, words.substr(0, gap), number);
}

}  // namespace penstock::redis
