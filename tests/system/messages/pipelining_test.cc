// SPDX-License-Identifier: Apache-2.0
// Several requests on one connection: their order, how many are read ahead, and what the end of a connection means.
#include <gmock/gmock.h>

#include "system/stage.h"

namespace penstock::trial {
namespace {

TEST(Connection, ignores_what_follows_its_last_request) {
  Stage stage;
  Client client(stage.daemon.port());
  client.send(get(stage.url("/last"), "Connection: close\r\n") + get(stage.url("/too-late")));
  EXPECT_TRUE(same_name(client.reply().field("connection"), "close"));
  EXPECT_TRUE(client.closed());
  EXPECT_EQ(stage.origin.count(), 1u);
}

TEST(Pipeline, of_ten_thousand_is_answered_in_order) {
  const int count = is_sanitized() ? 2'000 : 10'000;
  Stage stage;
  stage.origin.otherwise([](Visit& visit) { visit.answer(200, visit.request().target); });
  std::string all;
  for (int i = 0; i < count; ++i) all += get(stage.url("/" + std::to_string(i)));
  Client client(stage.daemon.port());
  std::thread sender([&] { client.send(all); });
  for (int i = 0; i < count; ++i) {
    const Reply reply = client.reply();
    EXPECT_EQ(reply.body, "/" + std::to_string(i));
    if (!reply.whole) break;
  }
  sender.join();
  const auto seen = stage.origin.seen();
  ASSERT_EQ(seen.size(), static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) ASSERT_EQ(seen[i].target, "/" + std::to_string(i));
  EXPECT_EQ(stage.origin.most_at_once(), 1u) << "one after the other";
}

TEST(Pipeline, is_not_read_beyond_the_cap) {
  Stage stage;
  stage.origin.otherwise(scripts::held());
  Client client(stage.daemon.port());
  client.send(get(stage.url("/0")));
  ASSERT_TRUE(stage.origin.await(1));
  const std::size_t before = stage.daemon.resident_kib();
  std::string many;
  while (many.size() < 64 * 1024 * 1024) many += get(stage.url("/more"));
  const std::size_t taken = client.send_until_stuck(many, 300ms);
  EXPECT_LT(taken, many.size()) << "the rest stays with the client";
  EXPECT_LT(stage.daemon.resident_kib(), before + (is_sanitized() ? 32 : 4) * 1024);
  EXPECT_EQ(stage.origin.count(), 1u);
  stage.origin.release_all();
}

TEST(Pipeline, of_a_client_that_leaves_is_not_served_on) {
  Stage stage;
  stage.origin.on("/0", scripts::held());
  Client client(stage.daemon.port());
  client.send(get(stage.url("/0")) + get(stage.url("/1")) + get(stage.url("/2")));
  ASSERT_TRUE(stage.origin.await(1));
  client.reset();
  EXPECT_EQ(stage.daemon.await_events(1, "error").size(), 1u);
  EXPECT_EQ(stage.fetch("/healthy").status, 200);
  EXPECT_EQ(stage.origin.count(), 2u) << "the held one and the healthy one";
}

}  // namespace
}  // namespace penstock::trial
