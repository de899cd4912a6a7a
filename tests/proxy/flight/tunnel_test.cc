// SPDX-License-Identifier: Apache-2.0
// Tunnels to names: which of their addresses are dialled, in which order, and what is said when none will do.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "proxy/allocations.h"
#include "proxy/client/local_sink.h"
#include "proxy/clients_fixture.h"
#include "support/bind.h"
#include "support/name_server.h"

namespace penstock::proxy {
namespace {

using namespace std::chrono_literals;
using test::NameServer;
using testing::HasSubstr;
using testing::StartsWith;

class TunnelTest : public ClientsTest {
 protected:
  TunnelTest()
      : names_([this](const std::string&, std::uint16_t type) -> std::optional<NameServer::Reply> {
          if (rcode_ != NameServer::kNoError) return NameServer::Reply{.rcode = rcode_};
          return NameServer::Reply{.addresses = type == NameServer::kA ? addresses_ : std::vector<std::string>{}};
        }),
        far_([](test::Origin&, test::Socket& peer, int) { peer.send("hello " + peer.read(4)); }) {
    config_.dns.servers = {names_.address()};
    config_.access.connect_ports = {far_.port()};
  }
  /// All that a client hears that asks for a tunnel, sends four bytes at once, and reads to the end.
  std::string heard() {
    return conversation("CONNECT name.test:" + std::to_string(far_.port()) + " HTTP/1.1\r\n\r\nfour");
  }
  void expect_refused(const std::string& status, std::string_view token) {
    EXPECT_THAT(heard(), StartsWith("HTTP/1.1 " + status + " Penstock: "));
    EXPECT_EQ(course(), "dispatch error");
    EXPECT_EQ(told_.back().error, token);
    EXPECT_EQ(far_.connections(), 0);
    expect_at_rest();
  }

