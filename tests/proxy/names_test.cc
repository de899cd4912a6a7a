// SPDX-License-Identifier: Apache-2.0
// Requests to names: looked up at take-off, each address judged, and only what was judged is dialled.
#include <gmock/gmock.h>

#include <chrono>

#include "proxy/dispatcher_fixture.h"
#include "support/name_server.h"

namespace penstock::proxy {
namespace {

using namespace std::chrono_literals;
using test::NameServer;

class NamesTest : public DispatcherTest {
 protected:
  NamesTest()
      : names_([this](const std::string&, std::uint16_t type) -> std::optional<NameServer::Reply> {
          if (silent_) return std::nullopt;
          if (rcode_ != NameServer::kNoError) return NameServer::Reply{.rcode = rcode_};
          if (type != NameServer::kA) return NameServer::Reply{};
          return NameServer::Reply{.addresses = addresses_};
        }),
        origin_(test::always(kOk)) {
    config_.dns.servers = {names_.address()};
  }

  std::string host() const { return "name.test:" + std::to_string(origin_.port()); }
  const Told& end_of_get() {
    get(asker_, host());
    EXPECT_TRUE(finish(asker_));
    EXPECT_EQ(asker_.outcomes(), 1);
    return told_.back();
  }
  void expect_refused(http::Reason why) {
    EXPECT_EQ(end_of_get().kind, EventKind::error);
    EXPECT_EQ(course(), "dispatch error");
    ASSERT_EQ(asker_.refusals.size(), 1u);
    EXPECT_EQ(asker_.refusals[0].why, why);
    EXPECT_EQ(origin_.connections(), 0);
    expect_at_rest();
  }

  // Set before the first request.
  std::vector<std::string> addresses_{"127.0.0.1"};
  int rcode_ = NameServer::kNoError;
  bool silent_ = false;
  NameServer names_;
  test::Origin origin_;
  Asker asker_;
};

TEST_F(NamesTest, a_name_is_looked_up_and_dialled) {
  EXPECT_EQ(end_of_get().kind, EventKind::complete);
  EXPECT_EQ(told_.back().upstream, host());
  EXPECT_EQ(asker_.body, "ok");
  EXPECT_EQ(origin_.notes()[0].substr(0, 16), "GET / HTTP/1.1\r\n");
  EXPECT_NE(origin_.notes()[0].find("\r\nHost: " + host() + "\r\n"), std::string::npos);
}

TEST_F(NamesTest, a_name_is_not_asked_for_again_while_it_is_remembered) {
  end_of_get();
  const int asked = names_.asked_in_all();
  for (int i = 0; i < 3; ++i) {
    Asker again;
    get(again, host());
    ASSERT_TRUE(finish(again));
    EXPECT_EQ(again.status, 200);
  }
  EXPECT_EQ(names_.asked_in_all(), asked);
  EXPECT_EQ(origin_.connections(), 1);
}

TEST_F(NamesTest, addresses_that_may_not_be_dialled_are_passed_over) {
  addresses_ = {"10.0.0.1", "169.254.169.254", "127.0.0.1"};
  EXPECT_EQ(end_of_get().kind, EventKind::complete);
}

TEST_F(NamesTest, a_name_with_nothing_but_forbidden_addresses_is_denied) {
  addresses_ = {"10.0.0.1", "192.168.0.1"};
  expect_refused(http::Reason::destination_denied);
  EXPECT_EQ(told_.back().status, 403);
  EXPECT_EQ(told_.back().error, "destination_ip_prohibited");
}

TEST_F(NamesTest, a_name_that_leads_back_to_us_is_a_loop) {
  own_ = {{"127.0.0.1", origin_.port()}};
  expect_refused(http::Reason::loop);
  EXPECT_EQ(told_.back().error, "proxy_loop_detected");
}

TEST_F(NamesTest, a_name_that_does_not_exist_is_a_dns_error) {
  rcode_ = NameServer::kNxdomain;
  expect_refused(http::Reason::dns_error);
  EXPECT_EQ(told_.back().status, 502);
  EXPECT_THAT(told_.back().detail, testing::HasSubstr("NXDOMAIN"));
}

TEST_F(NamesTest, a_name_server_that_fails_is_a_dns_error) {
  rcode_ = NameServer::kServfail;
  expect_refused(http::Reason::dns_error);
  EXPECT_THAT(told_.back().detail, testing::HasSubstr("SERVFAIL"));
}

TEST_F(NamesTest, a_name_without_addresses_is_a_dns_error) {
  addresses_ = {};
  expect_refused(http::Reason::dns_error);
}

TEST_F(NamesTest, a_name_server_that_keeps_silent_is_a_timeout) {
  silent_ = true;
  config_.dns.timeout = 300ms;
  expect_refused(http::Reason::dns_timeout);
  EXPECT_EQ(told_.back().status, 504);
  EXPECT_EQ(told_.back().error, "dns_timeout");
}

TEST_F(NamesTest, who_leaves_while_the_name_is_looked_up_frees_the_slot) {
  silent_ = true;
  get(asker_, host());
  run_.run_for(10'000);
  leave(asker_);
  EXPECT_EQ(course(), "dispatch error");
  EXPECT_EQ(told_.back().outcome, Outcome::client_gone);
  expect_at_rest();
  run_.run_for(50'000);
  EXPECT_EQ(asker_.outcomes(), 0);
}

}  // namespace
}  // namespace penstock::proxy
