// SPDX-License-Identifier: Apache-2.0
// Who is let in, what is remembered, and in which order passwords are tried.
#include "proxy/client/authenticator.h"

#include <gmock/gmock.h>

#include "support/test_loop.h"

namespace penstock::proxy {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

const std::string kHash = "$2y$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy";  // open sesame
const std::string kRight = "YW5uOm9wZW4gc2VzYW1l";                                         // ann:open sesame
const std::string kBob = "Ym9iOm9wZW4gc2VzYW1l";                                           // bob:open sesame

std::string encoded(std::string text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.size() % 3 != 0) text += ' ';  // part of the password
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[i + at]); };
    const unsigned bits = byte(0) << 16U | byte(1) << 8U | byte(2);
    for (int shift = 18; shift >= 0; shift -= 6) out += kDigits[bits >> shift & 63];
  }
  return out;
}

class GateTest : public testing::Test {
 protected:
  GateTest() { set("ann:" + kHash); }

  void set(const std::string& file) { authenticator_->set_users(access::Users::parse(file).value()); }
  static http::Fields with(const std::string& credentials) {
    http::Fields fields;
    if (!credentials.empty()) fields.add("Proxy-Authorization", "Basic " + credentials);
    return fields;
  }
  static access::Address address(const std::string& text) { return access::parse_address(text).value(); }
  /// Notes the user, "no" or "busy", under the name of the asker. False: there is no room.
  bool check(const std::string& asker, const std::string& credentials, const std::string& client = "192.0.2.1") {
    auto made =
        authenticator_->check(with(credentials), address(client), [this, asker](const Authenticator::Verdict& verdict) {
          const bool busy = !verdict && verdict.error().status_code() == 503;
          told_.push_back(asker + " " + (verdict ? std::string(*verdict) : busy ? "busy"s : "no"s));
        });
    if (!made) {
      EXPECT_EQ(made.error().status_code(), 503);
    }
    if (made) checks_.push_back(std::move(*made));
    return made.has_value();
  }
  bool await_told(std::size_t count) {
    return run_.run_until([&] { return told_.size() >= count; });
  }
  /// 0: let in; -1: nobody knows yet.
  int asked(const std::string& credentials) {
    const auto verdict = authenticator_->ask(with(credentials));
    return !verdict ? -1 : *verdict ? 0 : verdict->error().status_code();
  }

  test::TestLoop run_;
  std::unique_ptr<Authenticator> authenticator_ = std::make_unique<Authenticator>(run_.loop);
  std::vector<std::string> told_;
  std::vector<std::unique_ptr<Authenticator::Check>> checks_;
};

TEST_F(GateTest, is_open_until_there_are_users) {
  EXPECT_TRUE(Authenticator(run_.loop).open());
  EXPECT_FALSE(authenticator_->open());
}

TEST_F(GateTest, asks_whoever_says_nothing) { EXPECT_EQ(asked(""), 407); }

TEST_F(GateTest, knows_a_password_that_was_right_once) {
  EXPECT_EQ(asked(kRight), -1);
  ASSERT_TRUE(check("a", kRight));
  EXPECT_TRUE(told_.empty()) << "never in the middle of the call";
  ASSERT_TRUE(await_told(1));
  EXPECT_THAT(told_, ElementsAre("a ann"));
  EXPECT_EQ(asked(kRight), 0);
}

TEST_F(GateTest, does_not_remember_who_was_wrong) {
  for (const auto& wrong : {encoded("ann:close sesame"), kBob}) {
    told_.clear();
    ASSERT_TRUE(check("a", wrong));
    ASSERT_TRUE(await_told(1));
    EXPECT_THAT(told_, ElementsAre("a no"));
    EXPECT_EQ(asked(wrong), -1);
  }
}

