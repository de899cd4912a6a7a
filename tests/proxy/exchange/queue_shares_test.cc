// SPDX-License-Identifier: Apache-2.0
// What each client has of a queue, and of the memory of those that wait.
#include "proxy/exchange/queue_shares.h"

#include <gtest/gtest.h>

#include <memory>

#include "proxy/exchange/pending_memory.h"

namespace penstock::proxy {
namespace {

const HeldBytes kNobody;

flow::Ticket ticket(std::uint32_t index) { return {.index = index, .generation = 1}; }

TEST(QueueShares, the_newest_of_the_client_with_most_makes_room) {
  QueueShares shares;
  const auto busy = std::make_shared<std::size_t>(0), quiet = std::make_shared<std::size_t>(0);
  QueueShares::Entry first, second, third, other;
  shares.waits(first, busy, ticket(1));
  shares.waits(other, quiet, ticket(2));
  EXPECT_EQ(shares.in_place_of(quiet), flow::Ticket{}) << "it would have as many";
  shares.waits(second, busy, ticket(3));
  shares.waits(third, busy, ticket(4));
  EXPECT_EQ(shares.in_place_of(quiet), ticket(4));
  EXPECT_EQ(shares.in_place_of(kNobody), ticket(4));
  EXPECT_EQ(shares.in_place_of(busy), flow::Ticket{});
  shares.leave(second);
  shares.leave(third);
  shares.leave(third);
  EXPECT_EQ(shares.in_place_of(kNobody), flow::Ticket{});
  for (auto* entry : {&first, &other}) shares.leave(*entry);
}

TEST(QueueShares, an_upload_counts_and_makes_no_room) {
  QueueShares shares;
  const auto busy = std::make_shared<std::size_t>(0);
  QueueShares::Entry upload, another, waiting;
  shares.uploads(upload, busy);
  shares.uploads(another, busy);
  EXPECT_EQ(shares.in_place_of(kNobody), flow::Ticket{});
  shares.waits(waiting, busy, ticket(1));
  EXPECT_EQ(shares.in_place_of(kNobody), ticket(1));
  for (auto* entry : {&upload, &another, &waiting}) shares.leave(*entry);
}

TEST(PendingMemory, keeps_an_eighth_from_one_client) {
  CapsConfig caps;
  caps.pending_memory = 800;
  PendingMemory memory(caps);
  const auto client = std::make_shared<std::size_t>(0);
  PendingMemory::Charge first, second;
  memory.charge(first, client, 600);
  memory.judge(second, client, 100);
  EXPECT_EQ(second.full(), PendingMemory::Full::no);
  memory.judge(second, client, 101);
  EXPECT_EQ(second.full(), PendingMemory::Full::of_this_client);
  memory.judge(second, kNobody, 200);
  EXPECT_EQ(second.full(), PendingMemory::Full::no);
  memory.judge(second, kNobody, 201);
  EXPECT_EQ(second.full(), PendingMemory::Full::of_all);
  memory.charge(first, client, 100);
  EXPECT_EQ(memory.bytes(), 100u);
  EXPECT_EQ(*client, 100u);
  memory.release(first);
  memory.release(first);
  EXPECT_EQ(memory.bytes(), 0u);
  EXPECT_EQ(*client, 0u);
  EXPECT_EQ(client.use_count(), 1) << "nothing is charged, so nobody is remembered";
}

}  // namespace
}  // namespace penstock::proxy