  std::vector<std::string> addresses_{"127.0.0.1"};
  int rcode_ = NameServer::kNoError;
  NameServer names_;
  test::Origin far_;  // on 127.0.0.1 only
};

const std::string kOpen = "HTTP/1.1 200 Connection established\r\n\r\nhello four";

TEST_F(TunnelTest, the_name_is_looked_up_at_take_off) {
  EXPECT_EQ(heard(), kOpen);
  EXPECT_TRUE(run_.run_until([this] { return course() == "dispatch complete"; }));
  EXPECT_EQ(told_.back().outcome, Outcome::success);
  EXPECT_EQ(told_.back().status, 200);
  EXPECT_EQ(told_.back().host, "name.test");
  EXPECT_EQ(told_.back().bytes_in, 10u);
  EXPECT_EQ(told_.back().bytes_out, 4u);
  expect_at_rest();
  EXPECT_EQ(snapshot().tunnels.open, 0u);
  EXPECT_EQ(snapshot().tunnels.bytes_in, 10u);
}

TEST_F(TunnelTest, tells_its_client_and_its_id_though_it_outlives_the_connection_that_asked) {
  config_.log.client = LogClient::full;
  const auto all = conversation("CONNECT name.test:" + std::to_string(far_.port()) +
                                " HTTP/1.1\r\nPenstock-Request-Id: ?\r\n\r\nfour");
  EXPECT_TRUE(run_.run_until([this] { return course() == "dispatch complete"; }));
  EXPECT_EQ(all, "HTTP/1.1 200 Connection established\r\nPenstock-Request-Id: " + told_[0].id + "\r\n\r\nhello four");
  EXPECT_THAT(told_[0].client, testing::MatchesRegex("127.0.0.1:[0-9]+"));
  EXPECT_EQ(told_[1].client, told_[0].client);
}

TEST_F(TunnelTest, addresses_that_refuse_give_way_to_the_next) {
  addresses_ = {"127.9.0.2", "127.9.0.3", "127.0.0.1", "127.9.0.4"};
  EXPECT_EQ(heard(), kOpen);
}

TEST_F(TunnelTest, only_addresses_that_may_be_dialled_are) {
  config_.access.deny = {"127.0.0.1"};
  addresses_ = {"127.0.0.1", "10.1.2.3"};
  expect_refused("403", "destination_ip_prohibited");
}

/// Where whoever connects hears nothing: a listening socket on 127.9.0.2 whose backlog is full.
struct Silent {
  explicit Silent(std::uint16_t port) {
    sockaddr_in place{
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(test::kElsewhere)}, .sin_zero = {}};
    const auto* address = reinterpret_cast<const sockaddr*>(&place);
    EXPECT_TRUE(test::take_place(listener.fd(), place));
    EXPECT_EQ(::listen(listener.fd(), 0), 0);
    for (int i = 0; i < 8; ++i) {
      fillers.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      ::connect(fillers.back().fd(), address, sizeof place);
    }
  }
  test::Socket listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::vector<test::Socket> fillers;
};

TEST_F(TunnelTest, an_address_that_is_denied_while_another_is_dialled_is_not) {
  const Silent silent(far_.port());
  addresses_ = {"127.9.0.2", "127.0.0.1"};
  config_.unmatched.timeouts.connect = 4s;
  test::Socket client = connect();
  client.send("CONNECT name.test:" + std::to_string(far_.port()) + " HTTP/1.1\r\n\r\nfour");
  ASSERT_TRUE(run_.run_until([this] { return course() == "dispatch"; }));
  run_.run_for(100'000);  // the first gets half of the time
  config_.access.deny = {"127.0.0.1"};
  *verdict_ = access::Verdict(config_, own_);
  ASSERT_TRUE(run_.run_until([this] { return course() == "dispatch error"; }));
  EXPECT_EQ(told_.back().error, "connection_timeout");
  EXPECT_EQ(far_.connections(), 0);
  expect_at_rest();
}

TEST_F(TunnelTest, when_all_refuse_the_answer_is_502) {
  addresses_ = {"127.9.0.2", "127.9.0.3"};
  expect_refused("502", "connection_refused");
}

TEST_F(TunnelTest, to_a_name_that_is_not_there_is_502) {
  rcode_ = NameServer::kNxdomain;
  expect_refused("502", "dns_error");
}

TEST_F(TunnelTest, to_this_proxy_by_name_is_a_loop) {
  own_ = {{"127.0.0.1", far_.port()}};
  expect_refused("502", "proxy_loop_detected");
}

TEST_F(TunnelTest, allocates_nothing_for_what_it_passes_on) {
  constexpr std::size_t kMuch = 32 * 1024 * 1024;  // at least 512 reads
  test::Origin pouring([](test::Origin&, test::Socket& peer, int) {
    const std::string piece(256 * 1024, 'p');
    peer.read(4);
    for (std::size_t sent = 0; sent < kMuch; sent += piece.size()) peer.send(piece);
  });
  config_.access.connect_ports = {pouring.port()};
  test::Socket client = connect();
  client.send("CONNECT " + pouring.host() + " HTTP/1.1\r\n\r\n");
  const auto answered = [&] { return !client.peek().empty(); };
  ASSERT_TRUE(run_.run_until(answered));
  client.read_until("\r\n\r\n");
  std::atomic<bool> done = false;
  std::size_t read = 0;
  std::thread reading([&] {
    client.send("pour");
    while (read < kMuch) read += client.read_some(256 * 1024).size();
    done = true;
  });
  const auto before = allocations_so_far();
  EXPECT_TRUE(run_.run_until([&] { return done.load(); }));
  EXPECT_LT(allocations_so_far() - before, 256u)
      << "one for each time that the client was not ready, as its thread waits";
  reading.join();
  EXPECT_EQ(read, kMuch);
}

TEST_F(TunnelTest, ends_when_everything_is_ended) {
  test::Socket client = connect();
  client.send("CONNECT name.test:" + std::to_string(far_.port()) + " HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(run_.run_until([this] { return snapshot().tunnels.open == 1; }));
  EXPECT_EQ(clients_->count(), 0u);
  dispatcher_->end_all();
  EXPECT_EQ(course(), "dispatch error");
  expect_at_rest();
  EXPECT_EQ(snapshot().tunnels.open, 0u);
}

TEST_F(TunnelTest, is_not_for_callers_without_a_connection) {
  std::optional<int> status;
  LocalSink::submit(run_.loop, dispatcher(), "penstock",
                    {.method = "CONNECT", .url = "127.0.0.1:" + std::to_string(far_.port())},
                    [&](auto answer) { status = answer ? answer->status : 0; });
  EXPECT_TRUE(run_.run_until([&] { return status.has_value(); }));
  EXPECT_EQ(status, 400);
  EXPECT_EQ(far_.connections(), 0);
}

}  // namespace
}  // namespace penstock::proxy