TEST_F(GateTest, says_no_at_once_to_what_is_no_password) {
  const auto made = authenticator_->check(with("!"), address("192.0.2.1"), [](const Authenticator::Verdict&) {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().status_code(), 407);
}

TEST_F(GateTest, tries_the_same_password_of_many_once) {
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(check("a", kRight, "192.0.2." + std::to_string(i)));
  ASSERT_TRUE(await_told(1));
  EXPECT_EQ(told_.size(), 50u);
}

TEST_F(GateTest, has_one_of_each_client_tried_in_turn) {
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(check("a" + std::to_string(i), encoded("a" + std::to_string(i) + ":x")));
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(check("b" + std::to_string(i), encoded("b" + std::to_string(i) + ":x"), "192.0.2.2"));
  ASSERT_TRUE(check("c0", encoded("c0:x"), "192.0.2.3"));
  ASSERT_TRUE(await_told(7));
  EXPECT_THAT(told_, ElementsAre("a0 no", "b0 no", "c0 no", "a1 no", "b1 no", "a2 no", "a3 no"));
}

TEST_F(GateTest, tells_everybody_at_the_end_and_tries_no_more) {
  ASSERT_TRUE(check("a", kRight));
  ASSERT_TRUE(check("b", kBob));
  authenticator_->end();
  EXPECT_THAT(told_, UnorderedElementsAre("a busy", "b busy")) << "a's password is under trial";
  EXPECT_FALSE(check("c", kRight));
  EXPECT_FALSE(authenticator_->is_busy());
}

TEST_F(GateTest, lets_no_client_bring_more_than_a_few) {
  int let = 0;
  while (check("a", encoded("a" + std::to_string(let) + ":x"))) ++let;
  EXPECT_EQ(let, 17) << "one is being tried";
  EXPECT_TRUE(check("b", encoded("a5:x"))) << "which is tried anyway";
}

TEST_F(GateTest, takes_all_addresses_of_a_64_for_one_client) {
  int let = 0;
  const auto next = [&] { return check("a", encoded(std::to_string(let) + ":x"), "2001:db8::" + std::to_string(let)); };
  while (let < 100 && next()) ++let;
  EXPECT_EQ(let, 17);
  EXPECT_TRUE(check("b", kRight, "2001:db8:0:1::1"));
}

TEST_F(GateTest, lets_all_together_bring_no_more_than_a_few) {
  int let = 0;
  for (int client = 1; client < 200; ++client) {
    const std::string name = std::to_string(client);
    if (check(name, encoded("a" + name + ":x"), "192.0.2." + name)) ++let;
  }
  EXPECT_EQ(let, 129);
  EXPECT_TRUE(told_.empty()) << "nobody has more than the others";
}

TEST_F(GateTest, that_is_full_has_room_for_one_at_the_cost_of_who_brings_most) {
  const auto bring = [this](int client, int count) {
    const std::string name = std::to_string(client);
    for (int i = 0; i < count; ++i)
      ASSERT_TRUE(check(name + "." + std::to_string(i), encoded(name + std::to_string(i) + ":x"), "192.0.2." + name));
  };
  bring(1, 1);  // which is being tried
  for (int client = 2; client < 9; ++client) bring(client, 15);
  bring(9, 16);
  bring(10, 7);
  ASSERT_TRUE(check("ann", kRight, "192.0.2.11"));
  EXPECT_THAT(told_, ElementsAre("9.15 busy"));
  ASSERT_TRUE(await_told(12));
  EXPECT_EQ(told_[11], "ann ann") << "behind the first of each";
}

TEST_F(GateTest, forgets_a_check_that_is_dropped_and_has_room_again) {
  int let = 0;
  while (check("a", encoded("a" + std::to_string(let) + ":x"))) ++let;
  checks_.clear();
  ASSERT_TRUE(check("b", kRight));
  ASSERT_TRUE(await_told(1));
  EXPECT_THAT(told_, ElementsAre("b ann"));
}

TEST_F(GateTest, of_other_users_knows_nobody_from_before) {
  ASSERT_TRUE(check("a", kRight));
  ASSERT_TRUE(await_told(1));
  set("bob:" + kHash);
  EXPECT_EQ(asked(kRight), -1);
  ASSERT_TRUE(check("b", kRight));
  ASSERT_TRUE(await_told(2));
  EXPECT_EQ(told_.back(), "b no");
}

TEST_F(GateTest, holds_what_is_being_tried_against_the_users_of_now) {
  ASSERT_TRUE(check("a", kRight));
  ASSERT_TRUE(check("b", kBob));
  set("bob:" + kHash);
  ASSERT_TRUE(await_told(2));
  EXPECT_THAT(told_, testing::UnorderedElementsAre("a no", "b bob"));
  EXPECT_EQ(asked(kBob), 0);
}

TEST_F(GateTest, that_opens_lets_in_all_who_wait) {
  ASSERT_TRUE(check("a", kBob));
  ASSERT_TRUE(check("b", encoded("x:y")));
  authenticator_->set_users(std::nullopt);
  ASSERT_TRUE(await_told(2));
  EXPECT_THAT(told_, testing::UnorderedElementsAre("a ", "b "));
}

TEST_F(GateTest, may_go_while_a_password_is_tried) {
  ASSERT_TRUE(check("a", kRight));
  ASSERT_TRUE(check("b", kBob));
  authenticator_.reset();
  run_.run_for(10'000);
  EXPECT_TRUE(told_.empty());
}

}  // namespace
}  // namespace penstock::proxy
