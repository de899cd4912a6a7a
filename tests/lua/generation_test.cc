// SPDX-License-Identifier: Apache-2.0
// Redis forgets everything: a generation begins when all have handed in what they remember, or a second after.
#include <gtest/gtest.h>

#include "lua/asker.h"
#include "support/scenario.h"

namespace penstock::lua {
namespace {

using namespace scenarios;

class Forgetting : public testing::Test {
 protected:
  test::RedisServer server_;
  Scripts scripts_{server_};
};

TEST_F(Forgetting, closes_the_generation_until_all_have_handed_in) {
  Asker a(scripts_, "api", "a", {window(10, sec(10))}, kStart), b(scripts_, "api", "b", {window(10, sec(10))}, kStart);
  EXPECT_EQ(a.ask(ms(1), {.count = 4}, true).booking.departures.size(), 4U);
  EXPECT_EQ(b.ask(ms(2), {.count = 5}, true).booking.departures.size(), 5U);
  EXPECT_EQ(a.ask(ms(3), {.count = 0}, true).alive, 2);
  server_.run({"FLUSHALL"});
  EXPECT_EQ(a.ask(ms(4), {}).status, "stale");
  EXPECT_EQ(a.ask(ms(5), {}).status, "closed");
  const std::string start = std::to_string(static_cast<std::int64_t>(kStart));
  EXPECT_EQ(a.replay(ms(6), "", {"1w " + start + " 4 10000000"}).items.at(0).text, "closed");
  EXPECT_EQ(a.replay(ms(7), "", {"1w " + start + " 4 10000000"}).items.at(0).text, "closed") << "twice is once";
  EXPECT_EQ(b.ask(ms(8), {}).status, "stale");
  EXPECT_EQ(b.replay(ms(9), "", {"1w " + start + " 5 10000000"}).items.at(0).text, "open");
  EXPECT_EQ(a.ask(ms(10), {.count = 4}).booking.departures.size(), 1U);
}
TEST_F(Forgetting, opens_after_a_second_whoever_is_missing) {
  Asker a(scripts_, "api", "a", {pacer(10)}, kStart);
  a.ask(0, {}, true);
  a.know(a.generation(), 3);
  server_.run({"FLUSHALL"});
  EXPECT_EQ(a.ask(ms(1), {}).status, "stale");
  const Answer answer = a.ask(ms(999), {});
  EXPECT_EQ(answer.status, "closed");
  EXPECT_EQ(answer.booking.ask_again, ms(1'001));
  EXPECT_EQ(a.ask(ms(1'001), {}).status, "ok");
}
TEST_F(Forgetting, writes_nothing_for_one_that_is_stale) {
  Asker a(scripts_, "api", "a", {pacer(10)}, kStart), b(scripts_, "api", "b", {pacer(10)}, kStart);
  a.ask(0, {});
  b.know("another", 1);
  const std::string before = server_.run({"GET", a.key("pacer")}).text;
  EXPECT_EQ(b.ask(ms(1), {}).status, "stale");
  EXPECT_EQ(server_.run({"GET", a.key("pacer")}).text, before);
  EXPECT_EQ(b.generation(), a.generation());
}

}  // namespace
}  // namespace penstock::lua
