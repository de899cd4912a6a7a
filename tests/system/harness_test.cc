// SPDX-License-Identifier: Apache-2.0
// The instruments measured against each other, without a proxy between them.
#include <gtest/gtest.h>

#include "system/client.h"
#include "system/origin.h"

namespace penstock::trial {
namespace {

TEST(Instruments, the_pattern_tells_where_it_is) {
  EXPECT_TRUE(is_pattern(1'000'003, pattern(1'000'003, 200'000)));
  EXPECT_FALSE(is_pattern(1'000'004, pattern(1'000'003, 200'000)));
}

TEST(Instruments, the_origin_records_exact_bytes_and_order) {
  Origin origin;
  Client client(origin.port());
  const std::string first = with_body("POST", origin.url("/one"), "12345", "X-A:  b\r\n"),
                    second = get(origin.url("/two"));
  client.send(first + second);
  EXPECT_EQ(client.reply().body, "hello");
  EXPECT_TRUE(client.reply().whole);
  const auto seen = origin.seen();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].head + seen[0].body, first);
  EXPECT_EQ(seen[1].head, second);
  EXPECT_EQ(seen[1].connection, 1u);
  EXPECT_EQ(seen[1].nth, 2u);
  EXPECT_EQ(origin.complaint(), "");
}

TEST(Instruments, the_origin_counts_how_many_are_in_progress) {
  Origin origin;
  origin.otherwise(scripts::held());
  std::list<Client> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(origin.port()).send(get(origin.url()));
  ASSERT_TRUE(origin.await(3));
  origin.release(3);
  for (auto& client : clients) EXPECT_EQ(client.reply().body, "released");
  EXPECT_EQ(origin.most_at_once(), 3u);
}

TEST(Instruments, the_origin_complains_of_two_framings) {
  Origin origin;
  Client client(origin.port());
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  client.reply();
  EXPECT_NE(origin.complaint(), "");
}

TEST(Instruments, the_client_tells_a_whole_answer_from_a_broken_one) {
  Origin origin;
  origin.on("/chunked", scripts::chunked(100'000, 999));
  origin.on("/cut", scripts::says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"));
  origin.on("/unended", scripts::says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n"));
  Client client(origin.port());
  client.send(get(origin.url("/chunked")));
  const Reply whole = client.reply();
  EXPECT_TRUE(whole.whole);
  EXPECT_TRUE(whole.body == pattern(0, 100'000));
  client.send(get(origin.url("/cut")));
  const Reply cut = client.reply();
  EXPECT_EQ(cut.body, "12345");
  EXPECT_FALSE(cut.whole);
  Client another(origin.port());
  another.send(get(origin.url("/unended")));
  EXPECT_FALSE(another.reply().whole);
}

TEST(Instruments, the_client_sees_a_reset) {
  Origin origin;
  origin.otherwise([](Visit& visit) { visit.reset(); });
  Client client(origin.port());
  client.send(get(origin.url()));
  EXPECT_EQ(client.rest(), "");
  EXPECT_TRUE(client.was_reset());
}

}  // namespace
}  // namespace penstock::trial
