// SPDX-License-Identifier: Apache-2.0
// Hosts that no entry names: each has the limits of "*" for itself, and keeps what it has spent however many others are
// named.
#include <gmock/gmock.h>

#include <algorithm>

#include "system/stage.h"

namespace penstock::trial {
namespace {

constexpr int kMost = 10'000;

/// What so many hosts answer, from the n-th on, which are asked once each: nobody listens there.
std::vector<int> ask_hosts(const Stage& stage, const Closed& closed, int from, int count) {
  Client client(stage.daemon.port());
  std::vector<int> statuses;
  for (int done = 0; done < count; done += 500) {
    const int now = std::min(500, count - done);
    std::string requests;
    for (int i = 0; i < now; ++i) {
      const int n = from + done + i;
      requests += get("http://127.1." + std::to_string(n / 250) + "." + std::to_string(1 + n % 250) + ":" +
                      std::to_string(closed.port) + "/");
    }
    EXPECT_TRUE(client.send(requests));
    for (int i = 0; i < now; ++i) statuses.push_back(client.reply().status);
  }
  return statuses;
}

Given with_limits(const std::string& limits) {
  return {.yaml = "access: { allow: [127.0.0.0/8] }\nupstreams: { \"*\": { limits: [ " + limits + " ] } }\n"};
}

TEST(UnnamedHosts, keep_what_they_have_spent_however_many_others_are_named) {
  Stage stage(with_limits("counter: { max: 1, period: 1h, mode: refuse }"));
  const Closed closed;
  EXPECT_EQ(stage.fetch("/").status, 200);
  EXPECT_EQ(stage.fetch("/").status, 429);
  EXPECT_THAT(ask_hosts(stage, closed, 0, kMost - 1), testing::Each(502));
  EXPECT_EQ(stage.daemon.status("*:others"), Json());
  // From here on none may go: newcomers share one queue, and its limit.
  EXPECT_THAT(ask_hosts(stage, closed, kMost, 3), testing::ElementsAre(502, 429, 429));
  EXPECT_EQ(stage.fetch("/").status, 429) << "it was not forgotten for others' sake";
  EXPECT_EQ(stage.daemon.status("*:others").at("totals").at("dispatched"), 1);
  const auto is_told = [&] { return stage.daemon.diagnostics().contains("*:others"); };
  EXPECT_TRUE(eventually(is_told));
  const std::string said = stage.daemon.diagnostics();
  EXPECT_EQ(said.find("*:others"), said.rfind("*:others")) << "once";
}

}  // namespace
}  // namespace penstock::trial
