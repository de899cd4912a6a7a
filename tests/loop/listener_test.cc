// SPDX-License-Identifier: Apache-2.0
// Listening sockets.
#include "loop/listener.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "support/few_files.h"
#include "support/held_port.h"
#include "support/sockets.h"
#include "support/test_loop.h"

namespace penstock::loop {
namespace {

class ListenerTest : public testing::Test {
 protected:
  std::expected<std::unique_ptr<Listener>, Error> listen(const Endpoint& endpoint, int handed_over = -1) {
    return Listener::listen(
        run_.loop, endpoint, [this](std::unique_ptr<Stream> stream) { streams_.push_back(std::move(stream)); }, 0,
        handed_over);
  }

  test::TestLoop run_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

TEST_F(ListenerTest, takes_any_free_port_for_port_zero_and_tells_which) {
  const auto one = listen({"127.0.0.1", 0});
  const auto two = listen({"127.0.0.1", 0});
  ASSERT_TRUE(one && two);
  EXPECT_EQ((*one)->bound().address, "127.0.0.1");
  EXPECT_NE((*one)->bound().port, 0);
  EXPECT_NE((*one)->bound().port, (*two)->bound().port);
}

TEST_F(ListenerTest, hands_over_every_connection) {
  const auto listener = listen({"127.0.0.1", 0});
  ASSERT_TRUE(listener);
  std::vector<test::Socket> peers;
  for (int i = 0; i < 50; ++i) peers.push_back(test::connect_to((*listener)->bound().port));
  EXPECT_TRUE(run_.run_until([&] { return streams_.size() == 50; }));
}

TEST_F(ListenerTest, listens_on_ipv6_as_well) {
  const auto listener = listen({"::1", 0});
  ASSERT_TRUE(listener) << listener.error().message;
  EXPECT_EQ((*listener)->bound().address, "::1");
  EXPECT_NE((*listener)->bound().port, 0);
}

TEST_F(ListenerTest, says_which_address_is_in_use) {
  const auto first = listen({"127.0.0.1", 0});
  ASSERT_TRUE(first);
  const Endpoint taken = (*first)->bound();
  const auto second = listen(taken);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, "cannot listen on " + to_string(taken) + ": address already in use");
}

TEST_F(ListenerTest, says_which_address_this_machine_does_not_have) {
  const auto listener = listen({"192.0.2.1", 0});
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().message, "cannot listen on 192.0.2.1:0: address not available");
}

TEST_F(ListenerTest, refuses_what_is_no_address) { EXPECT_FALSE(listen({"localhost", 0})); }

TEST_F(ListenerTest, takes_a_socket_that_listens_already_and_leaves_to_its_owner_who_comes_later) {
  const test::Socket owned(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::listen(owned.fd(), 8), 0);  // on a free port of every address
  auto early = test::connect_to(owned.port());
  auto listener = listen({"0.0.0.0", owned.port()}, ::dup(owned.fd()));
  ASSERT_TRUE(listener) << listener.error().message;
  EXPECT_EQ((*listener)->bound().port, owned.port());
  EXPECT_TRUE(run_.run_until([&] { return streams_.size() == 1; }));
  listener->reset();
  auto late = test::connect_to(owned.port());
  run_.run_for(1'000);
  EXPECT_EQ(streams_.size(), 1u);
  EXPECT_GE(test::Socket(::accept(owned.fd(), nullptr, nullptr)).fd(), 0);
}

TEST_F(ListenerTest, closes_a_socket_that_will_not_do) {
  const std::size_t before = test::open_descriptors();
  EXPECT_FALSE(listen({"127.0.0.1", 0}, ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  EXPECT_FALSE(listen({"no address", 0}, ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  EXPECT_EQ(test::open_descriptors(), before);
}

TEST_F(ListenerTest, dropping_it_stops_accepting_and_frees_the_port) {
  const test::HeldPort held;  // other programs want ports, too
  const Endpoint endpoint{"127.0.0.1", held.number()};
  auto listener = listen(endpoint);
  ASSERT_TRUE(listener);
  ASSERT_FALSE(listen(endpoint)) << "it is taken";
  listener->reset();
  run_.run_for(1'000);
  EXPECT_TRUE(listen(endpoint));
}

TEST_F(ListenerTest, lets_those_wait_for_whom_there_is_no_descriptor) {
  const auto listener = listen({"127.0.0.1", 0});
  ASSERT_TRUE(listener);
  std::vector<test::Socket> peers;
  for (int i = 0; i < 20; ++i) peers.push_back(test::connect_to((*listener)->bound().port));
  {
    const test::FewFiles few(3);
    ASSERT_TRUE(run_.run_until([&] { return (*listener)->pausing(); }));
    EXPECT_LE(streams_.size(), 3u);
    EXPECT_LT(run_.run_for(300'000), 100) << "turns of the loop: it does not spin";
    EXPECT_EQ((*listener)->pauses(), 1u);
  }
  EXPECT_TRUE(run_.run_until([&] { return streams_.size() == 20; })) << "none was sent away";
  EXPECT_FALSE((*listener)->pausing());
}

TEST_F(ListenerTest, does_not_spin_on_a_socket_that_listens_no_more) {
  const test::Socket owned(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::listen(owned.fd(), 8), 0);
  const auto listener = listen({"0.0.0.0", owned.port()}, ::dup(owned.fd()));
  ASSERT_TRUE(listener) << listener.error().message;
  run_.run_for(1'000);
  ASSERT_EQ(::shutdown(owned.fd(), SHUT_RDWR), 0);
  ASSERT_TRUE(run_.run_until([&] { return (*listener)->pausing(); }));
  EXPECT_LT(run_.run_for(300'000), 100) << "turns of the loop";
  EXPECT_EQ((*listener)->pauses(), 0u) << "of descriptors there are enough";
  ASSERT_EQ(::listen(owned.fd(), 8), 0);
  const auto peer = test::connect_to(owned.port());
  EXPECT_TRUE(run_.run_until([&] { return streams_.size() == 1; })) << "it listens again";
}

TEST_F(ListenerTest, leaves_some_descriptors_to_others) {
  const test::FewFiles few(70);
  auto listening = Listener::listen(
      run_.loop, {"127.0.0.1", 0}, [this](std::unique_ptr<Stream> stream) { streams_.push_back(std::move(stream)); },
      8);
  ASSERT_TRUE(listening);
  std::vector<test::Socket> peers;
  for (int i = 0; i < 50; ++i) peers.push_back(test::connect_to((*listening)->bound().port));
  ASSERT_TRUE(run_.run_until([&] { return (*listening)->pausing(); }));
  EXPECT_GT(streams_.size(), 0u);
  std::vector<test::Socket> others;
  for (int i = 0; i < 7; ++i) {
    others.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_GE(others.back().fd(), 0) << i;
  }
}

TEST_F(ListenerTest, may_be_dropped_while_it_hands_over_a_connection) {
  std::unique_ptr<Listener> listener;
  std::unique_ptr<Stream> kept;
  auto listening = Listener::listen(run_.loop, {"127.0.0.1", 0}, [&](std::unique_ptr<Stream> stream) {
    kept = std::move(stream);
    listener.reset();
  });
  ASSERT_TRUE(listening);
  listener = std::move(*listening);
  auto first = test::connect_to(listener->bound().port);
  auto second = test::connect_to(listener->bound().port);
  ASSERT_TRUE(run_.run_until([&] { return kept != nullptr; }));
  EXPECT_EQ(listener, nullptr);
}

}  // namespace
}  // namespace penstock::loop
