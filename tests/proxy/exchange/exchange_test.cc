// SPDX-License-Identifier: Apache-2.0
// The parts of an exchange that stand alone: the table in which exchanges are found, and the buffer of a body.
#include "proxy/exchange/exchange.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>

#include "proxy/dispatcher_fixture.h"
#include "proxy/flight/http_flight.h"

namespace penstock::proxy {
namespace {

class ExchangeTableTest : public testing::Test {
 protected:
  std::unique_ptr<Exchange> exchange() { return std::make_unique<Exchange>(asker_, http::RequestHead{}); }

  Asker asker_;
  ExchangeTable table_;
};

TEST_F(ExchangeTableTest, finds_what_was_added) {
  auto one = exchange();
  Exchange* place = one.get();
  const auto id = table_.add(std::move(one));
  EXPECT_EQ(table_.find(id), place);
  EXPECT_EQ(table_.size(), 1u);
}

TEST_F(ExchangeTableTest, finds_nothing_under_an_id_that_was_never_given) {
  EXPECT_EQ(table_.find(0), nullptr);
  EXPECT_EQ(table_.find(12345), nullptr);
}

TEST_F(ExchangeTableTest, an_id_whose_exchange_has_ended_finds_nothing_though_its_place_is_taken_again) {
  const auto first = table_.add(exchange());
  EXPECT_NE(table_.remove(first), nullptr);
  EXPECT_EQ(table_.find(first), nullptr);
  const auto second = table_.add(exchange());
  EXPECT_NE(first, second);
  EXPECT_EQ(table_.find(first), nullptr);
  EXPECT_NE(table_.find(second), nullptr);
}

TEST_F(ExchangeTableTest, does_what_a_map_does) {
  std::map<ExchangeTable::Id, Exchange*> model;
  std::vector<ExchangeTable::Id> ended;
  std::mt19937 random(5);
  for (int step = 0; step < 5'000; ++step) {
    if (model.empty() || random() % 3 != 0) {
      auto one = exchange();
      Exchange* place = one.get();
      const auto id = table_.add(std::move(one));
      ASSERT_TRUE(model.emplace(id, place).second) << "an id was given twice";
    } else {
      const auto chosen = std::next(model.begin(), static_cast<std::ptrdiff_t>(random() % model.size()));
      ASSERT_EQ(table_.remove(chosen->first).get(), chosen->second);
      ended.push_back(chosen->first);
      model.erase(chosen);
    }
    ASSERT_EQ(table_.size(), model.size());
  }
  for (const auto& [id, place] : model) EXPECT_EQ(table_.find(id), place);
  for (const auto id : ended) EXPECT_EQ(table_.find(id), nullptr);
  auto ids = table_.ids();
  std::sort(ids.begin(), ids.end());
  ASSERT_EQ(ids.size(), model.size());
  EXPECT_TRUE(
      std::equal(ids.begin(), ids.end(), model.begin(), [](auto id, auto& entry) { return id == entry.first; }));
}

std::string take(BodyBuffer& buffer, std::size_t space) {
  std::string room(space, '?');
  room.resize(buffer.take(room.data(), space));
  return room;
}

TEST(BodyBuffer, gives_bytes_in_the_order_in_which_they_came) {
  BodyBuffer buffer;
  buffer.append("hello ");
  buffer.append("world");
  EXPECT_EQ(buffer.size(), 11u);
  EXPECT_EQ(take(buffer, 4), "hell");
  EXPECT_EQ(buffer.size(), 7u);
  buffer.append("!");
  EXPECT_EQ(take(buffer, 100), "o world!");
  EXPECT_EQ(buffer.size(), 0u);
  EXPECT_EQ(take(buffer, 100), "");
}

TEST(BodyBuffer, loses_nothing_however_it_is_filled_and_emptied) {
  BodyBuffer buffer;
  std::string given, taken;
  std::mt19937 random(9);
  for (int i = 0; i < 2'000; ++i) {
    std::string piece;
    for (auto size = random() % 200; size > 0; --size) piece += static_cast<char>('a' + random() % 26);
    given += piece;
    buffer.append(piece);
    taken += take(buffer, random() % 200);
    ASSERT_EQ(buffer.size(), given.size() - taken.size());
  }
  taken += take(buffer, buffer.size());
  EXPECT_TRUE(given == taken);
}

// A buffer that never runs quite empty must not keep what has left it: the room for a gibibyte would show.
TEST(BodyBuffer, keeps_no_more_than_what_has_not_left_yet) {
  BodyBuffer buffer;
  const std::string piece(64 * 1024, 'x');
  std::string room(piece.size(), '?');
  buffer.append(piece);
  rusage before{}, after{};
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &before), 0);
  for (int i = 0; i < 16 * 1024; ++i) {
    buffer.append(piece);
    ASSERT_EQ(buffer.take(room.data(), room.size()), piece.size());
  }
  ASSERT_EQ(::getrusage(RUSAGE_SELF, &after), 0);
  EXPECT_EQ(buffer.size(), piece.size());
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 256 * 1024) << "KiB";
}

http::RequestHead head_of(const std::string& method) {
  http::RequestHead head;
  head.method = method;
  return head;
}

TEST(Repeatable, is_what_only_looks_and_carries_nothing) {
  Asker asker;
  for (const char* method : {"GET", "HEAD", "OPTIONS", "TRACE"}) {
    EXPECT_TRUE(Exchange(asker, head_of(method)).repeatable()) << method;
    auto with_body = head_of(method);
    with_body.body = http::BodyKind::chunked;
    EXPECT_FALSE(Exchange(asker, std::move(with_body)).repeatable()) << method;
  }
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "get"}) {
    EXPECT_FALSE(Exchange(asker, head_of(method)).repeatable()) << method;
  }
}

TEST(Repeatable, is_nothing_twice) {
  Asker asker;
  Exchange exchange(asker, head_of("GET"));
  exchange.sendings.stale = true;
  EXPECT_FALSE(exchange.repeatable());
}

}  // namespace
}  // namespace penstock::proxy
