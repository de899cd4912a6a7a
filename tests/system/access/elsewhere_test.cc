// SPDX-License-Identifier: Apache-2.0
// Whom Penstock serves where nothing is said of clients: the programs of its machine that come by loopback, and nobody
// who comes by a network, though it listens there.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <expected>

#include "system/tunnels.h"

namespace penstock::trial {
namespace {

/// A way to this machine that is not the usual one, and what makes it so.
struct WayIn {
  in_addr address{};
  std::string clients{};  ///< keys of `access`; empty where the default is enough
};

bool is_a_network(const ifaddrs& it) {
  return it.ifa_addr && it.ifa_addr->sa_family == AF_INET && (it.ifa_flags & IFF_UP) && !(it.ifa_flags & IFF_LOOPBACK);
}

/// By an address of the machine's in a network. A machine in no network has nobody elsewhere: there a part of loopback
/// takes the network's place, and the other part is said to be all there is.
WayIn from_elsewhere() {
  WayIn way;
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return way;
  for (const ifaddrs* it = all; it && way.address.s_addr == 0; it = it->ifa_next) {
    if (is_a_network(*it)) way.address = reinterpret_cast<const sockaddr_in*>(it->ifa_addr)->sin_addr;
  }
  ::freeifaddrs(all);
  if (way.address.s_addr != 0) return way;
  return {.address = {htonl(INADDR_LOOPBACK + 1)}, .clients = "clients: [127.0.0.1], "};
}

sockaddr_in at(in_addr address, std::uint16_t port) {
  return {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = address, .sin_zero = {}};
}

/// A connection by that address, from it; if there is none, errno.
std::expected<Socket, int> come_by(in_addr address, std::uint16_t port) {
  Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto from = at(address, 0), to = at(address, port);
  const int on = 1;  // or it might be given the very port that it is to call, and would reach itself
  ::setsockopt(socket.fd(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  EXPECT_EQ(::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&from), sizeof from), 0) << std::strerror(errno);
  if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return std::unexpected(errno);
  return socket;
}

/// Listens everywhere; an upstream is at an address that its entry names, so that it may be dialled.
struct Open : Stage {
  Open() : Open(from_elsewhere()) {}
  explicit Open(WayIn its)
      : Stage({.yaml = "access: { " + its.clients +
                       "connectPorts: [1] }\nupstreams: { here: { match: 127.0.0.1, "
                       "baseUrl: 'http://127.0.0.1:1' } }\n",
               .listen = "0.0.0.0:0"}),
        way(std::move(its)) {}
  WayIn way;
};

TEST(Elsewhere, clients_are_refused_by_default_whatever_they_ask_for) {
  const Open stage;
  const std::string requests[] = {
      get(stage.url()),
      with_body("POST", stage.url(), get(stage.url("/hidden"))),
      "CONNECT " + stage.origin.host() + " HTTP/1.1\r\nHost: a\r\n\r\n" + get("/hidden"),
      "GET /@here/x HTTP/1.1\r\nHost: localhost\r\n\r\n",
      "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
      get(stage.url()) + get(stage.url("/hidden")),
  };
  for (const auto& request : requests) {
    SCOPED_TRACE(shown(request));
    auto socket = come_by(stage.way.address, stage.daemon.port());
    ASSERT_TRUE(socket) << std::strerror(socket.error());
    Near stranger(*std::move(socket));
    stranger.send(request);
    const Reply reply = stranger.reply();
    EXPECT_EQ(reply.status, 403) << reply.head;
    EXPECT_THAT(reply.field("proxy-status"), testing::HasSubstr("http_request_denied"));
    EXPECT_EQ(stranger.rest(), "") << "one answer, and nothing after it";
  }
  EXPECT_EQ(stage.origin.connections(), 0u);
}

TEST(Elsewhere, is_not_where_programs_of_this_machine_come_from) {
  const Open stage;
  EXPECT_EQ(stage.fetch("/").body, "hello");
  Client another(stage.daemon.port(), 0, "127.0.0.3");
  another.send(get(stage.url()));
  EXPECT_EQ(another.reply().status, stage.way.clients.empty() ? 200 : 403);
  // A listener that others reach: loopback is special then, but for the upstream's own address.
  const Reply reply = stage.ask(get("http://127.0.0.2:" + std::to_string(stage.origin.port()) + "/"));
  expect_own_answer(reply, {403}, "destination_ip_prohibited");
}

TEST(Elsewhere, nobody_listens_for_metrics_though_the_proxy_does_for_requests) {
  const Open stage;
  EXPECT_EQ(stage.daemon.admin("/healthz").status, 200);
  EXPECT_TRUE(come_by(stage.way.address, stage.daemon.port()));
  const auto refused = come_by(stage.way.address, stage.daemon.admin_port());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), ECONNREFUSED);
}

}  // namespace
}  // namespace penstock::trial
