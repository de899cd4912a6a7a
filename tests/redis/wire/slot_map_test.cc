// SPDX-License-Identifier: Apache-2.0
// Slots as the specification of Redis Cluster and a Redis 7.0.15 compute them, and maps as nodes tell them.
#include "redis/wire/slot_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace penstock::redis {
namespace {

TEST(SlotOfKey, is_that_of_redis) {
  EXPECT_EQ(slot_of("123456789"), 0x31C3 % kSlots) << "the example of the specification";
  EXPECT_EQ(slot_of("somekey"), 11058);
  EXPECT_EQ(slot_of("penstock:processes"), 3710);
  EXPECT_EQ(slot_of(""), 0);
}

TEST(SlotOfKey, is_that_of_its_tag) {
  EXPECT_EQ(slot_of("foo{hash_tag}"), 2515);
  EXPECT_EQ(slot_of("bar{hash_tag}"), slot_of("hash_tag"));
  EXPECT_EQ(slot_of("{user1000}.following"), 3443);
  EXPECT_EQ(slot_of("{user1000}.followers"), 3443);
  EXPECT_EQ(slot_of("foo{}{bar}"), 8363) << "an empty tag is none";
  EXPECT_EQ(slot_of("foo{{bar}}zap"), 4015) << "of {bar";
  EXPECT_EQ(slot_of("foo{bar}{zap}"), slot_of("bar"));
  EXPECT_EQ(slot_of("foo{bar"), 15278);
  EXPECT_EQ(slot_of("penstock:{api}:head"), 6541);
}

std::string as_text(std::string_view words) {
  return "$" + std::to_string(words.size()) + "\r\n" + std::string(words) + "\r\n";
}
std::string as_number(int value) { return ":" + std::to_string(value) + "\r\n"; }
std::string as_list(std::initializer_list<std::string> items) {
  std::string all = "*" + std::to_string(items.size()) + "\r\n";
  for (const auto& item : items) all += item;
  return all;
}
const std::string kNilReply = "$-1\r\n";

std::string as_node(const std::string& endpoint, int port, std::initializer_list<std::string> more = {}) {
  return as_list({endpoint, as_number(port), as_text("an-id"), as_list(more)});
}

class SlotMapTest : public testing::Test {
 protected:
  std::expected<SlotMap, std::string> read(const std::string& bytes) {
    EXPECT_TRUE(reader_.feed(bytes));
    EXPECT_EQ(reader_.next(), ReplyReader::Found::reply);
    return SlotMap::read(reader_.reply(), "seed");
  }
  /// "host:port name" of whoever has the slot.
  static std::string owner(const SlotMap& map, Slot slot) {
    const auto* node = map.owner(slot);
    return node ? to_string(node->endpoint) + " " + node->name : "none";
  }

