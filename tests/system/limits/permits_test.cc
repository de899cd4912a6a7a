// SPDX-License-Identifier: Apache-2.0
// Semaphores: never more at the origin than there are permits, and each comes back, whichever way its request ends.
#include <gmock/gmock.h>

#include "system/limited.h"

namespace penstock::trial {
namespace {

constexpr std::string_view kOne = "limits: [ semaphore: { capacity: 1 } ]";

/// Exactly so many are let to the origin at once, and all are served in the end.
void expect_permits(Limited& stage, std::size_t permits) {
  ASSERT_TRUE(stage.daemon.await_in_flight("api", 0));
  stage.origin.on("/permit", scripts::held());
  stage.begin();
  stage.send(static_cast<int>(permits) + 2, "/permit");
  ASSERT_TRUE(stage.daemon.await_pending("api", 2)) << stage.daemon.status("api").dump();
  EXPECT_TRUE(stage.daemon.await_in_flight("api", permits));
  EXPECT_TRUE(eventually([&] { return stage.arrivals("/permit").size() == permits; }));
  stage.origin.release(permits + 2);
  stage.expect_all_served();
  EXPECT_EQ(stage.arrivals("/permit").size(), permits + 2);
}

TEST(Semaphore, lets_so_many_to_the_origin_at_once) {
  Limited stage("limits: [ semaphore: { capacity: 3 } ]");
  stage.origin.otherwise(scripts::sized(20'000));
  std::vector<std::thread> threads;
  std::atomic<int> served = 0;
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&] {
      Client client(stage.daemon.port());
      for (int k = 0; k < 40; ++k) {
        client.send(get(stage.url()));
        served += client.reply().body == pattern(0, 20'000);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(served, 480);
  EXPECT_LE(stage.origin.most_at_once(), 3u);
  expect_permits(stage, 3);
}

TEST(Permit, is_taken_anew_by_a_request_that_is_sent_again) {
  Limited stage(kOne);
  stage.origin.otherwise([](Visit& visit) {
    if (visit.request().nth > 1) return visit.close();
    visit.answer(200, "first of its connection");
  });
  for (int i = 0; i < 6; ++i) EXPECT_EQ(stage.fetch("/").status, 200);
  EXPECT_GT(stage.origin.count(), 6u) << "some were sent again";
  stage.origin.otherwise(scripts::answers(200, "hello"));
  expect_permits(stage, 1);
}

TEST(Permit, comes_back_from_a_second_try_that_fails_too) {
  Limited stage(kOne);
  stage.origin.otherwise([](Visit& visit) {
    if (visit.request().target != "/warm") return visit.close();
    visit.answer(200, "warm");
  });
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(stage.fetch("/warm").status, 200);
    EXPECT_EQ(stage.fetch("/x").status, 502);
  }
  expect_permits(stage, 1);
}

}  // namespace
}  // namespace penstock::trial
