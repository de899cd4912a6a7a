// SPDX-License-Identifier: Apache-2.0
// Permits that daemons share: never more in flight than the capacity, whoever dies, is cut off or forgets; and none is
// lost. The origin judges.
#include <gmock/gmock.h>

#include "system/redis_stage.h"

namespace penstock::trial {
namespace {

std::string semaphore(int capacity, std::string_view lease) {
  return "semaphore: { capacity: " + std::to_string(capacity) + ", lease: " + std::string(lease) + " }";
}

TEST(SharedSemaphore, is_never_exceeded_and_hands_over_without_a_loss) {
  // A busy machine must not take Redis for dead, nor be late to renew: it would end requests.
  SharedStage stage({.limits = semaphore(3, "6s"), .timeout = "8s"});
  stage.origin.otherwise([&](Visit& visit) {
    stage.arrivals.note();
    if (visit.read_body()) visit.answer(200, "hello");
  });
  for (int i = 0; i < 3; ++i) stage.add();
  Load load(stage.ports(), stage.origin.url());
  ASSERT_TRUE(stage.arrivals.await(600));
  expect_only_successes(load.stop());
  EXPECT_LE(stage.origin.most_at_once(), 3u);
  stage.origin.on("/held", scripts::held());
  std::deque<Client> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(stage.daemons[i].port()).send(get(stage.origin.url("/held")));
  const auto arrived = [&] { return std::ranges::count(stage.origin.seen(), "/held", &Seen::target) == 3; };
  EXPECT_TRUE(eventually(arrived)) << "all three are still there";
  stage.origin.release_all();
  for (auto& client : clients) EXPECT_EQ(client.reply().status, 200);
}

}  // namespace
}  // namespace penstock::trial
