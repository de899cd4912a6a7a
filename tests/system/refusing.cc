// SPDX-License-Identifier: Apache-2.0
// What the tests about refusals have in common.
#include "system/refusing.h"

#include <gmock/gmock.h>

#include <atomic>
#include <memory>

namespace penstock::trial {

Origin::Script scripts::refuses(int times, std::string lines, Origin::Script then) {
  return [=, count = std::make_shared<std::atomic<int>>(0)](Visit& visit) {
    const int nth = ++*count;
    if (nth > times) return then(visit);
    if (visit.read_body()) visit.answer(429, "busy " + std::to_string(nth), lines);
  };
}

int sendings(const Daemon& daemon, std::size_t ended) {
  const auto has_ended = [](const Json& event) { return event["event"] == "complete" || event["event"] == "error"; };
  int sum = 0;
  const auto events = daemon.await_events(ended, has_ended);
  EXPECT_EQ(events.size(), ended);
  for (const auto& event : events) sum += event.value("attempts", 1);
  return sum;
}

void expect_sent(const Origin& origin, const Daemon& daemon, const Reply& reply, int times) {
  EXPECT_EQ(origin.count(), static_cast<std::size_t>(times));
  EXPECT_EQ(sendings(daemon), times);
  const std::string said = reply.field("proxy-status");
  EXPECT_EQ(said, times > 1 ? "penstock; attempts=" + std::to_string(times) : "");
}

}  // namespace penstock::trial