  ReplyReader reader_;
};

TEST_F(SlotMapTest, says_whose_each_slot_is) {
  const auto map = read(as_list(
      {as_list({as_number(0), as_number(5460), as_node(as_text("10.0.0.1"), 7001), as_node(as_text("10.0.0.4"), 7004)}),
       as_list({as_number(5461), as_number(16382), as_node(as_text("10.0.0.2"), 7002)}),
       as_list({as_number(16383), as_number(16383), as_node(as_text("10.0.0.1"), 7001)})}));
  ASSERT_TRUE(map) << map.error();
  EXPECT_EQ(owner(*map, 0), "10.0.0.1:7001 ");
  EXPECT_EQ(owner(*map, 5460), "10.0.0.1:7001 ");
  EXPECT_EQ(owner(*map, 5461), "10.0.0.2:7002 ");
  EXPECT_EQ(owner(*map, 16383), "10.0.0.1:7001 ");
  EXPECT_TRUE(map->has_slots({"10.0.0.2", 7002}));
  EXPECT_FALSE(map->has_slots({"10.0.0.4", 7004})) << "a replica";
  EXPECT_EQ(map->endpoints(), (std::vector<Endpoint>{{"10.0.0.1", 7001}, {"10.0.0.2", 7002}, {"10.0.0.4", 7004}}));
}

TEST_F(SlotMapTest, reads_nodes_of_redis_6_which_tell_less) {
  const auto map =
      read(as_list({as_list({as_number(0), as_number(9), as_list({as_text("10.0.0.1"), as_number(7001)})})}));
  ASSERT_TRUE(map) << map.error();
  EXPECT_EQ(owner(*map, 9), "10.0.0.1:7001 ");
  EXPECT_EQ(owner(*map, 10), "none");
}

TEST_F(SlotMapTest, knows_names_and_addresses) {
  const auto map = read(as_list(
      {as_list(
           {as_number(0), as_number(9), as_node(as_text("n1.internal"), 7001, {as_text("ip"), as_text("10.0.0.1")})}),
       as_list({as_number(10), as_number(19),
                as_node(as_text("10.0.0.2"), 7002, {as_text("hostname"), as_text("n2.internal")})}),
       as_list({as_number(20), as_number(29), as_node(kNilReply, 7003)}),
       as_list({as_number(30), as_number(39), as_node(as_text(""), 7004)}),
       as_list({as_number(40), as_number(49), as_node(as_text("?"), 7005, {as_text("ip"), as_text("10.0.0.5")})})}));
  ASSERT_TRUE(map) << map.error();
  EXPECT_EQ(owner(*map, 0), "n1.internal:7001 ");
  EXPECT_EQ(owner(*map, 10), "10.0.0.2:7002 n2.internal");
  EXPECT_EQ(owner(*map, 20), "seed:7003 ") << "it does not know its address: it is where it was asked";
  EXPECT_EQ(owner(*map, 30), "seed:7004 ");
  EXPECT_EQ(owner(*map, 40), "10.0.0.5:7005 ");
  const auto& all = map->endpoints();
  EXPECT_NE(std::ranges::find(all, Endpoint{"10.0.0.1", 7001}), all.end()) << "denied by address, too";
}

TEST_F(SlotMapTest, refuses_what_makes_no_sense) {
  EXPECT_EQ(read(as_list({})).error(),
            "its cluster has given no slots to any node; redis-cli --cluster fix gives them");
  const auto good = as_node(as_text("a"), 1);
  for (const auto& bytes :
       {as_number(1), as_list({as_number(1)}), as_list({as_list({as_number(0), as_number(16384), good})}),
        as_list({as_list({as_number(-1), as_number(3), good})}), as_list({as_list({as_number(4), as_number(3), good})}),
        as_list({as_list({as_number(0), as_number(3)})}), as_list({as_list({as_text("0"), as_number(3), good})}),
        as_list({as_list({as_number(0), as_number(3), as_node(as_text("a"), 0)})}),
        as_list({as_list({as_number(0), as_number(3), as_node(as_text("a"), 65536)})}),
        as_list({as_list({as_number(0), as_number(3), as_node(as_text(std::string(256, 'a')), 1)})})}) {
    const auto map = read(bytes);
    ASSERT_FALSE(map) << bytes;
    EXPECT_EQ(map.error(), "its answer to CLUSTER SLOTS makes no sense") << bytes;
  }
}

TEST_F(SlotMapTest, takes_in_that_a_slot_has_moved) {
  auto map = read(as_list({as_list({as_number(0), as_number(9), as_node(as_text("a"), 1)}),
                           as_list({as_number(10), as_number(9'999), as_node(as_text("b"), 2)})}));
  ASSERT_TRUE(map) << map.error();
  EXPECT_FALSE(map->move(3, {"a", 1}));
  EXPECT_TRUE(map->move(3, {"b", 2}));
  EXPECT_TRUE(map->move(4, {"c", 3})) << "a node that was not known";
  EXPECT_EQ(owner(*map, 3), "b:2 ");
  EXPECT_EQ(owner(*map, 4), "c:3 ");
  EXPECT_EQ(owner(*map, 5), "a:1 ");
  SlotMap nothing_known;
  EXPECT_EQ(owner(nothing_known, 7), "none");
  EXPECT_TRUE(nothing_known.move(7, {"c", 3}));
  EXPECT_EQ(owner(nothing_known, 7), "c:3 ");
}

TEST(Redirections, say_where_to) {
  const auto moved = redirection_in("MOVED 3999 127.0.0.1:6381", "seed");
  ASSERT_TRUE(moved);
  EXPECT_FALSE(moved->once);
  EXPECT_EQ(moved->slot, 3999);
  EXPECT_EQ(moved->endpoint, (Endpoint{"127.0.0.1", 6381}));
  const auto ask = redirection_in("ASK 16383 2001:db8::1:6381", "seed");
  ASSERT_TRUE(ask);
  EXPECT_TRUE(ask->once);
  EXPECT_EQ(ask->endpoint, (Endpoint{"2001:db8::1", 6381}));
  EXPECT_EQ(redirection_in("MOVED 1 :6381", "seed")->endpoint, (Endpoint{"seed", 6381}));
  EXPECT_EQ(redirection_in("MOVED 1 ?:6381", "seed")->endpoint, (Endpoint{"seed", 6381}));
}

TEST(Redirections, are_nothing_else) {
  for (const auto* reply : {"", "MOVED", "MOVED 1", "MOVED 1 a", "MOVED 16384 a:1", "MOVED -1 a:1", "MOVED 1 a:0",
                            "MOVED 1 a:65536", "MOVED 1 a:x", "MOVED x a:1", "MOVEDX 1 a:1", "ERR MOVED 1 a:1"}) {
    EXPECT_FALSE(redirection_in(reply, "seed")) << reply;
  }
}

}  // namespace
}  // namespace penstock::redis
