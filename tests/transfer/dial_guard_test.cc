// SPDX-License-Identifier: Apache-2.0
// The guard of dials: asked before any packet leaves, and again whenever a kept connection is used.
#include <gmock/gmock.h>

#include <tuple>

#include "sending.h"
#include "support/held_port.h"

namespace penstock::transfer {
namespace {

using namespace std::string_literals;
using DialGuardTest = SendingTest;

TEST_F(DialGuardTest, is_asked_about_the_address_that_is_dialled_and_the_host_that_it_is_dialled_for) {
  test::Origin origin(test::always(kOk));
  std::vector<std::tuple<std::string, std::uint16_t, std::string>> asked;
  guard_.allows = [&](std::string_view address, std::uint16_t port, std::string_view host) {
    asked.emplace_back(address, port, host);
    return true;
  };
  for (int i = 0; i < 2; ++i) {
    Request named = request("GET", "name.test:" + std::to_string(origin.port()));
    named.pin = "name.test:" + std::to_string(origin.port()) + ":127.0.0.1";
    named.host = "name.test";
    Recorder recorder;
    EXPECT_EQ(send(std::move(named), recorder), Failure::none);
  }
  EXPECT_EQ(origin.connections(), 1);
  ASSERT_EQ(asked.size(), 3u) << "on dialling, before the first request, and before the second";
  for (const auto& one : asked) EXPECT_EQ(one, std::tuple("127.0.0.1"s, origin.port(), "name.test"s));
}

TEST_F(DialGuardTest, may_refuse_and_then_nothing_is_opened) {
  test::Origin origin(test::always(kOk));
  guard_.allows = [](std::string_view, std::uint16_t, std::string_view) { return false; };
  Recorder recorder;
  EXPECT_EQ(send(request("GET", origin.host()), recorder), Failure::denied);
  EXPECT_EQ(recorder.connected, 0);
  run_.run_for(20'000);
  EXPECT_EQ(origin.connections(), 0);
}

TEST_F(DialGuardTest, may_refuse_some_addresses_of_a_name_and_allow_others_at_once) {
  test::Origin origin(test::always(kOk));
  const std::string host = "name.test:" + std::to_string(origin.port());
  guard_.allows = [](std::string_view address, std::uint16_t, std::string_view) { return address == "127.0.0.1"; };
  Request two = request("GET", host);
  two.pin = host + ":127.0.0.2,127.0.0.1";
  two.fresh_connection = true;
  Recorder recorder;
  const auto began = test::MachineClock::now();
  EXPECT_EQ(send(std::move(two), recorder), Failure::none);
  EXPECT_TRUE(at_once(began));
}

TEST_F(DialGuardTest, denied_is_only_who_had_no_allowed_address) {
  const test::HeldPort held;
  const std::string nobody = "name.test:" + std::to_string(held.number());
  guard_.allows = [](std::string_view address, std::uint16_t, std::string_view) { return address == "127.0.0.1"; };
  for (const std::string addresses : {"127.0.0.1,127.0.0.2", "127.0.0.2,127.0.0.1"}) {
    Request two = request("GET", nobody);
    two.pin = nobody + ":" + addresses;
    Recorder recorder;
    EXPECT_EQ(send(std::move(two), recorder), Failure::refused) << addresses;
  }
}

TEST_F(DialGuardTest, is_asked_again_when_a_connection_is_used_again) {
  test::Origin origin(test::always(kOk));
  EXPECT_EQ(get(origin.host()), Failure::none);
  guard_.allows = [](std::string_view, std::uint16_t, std::string_view) { return false; };
  EXPECT_EQ(get(origin.host()), Failure::not_sent) << "there may be another address, or not";
  EXPECT_EQ(get(origin.host()), Failure::denied) << "the connection is gone";
  run_.run_for(20'000);
  EXPECT_EQ(origin.notes().size(), 1u) << "the second request was not sent";
  EXPECT_EQ(origin.connections(), 1);
}

TEST_F(DialGuardTest, a_later_failure_is_not_called_a_denial) {
  test::Origin origin([](test::Origin&, test::Socket& peer, int) { peer.read_until("\r\n\r\n"); });
  guard_.allows = [](std::string_view address, std::uint16_t, std::string_view) { return address == "127.0.0.1"; };
  Request two = request("GET", "name.test:" + std::to_string(origin.port()));
  two.pin = "name.test:" + std::to_string(origin.port()) + ":127.0.0.2,127.0.0.1";
  Recorder recorder;
  EXPECT_EQ(send(std::move(two), recorder), Failure::terminated);
}

}  // namespace
}  // namespace penstock::transfer
