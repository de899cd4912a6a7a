// SPDX-License-Identifier: Apache-2.0
// The queue: first come first served, never more at once than allowed, refused where there is no room or no time, and
// no upstream waits for another.
#include <gmock/gmock.h>
#include <sys/prctl.h>

#include <deque>

#include "system/stage.h"

namespace penstock::trial {
namespace {

/// Sends GETs for /0, /1, … one connection each, every one known to be pending or in flight before the next.
void arrive_in_order(Stage& stage, std::deque<Client>& clients, int count) {
  const std::string name = stage.origin.host();
  for (int i = 0; i < count; ++i) {
    clients.emplace_back(stage.daemon.port()).send(get(stage.url("/" + std::to_string(i))));
    ASSERT_TRUE(eventually([&] {
      const Json entry = stage.daemon.status(name);
      return !entry.is_null() && entry.at("pending").get<int>() + entry.at("inFlight").get<int>() == i + 1;
    }));
  }
}

/// The memory of one that waits, with the connection over which it came. The aim is that of docs/performance.md;
/// sanitizers surround all memory with their own.
TEST(Queue, holds_a_request_in_3_kb) {
  constexpr int kWarm = 200, kMeasured = 2000;
  ASSERT_EQ(::prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0) << "the program inherits it, and grows by pages of 4 KiB";
  Stage stage(with_defaults("maxConcurrent: 1, queue: { maxPending: 4000 }"));
  stage.origin.otherwise(scripts::held());
  ::prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
  std::deque<Client> clients;
  const auto arrive = [&](int count) {
    for (int i = 0; i < count; ++i) clients.emplace_back(stage.daemon.port()).send(get(stage.url("/short")));
    ASSERT_TRUE(stage.daemon.await_pending(stage.origin.host(), clients.size() - 1));
  };
  arrive(kWarm);
  const std::size_t before = stage.daemon.resident_kib();
  arrive(kMeasured);
  EXPECT_LE((stage.daemon.resident_kib() - before) * 1024 / kMeasured, is_sanitized() ? 30'000u : 3'000u);
  stage.origin.release_all();
  for (auto& client : clients) EXPECT_EQ(client.reply().status, 200);
}

TEST(Queue, dispatches_a_thousand_in_their_order_ten_at_once) {
  Stage stage(with_defaults("maxConcurrent: 10"));
  stage.origin.otherwise(scripts::held());
  std::deque<Client> clients;
  arrive_in_order(stage, clients, 1000);
  EXPECT_EQ(stage.origin.count(), 10u);
  stage.origin.release_all();
  for (auto& client : clients) EXPECT_EQ(client.reply().body, "released");
  EXPECT_EQ(stage.origin.most_at_once(), 10u) << "as the origin sees it";
  const auto dispatched = stage.daemon.await_events(1000, "dispatch");
  ASSERT_EQ(dispatched.size(), 1000u);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(dispatched[i].at("path"), "/" + std::to_string(i));
}

/// The refusal of somebody for whom there is no room or no time.
void expect_unavailable(const Reply& reply) {
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.error(), "connection_limit_reached");
  EXPECT_TRUE(reply.whole);
  const int seconds = std::atoi(reply.field("retry-after").c_str());
  EXPECT_GE(seconds, 1);
  EXPECT_LE(seconds, 3600);
  EXPECT_TRUE(reply.reason.starts_with("Penstock: ")) << reply.reason;
}

// It takes some of the body and throws it away, so that its answer arrives.
TEST(FullQueue, reads_no_body_to_its_end_and_keeps_nothing_of_it) {
  Stage stage(with_defaults("maxConcurrent: 1, queue: { maxPending: 0 }"));
  stage.origin.otherwise(scripts::held());
  Client first(stage.daemon.port()), second(stage.daemon.port());
  first.send(get(stage.url("/held")));
  ASSERT_TRUE(stage.origin.await(1));
  second.send("POST " + stage.url("/x") + " HTTP/1.1\r\nHost: " + stage.origin.host() +
              "\r\nContent-Length: 1073741824\r\n\r\n");
  expect_unavailable(second.reply());
  const std::size_t before = stage.daemon.resident_kib();
  const std::string mebibyte(1024 * 1024, 'b');
  std::size_t sent = 0, most = 0;
  for (; sent < 1024 && second.send(mebibyte); ++sent) {
    if (sent % 16 == 0) most = std::max(most, stage.daemon.resident_kib());
  }
  EXPECT_LT(sent, 256u + 32u) << "MiB: as many as are thrown away, and what the sockets hold";
  EXPECT_LT(most, before + (is_sanitized() ? 32 : 8) * 1024);
  second.rest();
  EXPECT_TRUE(second.socket().ended());
  stage.origin.release_all();
  EXPECT_EQ(first.reply().status, 200);
  EXPECT_EQ(stage.origin.count(), 1u);
}

/// As many requests as one client may have wait for the stage's origin; how many there are.
std::size_t fill_memory(const Stage& stage, std::deque<Client>& clients, const char* from) {
  const std::string line = "X-Long: " + std::string(8'000, 'x') + "\r\n";
  for (std::size_t waiting = 0;; ++waiting) {
    Client& client = clients.emplace_back(stage.daemon.port(), 0, from);
    client.send(get(stage.url("/waits"), line));
    const auto decided = [&] {
      return stage.daemon.status(stage.origin.host()).at("pending") == waiting + 1 || client.hears_within(1ms);
    };
    EXPECT_TRUE(eventually(decided));
    if (client.hears_within(1ms)) return waiting;
  }
}

TEST(FullQueue, of_the_memory_that_one_client_may_fill_leaves_some_to_others) {
  Stage stage({.yaml = "defaults: { maxConcurrent: 1 }\ncaps: { pendingMemory: 256KiB }\n"});
  stage.origin.otherwise(scripts::held());
  Client flying(stage.daemon.port());
  flying.send(get(stage.url("/flies")));
  ASSERT_TRUE(stage.origin.await(1));
  std::deque<Client> clients;
  const std::size_t waiting = fill_memory(stage, clients, "127.0.0.2");
  const Reply refused = clients.back().reply();
  expect_own_answer(refused, {503}, "connection_limit_reached");
  EXPECT_THAT(refused.field("proxy-status"), testing::HasSubstr("of this client"));
  EXPECT_THAT(waiting, testing::AllOf(testing::Ge(20u), testing::Le(28u))) << "of 32 for all";

  clients.emplace_back(stage.daemon.port(), 0, "127.0.0.3").send(get(stage.url("/of-another")));
  EXPECT_TRUE(stage.daemon.await_pending(stage.origin.host(), waiting + 1)) << "another client's waits";
  const Origin idle;
  Client same(stage.daemon.port(), 0, "127.0.0.2");
  same.send(get(idle.url()));
  EXPECT_EQ(same.reply().status, 200) << "what need not wait takes no memory of the queue's";
  stage.origin.release_all();
}

}  // namespace
}  // namespace penstock::trial
