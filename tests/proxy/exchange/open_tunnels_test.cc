// SPDX-License-Identifier: Apache-2.0
// Which of the open tunnels makes room.
#include "proxy/exchange/open_tunnels.h"

#include <gtest/gtest.h>

namespace penstock::proxy {
namespace {

struct TestTunnel : HalfClosedTunnel {
  explicit TestTunnel(OpenTunnels& all) { entry.emplace(all); }
  bool may_make_room() const override { return may; }
  void make_room(std::string_view) override { entry.reset(); }

  bool may = true;
  std::optional<OpenTunnels::Entry> entry;
};

const auto kOne = access::parse_address("192.0.2.1"), kOther = access::parse_address("192.0.2.2");

TEST(OpenTunnels, are_counted_while_they_are_open) {
  OpenTunnels all;
  {
    TestTunnel first(all), second(all);
    first.entry->passed_in(3);
    second.entry->passed_out(5);
    EXPECT_EQ(all.totals().open, 2u);
  }
  EXPECT_EQ(all.totals().open, 0u);
  EXPECT_EQ(all.totals().bytes_in, 3u);
  EXPECT_EQ(all.totals().bytes_out, 5u);
}

TEST(OpenTunnels, make_room_in_the_order_in_which_their_clients_closed) {
  OpenTunnels all;
  TestTunnel open(all), late(all), early(all), unwilling(all), of_other(all);
  EXPECT_FALSE(all.make_room(std::nullopt)) << "no client has closed its side";
  unwilling.may = false;
  unwilling.entry->half_close(unwilling, kOne);
  of_other.entry->half_close(of_other, kOther);
  early.entry->half_close(early, kOne);
  late.entry->half_close(late, kOne);
  EXPECT_TRUE(all.make_room(kOne));
  EXPECT_FALSE(early.entry);
  EXPECT_TRUE(late.entry);
  EXPECT_TRUE(all.make_room(std::nullopt));
  EXPECT_FALSE(of_other.entry);
  EXPECT_TRUE(all.make_room(kOne));
  EXPECT_FALSE(all.make_room(kOne));
  EXPECT_EQ(all.totals().open, 2u);
}

}  // namespace
}  // namespace penstock::proxy
