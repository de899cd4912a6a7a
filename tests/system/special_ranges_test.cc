// SPDX-License-Identifier: Apache-2.0
// Each special range by its first and its last address, as the registries at IANA have them: nobody is dialled there.
// The addresses beside a range, where they are plain, are not taken for a part of it.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <future>

#include "system/stage.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;

struct Range {
  std::string first, last;
  std::vector<std::string> beside{};  ///< plain addresses just before and just behind it
};

// The list is the test's own. Where the neighbour of a range is another one, it has none.
const std::vector<Range>& v4_ranges() {
  static const std::vector<Range> all{
      {"0.0.0.0", "0.255.255.255", {"1.0.0.0"}},
      {"10.0.0.0", "10.255.255.255", {"9.255.255.255", "11.0.0.0"}},
      {"100.64.0.0", "100.127.255.255", {"100.63.255.255", "100.128.0.0"}},
      {"127.0.0.0", "127.255.255.255", {"126.255.255.255", "128.0.0.0"}},
      {"169.254.0.0", "169.254.255.255", {"169.253.255.255", "169.255.0.0"}},
      {"172.16.0.0", "172.31.255.255", {"172.15.255.255", "172.32.0.0"}},
      {"192.0.0.0", "192.0.0.255", {"191.255.255.255", "192.0.1.0"}},
      {"192.0.2.0", "192.0.2.255", {"192.0.1.255", "192.0.3.0"}},
      {"192.168.0.0", "192.168.255.255", {"192.167.255.255", "192.169.0.0"}},
      {"198.18.0.0", "198.19.255.255", {"198.17.255.255", "198.20.0.0"}},
      {"198.51.100.0", "198.51.100.255", {"198.51.99.255", "198.51.101.0"}},
      {"203.0.113.0", "203.0.113.255", {"203.0.112.255", "203.0.114.0"}},
      {"224.0.0.0", "239.255.255.255", {"223.255.255.255"}},
      {"240.0.0.0", "255.255.255.255"},
  };
  return all;
}

const std::string kFs = ":ffff:ffff:ffff:ffff";

const std::vector<Range>& v6_ranges() {
  static const std::vector<Range> all{
      {"::", "::ffff:ffff", {"::1:0:0"}},
      {"::ffff:0:0:0", "::ffff:0:ffff:ffff", {"::fffe:ffff:ffff:ffff", "::ffff:1:0:0"}},
      {"64:ff9b::", "64:ff9b::ffff:ffff", {"64:ff9a:ffff:ffff" + kFs, "64:ff9b::1:0:0"}},
      {"64:ff9b:1::", "64:ff9b:1:ffff" + kFs, {"64:ff9b:0:ffff" + kFs, "64:ff9b:2::"}},
      {"100::", "100::ffff:ffff:ffff:ffff", {"ff:ffff:ffff:ffff" + kFs}},
      {"2001::", "2001:0:ffff:ffff" + kFs, {"2000:ffff:ffff:ffff" + kFs}},
      {"2001:2::", "2001:2:0:ffff" + kFs},
      {"2001:db8::", "2001:db8:ffff:ffff" + kFs, {"2001:db7:ffff:ffff" + kFs, "2001:db9::"}},
      {"2002::", "2002:ffff:ffff:ffff" + kFs, {"2001:ffff:ffff:ffff" + kFs, "2003::"}},
      {"3fff::", "3fff:fff:ffff:ffff" + kFs, {"3ffe:ffff:ffff:ffff" + kFs, "3fff:1000::"}},
      {"5f00::", "5f00:ffff:ffff:ffff" + kFs, {"5eff:ffff:ffff:ffff" + kFs, "5f01::"}},
      {"fc00::", "fdff:ffff:ffff:ffff" + kFs, {"fbff:ffff:ffff:ffff" + kFs, "fe00::"}},
      {"fe80::", "febf:ffff:ffff:ffff" + kFs, {"fe7f:ffff:ffff:ffff" + kFs}},
      {"fec0::", "feff:ffff:ffff:ffff" + kFs},
      {"ff00::", "ffff:ffff:ffff:ffff" + kFs},
  };
  return all;
}

/// As hosts of URLs: each IPv4 address as it is, and in the clothes of an IPv6 one.
std::vector<std::string> hosts_of(const std::vector<std::string>& v4, const std::vector<std::string>& v6) {
  std::vector<std::string> hosts;
  for (const auto& address : v4) hosts.insert(hosts.end(), {address, "[::ffff:" + address + "]"});
  for (const auto& address : v6) hosts.push_back("[" + address + "]");
  return hosts;
}

std::vector<std::string> ends_of(const std::vector<Range>& ranges) {
  std::vector<std::string> ends;
  for (const auto& range : ranges) ends.insert(ends.end(), {range.first, range.last});
  return ends;
}

std::vector<std::string> beside(const std::vector<Range>& ranges) {
  std::vector<std::string> all;
  for (const auto& range : ranges) all.insert(all.end(), range.beside.begin(), range.beside.end());
  return all;
}

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
  Client client(daemon.port());
  client.send(request);
  expect_denied(client.reply(), "(access.allow)");
}

void expect_nobody_dialled(const std::vector<std::string>& hosts, const std::string& access) {
  const Everywhere trap;
  const Daemon daemon({.yaml = "access: { " + access + "connectPorts: [" + trap.port() + "] }\n"});
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

TEST(SpecialRanges, are_dialled_by_nobody_from_their_first_address_to_their_last) {
  auto v4 = ends_of(v4_ranges());
  std::erase_if(v4, [](const std::string& address) { return address.starts_with("127."); });  // by default they may
  expect_nobody_dialled(hosts_of(v4, ends_of(v6_ranges())), "");
}

TEST(SpecialRanges, are_dialled_by_nobody_where_nothing_is_allowed_loopback_neither) {
  auto v4 = ends_of(v4_ranges());
  v4.push_back("127.0.0.1");
  auto v6 = ends_of(v6_ranges());
  v6.push_back("::1");
  expect_nobody_dialled(hosts_of(v4, v6), "allow: [], ");
}

// Asked of `explain`, which asks what the proxy asks: a test must not knock at doors on the Internet.
TEST(SpecialRanges, end_where_plain_addresses_begin) {
  std::vector<std::pair<std::string, std::future<Finished>>> asked;
  for (const auto& host : hosts_of(beside(v4_ranges()), beside(v6_ranges()))) {
    const auto explain = [host] { return run_program({"explain", "http://" + host + "/"}); };
    asked.emplace_back(host, std::async(std::launch::async, explain));
    if (asked.size() % 4 == 0) asked.back().second.wait();
  }
  for (auto& [host, finished] : asked) EXPECT_THAT(finished.get().out, HasSubstr("a plain address, allowed")) << host;
  EXPECT_THAT(run_program({"explain", "http://10.0.0.0/"}).out, HasSubstr("a special address, which access does not"));
}

}  // namespace
}  // namespace penstock::trial
