// SPDX-License-Identifier: Apache-2.0
// Who rejects our certificate waits longer and longer, or gets a tunnel; time is moved by hand.
#include "proxy/intercept/certificate_rejections.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>

namespace penstock::proxy {
namespace {

constexpr CertificateRejections::Time kSecond = 1'000'000;
constexpr CertificateRejections::Time kHour = 3600 * kSecond;

class DistrustTest : public testing::Test {
 protected:
  void reject(int times, const std::string& host = "a.test") {
    for (int i = 0; i < times; ++i) distrust_.rejected(client_, host, CertificateRejections::Sign::alert, now_);
  }
  void leave(CertificateRejections::Sign sign) { distrust_.rejected(client_, "a.test", sign, now_); }
  CertificateRejections::Time pause(const std::string& host = "a.test") {
    return distrust_.pause_ends(client_, host, now_) - now_;
  }
  std::unique_ptr<CertificateRejections::Place> queue_up() { return distrust_.queue_up(client_, "a.test"); }
  /// How long until it is to ask again; 0: it begins.
  CertificateRejections::Time wait(const std::unique_ptr<CertificateRejections::Place>& place) {
    return distrust_.ask_slot(client_, "a.test", place.get(), now_) - now_;
  }
  bool bypasses(const std::string& host = "a.test") const { return distrust_.bypasses(client_, host, now_); }

  static CertificateRejections::Client client_at(const char* address, const char* user = "") {
    return {access::parse_address(address).value(), user};
  }

