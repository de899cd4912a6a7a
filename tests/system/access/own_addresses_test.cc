// SPDX-License-Identifier: Apache-2.0
// Every address of this machine leads to whoever listens on all of them, and some lead to Redis: Penstock's own ports
// and its Redis stay closed by each of them, whatever is allowed.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>

#include "system/stage.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;

/// Of the interfaces of this machine, in both families, loopback among them.
std::vector<std::string> addresses_here() {
  std::vector<std::string> all;
  ifaddrs* first = nullptr;
  EXPECT_EQ(::getifaddrs(&first), 0);
  for (const auto* one = first; one; one = one->ifa_next) {
    const int family = one->ifa_addr ? one->ifa_addr->sa_family : AF_UNSPEC;
    char text[INET6_ADDRSTRLEN] = "";
    if (family == AF_INET)
      ::inet_ntop(family, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text);
    if (family == AF_INET6)
      ::inet_ntop(family, &reinterpret_cast<const sockaddr_in6*>(one->ifa_addr)->sin6_addr, text, sizeof text);
    if (*text) all.emplace_back(text);
  }
  ::freeifaddrs(first);
  EXPECT_THAT(all, testing::Contains("127.0.0.1"));
  return all;
}

bool is_v6(const std::string& address) { return address.find(':') != std::string::npos; }

std::string authority(const std::string& address, std::uint16_t port) {
  return (is_v6(address) ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

/// Keys that allow every address, and tunnels to these ports.
std::string allowing_all(const std::vector<std::uint16_t>& ports = {}) {
  std::string listed;
  for (const auto port : ports) listed += (listed.empty() ? "" : ", ") + std::to_string(port);
  return "access: { allow: ['0.0.0.0/0', '::/0'], plainPorts: [], connectPorts: [" + listed + "] }\n";
}

std::vector<std::string> ways_to(const std::string& there) {
  return {get("http://" + there + "/status"), "SET http://" + there + "/k HTTP/1.1\r\nHost: a\r\n\r\n",
          get("http://" + there + "/", "Connection: Upgrade\r\nUpgrade: websocket\r\n"),
          "CONNECT " + there + " HTTP/1.1\r\nHost: a\r\n\r\n"};
}

Reply ask(const Daemon& daemon, std::string_view bytes) {
  Client client(daemon.port());
  client.send(bytes);
  return client.head();
}

/// By whichever way in.
void expect_refused(const Daemon& daemon, const std::string& there, int status, const std::string& error,
                    const std::string& says) {
  for (const auto& request : ways_to(there)) {
    SCOPED_TRACE(request);
    const Reply reply = ask(daemon, request);
    ASSERT_EQ(reply.status, status);
    ASSERT_EQ(reply.error(), error);
    ASSERT_THAT(reply.reason, HasSubstr(says));
  }
}

/// Seen before anything is dialled, not when it comes back.
void expect_own(const Daemon& daemon, const std::string& there) {
  expect_refused(daemon, there, 502, "proxy_loop_detected", "is this proxy itself");
}

void expect_closed(const Daemon& daemon, const std::string& there) {
  expect_refused(daemon, there, 403, "destination_ip_prohibited", "");
}

void expect_own_ports_closed(const std::string& everywhere) {
  SCOPED_TRACE(everywhere);
  const Daemon daemon({.yaml = allowing_all(), .listen = everywhere, .admin = everywhere});
  const auto ours = {daemon.port(), daemon.admin_port()};
  const Origin origin;
  for (const auto& address : addresses_here()) {
    for (const auto port : ours) {
      const Reply reply = ask(daemon, get("http://" + authority(address, port) + "/status"));
      EXPECT_EQ(reply.error(), "proxy_loop_detected") << address;
    }
  }
  ASSERT_TRUE(daemon.reloads(allowing_all(ours)));
  for (const auto& address : addresses_here()) {
    for (const auto port : ours) expect_own(daemon, authority(address, port));
  }
  EXPECT_EQ(ask(daemon, get(origin.url("/"))).status, 200) << "at the same address, another port";
}

TEST(OwnPorts, of_listeners_on_all_addresses_are_closed_at_each_that_this_machine_has) {
  expect_own_ports_closed("0.0.0.0:0");
  if (std::ranges::any_of(addresses_here(), is_v6)) expect_own_ports_closed("[::]:0");
}

TEST(AdminPort, of_its_own_cannot_be_reached_through_the_proxy) {
  Stage stage;
  const Reply reply = stage.ask(get("http://127.0.0.1:" + std::to_string(stage.daemon.admin_port()) + "/metrics"));
  expect_own_answer(reply, {502}, "proxy_loop_detected");
  EXPECT_EQ(reply.body.find("penstock_"), std::string::npos);
}

std::string redis_at(const std::string& address, std::uint16_t port) {
  return "redis: { url: 'redis://" + authority(address, port) + "', whenDown: open }\n" + allowing_all({port});
}

// Who binds one address of a machine mostly binds others too.
TEST(RedisHere, is_closed_at_every_address_of_this_machine_whichever_it_is_told_by) {
  const Closed redis;  // it need not be there
  const Trap trap(redis.port);
  std::vector<std::string> told{"127.0.0.1", "0.0.0.0", "::1", "localhost"};
  for (const auto& address : addresses_here()) told.push_back(address);
  for (const auto& address : told) {
    SCOPED_TRACE(address);
    const Daemon daemon({.yaml = redis_at(address, redis.port)});
    expect_closed(daemon, authority("127.9.0.2", redis.port));
    expect_closed(daemon, authority("::ffff:127.9.0.2", redis.port));
    for (const auto& here : addresses_here()) expect_closed(daemon, authority(here, redis.port));
  }
}

}  // namespace
}  // namespace penstock::trial
