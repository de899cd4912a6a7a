// SPDX-License-Identifier: Apache-2.0
// Special addresses, in each form in which one may be written: nobody is dialled there.
#include <netinet/in.h>
#include <sys/socket.h>

#include "system/stage.h"

namespace penstock::trial {
namespace {

/// Listens at every address of this machine, of both families where it has both.
class Everywhere {
 public:
  Everywhere() { EXPECT_TRUE(listen(AF_INET6) || listen(AF_INET)); }
  std::string port() const { return std::to_string(port_); }
  bool was_called() const { return Socket(::accept4(socket_.fd(), nullptr, nullptr, SOCK_CLOEXEC)).fd() >= 0; }

 private:
  bool listen(int family) {
    socket_ = Socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int off = 0;
    if (family == AF_INET6) ::setsockopt(socket_.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    sockaddr_in6 place{};  // all zeros but for the family: any address, any port, in either family
    place.sin6_family = static_cast<sa_family_t>(family);
    auto* const any = reinterpret_cast<sockaddr*>(&place);
    socklen_t size = family == AF_INET6 ? sizeof place : sizeof(sockaddr_in);
    if (::bind(socket_.fd(), any, size) != 0 || ::listen(socket_.fd(), 64) != 0) return false;
    ::getsockname(socket_.fd(), any, &size);
    port_ = ntohs(place.sin6_port);  // in the same place in both
    return true;
  }

  Socket socket_;
  std::uint16_t port_ = 0;
};

void expect_asked_in_vain(const Daemon& daemon, const std::string& request) {
  expect_denied(daemon.ask(request), "(access.allow)");
}

// Each range from its first address to its last is tests/access'.
TEST(SpecialRanges, are_dialled_by_nobody_in_whatever_clothes) {
  const std::vector<std::string> hosts{"0.0.0.0",
                                       "10.0.0.1",
                                       "100.64.0.0",
                                       "169.254.169.254",
                                       "172.31.255.255",
                                       "192.168.255.255",
                                       "255.255.255.255",
                                       "[::]",
                                       "[::ffff:10.0.0.1]",
                                       "[::ffff:0:10.0.0.1]",
                                       "[64:ff9b::10.0.0.1]",
                                       "[2002:a00:1::]",
                                       "[2001::]",
                                       "[fd00::1]",
                                       "[fe80::1]",
                                       "[ff02::1]"};
  const Everywhere trap;
  const Daemon daemon({.yaml = "access: { connectPorts: [" + trap.port() + "] }\n"});
  for (const auto& host : hosts) {
    SCOPED_TRACE(host);
    const std::string there = host + ":" + trap.port();
    expect_asked_in_vain(daemon, get("http://" + there + "/"));
    expect_asked_in_vain(daemon, "CONNECT " + there + " HTTP/1.1\r\nHost: " + there + "\r\n\r\n");
  }
  EXPECT_FALSE(trap.was_called());
  EXPECT_EQ(daemon.await_events(2 * hosts.size(), "refused").size(), 2 * hosts.size());
  EXPECT_EQ(daemon.events().size(), 2 * hosts.size()) << "nobody took off";
}

}  // namespace
}  // namespace penstock::trial