  const CertificateRejections::Client client_ = client_at("10.0.0.1");
  CertificateRejections::Time now_ = 1000 * kSecond;
  CertificateRejections distrust_;
};

TEST_F(DistrustTest, makes_nobody_wait_who_has_rejected_twice_at_most) {
  EXPECT_EQ(pause(), 0);
  reject(2);
  EXPECT_EQ(pause(), 0);
}

TEST_F(DistrustTest, doubles_the_pause_up_to_five_seconds) {
  reject(3);
  EXPECT_EQ(pause(), kSecond / 10);
  reject(1);
  EXPECT_EQ(pause(), kSecond / 5);
  reject(4);
  EXPECT_EQ(pause(), 3'200'000);
  reject(1);
  EXPECT_EQ(pause(), 5 * kSecond);
  now_ += kSecond;
  reject(1000);
  EXPECT_EQ(pause(), 5 * kSecond);
  now_ += 6 * kSecond;
  EXPECT_EQ(pause(), 0);
}

TEST_F(DistrustTest, lets_those_who_have_waited_begin_in_their_order_ten_a_second) {
  reject(9);
  EXPECT_EQ(pause(), 5 * kSecond);
  now_ += 5 * kSecond;
  auto first = queue_up(), second = queue_up(), third = queue_up();
  EXPECT_GT(wait(second), 0) << "it is not its turn";
  EXPECT_EQ(wait(first), 0);
  first.reset();
  EXPECT_EQ(wait(second), kSecond / 10);
  now_ += kSecond / 10;
  EXPECT_GT(wait(third), 0);
  EXPECT_EQ(wait(second), 0);
}

TEST_F(DistrustTest, of_those_before_makes_nobody_wait_anew) {
  reject(9);
  now_ += 5 * kSecond;
  std::deque<std::unique_ptr<CertificateRejections::Place>> waiting;
  for (int i = 0; i < 30; ++i) waiting.push_back(queue_up());
  const auto begin = now_;
  for (; !waiting.empty(); waiting.pop_front()) {
    EXPECT_EQ(wait(waiting.front()), 0);
    reject(1);
    now_ += kSecond / 10;
  }
  EXPECT_EQ(now_ - begin, 3 * kSecond);
}

TEST_F(DistrustTest, lets_nobody_wait_for_those_who_wait_no_more) {
  reject(9);
  now_ += 5 * kSecond;
  for (int i = 0; i < 1000; ++i) wait(queue_up());
  now_ += kSecond / 10;
  EXPECT_EQ(wait(queue_up()), 0);
}

TEST_F(DistrustTest, that_is_over_lets_all_begin_who_wait) {
  reject(9);
  now_ += 5 * kSecond;
  auto first = queue_up(), second = queue_up();
  EXPECT_EQ(wait(first), 0);
  distrust_.accepted(client_, "a.test");
  EXPECT_EQ(wait(second), 0);
}

TEST_F(DistrustTest, makes_wait_who_breaks_off_handshakes_but_gives_it_no_tunnel) {
  distrust_.set_bypass(true);
  for (int i = 0; i < 9; ++i) leave(CertificateRejections::Sign::broken_off);
  EXPECT_EQ(pause(), 5 * kSecond);
  EXPECT_FALSE(bypasses());
  reject(1);
  EXPECT_FALSE(bypasses());
  reject(1);
  EXPECT_TRUE(bypasses());
}

TEST_F(DistrustTest, bypasses_who_leaves_four_times_in_a_row_behind_the_handshake) {
  distrust_.set_bypass(true);
  for (int i = 0; i < 3; ++i) leave(CertificateRejections::Sign::left);
  EXPECT_FALSE(bypasses());
  leave(CertificateRejections::Sign::left);
  EXPECT_TRUE(bypasses());
}

TEST_F(DistrustTest, is_forgotten_where_another_certificate_is_shown) {
  distrust_.set_bypass(true);
  reject(9);
  distrust_.forget();
  EXPECT_FALSE(bypasses());
  EXPECT_EQ(pause(), 0);
  EXPECT_EQ(distrust_.size(), 0u);
}

TEST_F(DistrustTest, is_of_one_client_and_one_host) {
  reject(9);
  EXPECT_EQ(pause("b.test"), 0);
  EXPECT_EQ(distrust_.pause_ends(client_at("10.0.0.2"), "a.test", now_), now_);
  EXPECT_EQ(distrust_.pause_ends(client_at("10.0.0.1", "ada"), "a.test", now_), now_);
}

TEST_F(DistrustTest, takes_the_64_of_an_ipv6_address_for_one_client) {
  distrust_.set_bypass(true);
  distrust_.rejected(client_at("2001:db8::1"), "a.test", CertificateRejections::Sign::alert, now_);
  distrust_.rejected(client_at("2001:db8::2"), "a.test", CertificateRejections::Sign::alert, now_);
  EXPECT_TRUE(distrust_.bypasses(client_at("2001:db8::3"), "a.test", now_));
  EXPECT_FALSE(distrust_.bypasses(client_at("2001:db8:0:1::1"), "a.test", now_));
}

TEST_F(DistrustTest, is_over_once_a_request_has_come) {
  reject(9);
  distrust_.accepted(client_, "a.test");
  EXPECT_EQ(pause(), 0);
  EXPECT_EQ(distrust_.size(), 0u);
}

TEST_F(DistrustTest, bypasses_for_an_hour_after_two_rejections_in_a_row_where_that_is_wanted) {
  reject(2);
  EXPECT_FALSE(bypasses()) << "not wanted";
  distrust_.set_bypass(true);
  EXPECT_TRUE(bypasses());
  now_ += kHour;
  EXPECT_TRUE(bypasses());
  now_ += 1;
  EXPECT_FALSE(bypasses());
  reject(1);
  EXPECT_FALSE(bypasses()) << "it is tried anew, and twice again";
  reject(1);
  EXPECT_TRUE(bypasses());
}

TEST_F(DistrustTest, does_not_bypass_after_a_request_between_two_rejections) {
  distrust_.set_bypass(true);
  reject(1);
  distrust_.accepted(client_, "a.test");
  reject(1);
  EXPECT_FALSE(bypasses());
}

TEST_F(DistrustTest, remembers_a_few_thousand_those_of_late) {
  distrust_.set_bypass(true);
  reject(2);
  for (int i = 0; i < 4095; ++i) reject(2, "h" + std::to_string(i));
  EXPECT_TRUE(bypasses());
  reject(1, "one.more");
  EXPECT_FALSE(bypasses());
  EXPECT_TRUE(bypasses("h0"));
  EXPECT_EQ(distrust_.size(), 4096u);
}

}  // namespace
}  // namespace penstock::proxy
