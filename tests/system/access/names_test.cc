// SPDX-License-Identifier: Apache-2.0
// Name servers that lie, or change their mind: what is dialled is what was judged, in every request, on every retry and
// on every kept connection.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "support/name_server.h"
#include "system/loop_watch.h"
#include "system/stage.h"

namespace penstock::trial {
namespace {

using test::NameServer;
using testing::HasSubstr;
using testing::Not;

/// Only 127.0.0.1 may be dialled, and there is the origin; 127.9.0.2 is watched.
struct Lying {
  explicit Lying(NameServer::Answer answer)
      : names(std::move(answer)),
        trap(origin.port()),
        daemon({.yaml = "dns: { servers: ['" + names.address() + "'] }\naccess: { allow: [127.0.0.1], connectPorts: [" +
                        std::to_string(origin.port()) + "], plainPorts: [] }\n"}) {}

  std::string at(const std::string& host) const { return host + ":" + std::to_string(origin.port()); }
  Reply fetch(const std::string& path = "/") const { return daemon.ask(get("http://" + at("name.test") + path)); }

  NameServer names;
  Origin origin;
  Trap trap;
  Daemon daemon;
};

NameServer::Answer always(const std::vector<std::string>& v4, const std::vector<std::string>& v6 = {},
                          const std::vector<std::string>& aliases = {}) {
  return [=](const std::string&, std::uint16_t type) {
    return std::optional(
        NameServer::Reply{.addresses = type == NameServer::kA ? v4 : v6, .ttl = 0, .aliases = aliases});
  };
}

void expect_name_denied(const Reply& reply) {
  expect_denied(reply, "name.test has no address that may be dialled (access.allow)");
  EXPECT_THAT(reply.head, Not(HasSubstr("127."))) << "what is inside is nobody's business";
}

void expect_nobody_reached(Lying& stage) {
  const std::string host = stage.at("name.test");
  expect_name_denied(stage.fetch());
  expect_name_denied(stage.daemon.ask("CONNECT " + host + " HTTP/1.1\r\n\r\n"));
  expect_name_denied(stage.daemon.ask("GET http://" + host +
                                      "/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"));
  EXPECT_EQ(stage.origin.connections(), 0u);
}

TEST(Addresses, that_may_not_be_dialled_are_passed_over) {
  Lying stage(always({"127.9.0.2", "10.0.0.1", "169.254.169.254", "127.0.0.1"}, {"::1", "fd00:ec2::254"}));
  EXPECT_EQ(stage.fetch().body, "hello");
  Client client(stage.daemon.port());
  client.send("CONNECT " + stage.at("name.test") + " HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client.head().status, 200);
}

TEST(Addresses, at_the_end_of_a_chain_of_aliases_are_judged_like_any_other) {
  Lying stage(always({"127.9.0.2"}, {}, {"innocent.example", "cdn.example"}));
  expect_nobody_reached(stage);
}

constexpr int kHundreds = 4000;  // 64 KB, nearly as much as an answer may have

std::vector<std::string> many_of_both(std::uint16_t type) {
  std::vector<std::string> many;
  const bool v4 = type == NameServer::kA;
  for (int i = 0; i < (v4 ? kHundreds : kHundreds / 2); ++i) {
    const std::string high = std::to_string(i / 256), low = std::to_string(i % 256);
    many.push_back(v4 ? "10." + high + ".1." + low : "fd00:" + high + "::" + low);
  }
  return many;
}

/// Of a process, in the kernel: what system calls cost, whatever else this machine does.
double system_seconds(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string word;
  stat.ignore(4096, ')');
  for (int i = 3; i <= 15; ++i) stat >> word;  // see proc(5)
  return std::stod(word) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

// Whoever tries the way to each of them, to know which is the best, makes thousands of system calls in one turn.
TEST(Addresses, in_hundreds_stall_nobody) {
  constexpr int kNames = 40;
  Lying stage([](const std::string&, std::uint16_t type) {
    return std::optional(NameServer::Reply{.addresses = many_of_both(type), .ttl = 0});
  });
  const double before = system_seconds(stage.daemon.pid());
  const LoopWatch loop(stage.daemon);
  for (int i = 0; i < kNames; ++i) {
    const Reply reply = stage.daemon.ask(get("http://" + stage.at("n" + std::to_string(i) + ".test") + "/"));
    expect_own_answer(reply, {403}, "destination_ip_prohibited");
  }
  loop.expect_no_stall();
  EXPECT_LT(system_seconds(stage.daemon.pid()) - before, kNames * 0.01);
}

/// So many addresses of this machine's at which nobody listens, then the origin's.
std::vector<std::string> dead_before_the_origin(int count) {
  std::vector<std::string> all;
  for (int i = 0; i < count; ++i) all.push_back("127.1." + std::to_string(i / 256) + "." + std::to_string(i % 256));
  all.emplace_back("127.0.0.1");
  return all;
}

// Which of them are tried shows in whether the last one is reached, where alone somebody answers.
TEST(Addresses, in_hundreds_are_tried_in_part_and_in_time) {
  for (const auto& [dead, is_reached] : {std::pair(5, true), std::pair(kHundreds, false)}) {
    SCOPED_TRACE(dead);
    const NameServer names(always(dead_before_the_origin(dead)));
    const Origin origin;
    const std::string there = "name.test:" + std::to_string(origin.port());
    const Daemon daemon({.yaml = "dns: { servers: ['" + names.address() +
                                 "'] }\naccess: { allow: [loopback], connectPorts: [" + std::to_string(origin.port()) +
                                 "], plainPorts: [] }\n"});
    for (const auto& request : {get("http://" + there + "/"), "CONNECT " + there + " HTTP/1.1\r\n\r\n"}) {
      const Moment asked = Clock::now();
      Client client(daemon.port());
      client.send(request);
      const Reply reply = client.head();
      EXPECT_EQ(reply.status, is_reached ? 200 : 502) << reply.head;
      EXPECT_EQ(reply.error(), is_reached ? "" : "connection_refused");
      EXPECT_TRUE(within(1s + kLate, asked)) << "however many attempts that takes";
    }
    EXPECT_TRUE(eventually([&] { return origin.connections() == (is_reached ? 2u : 0u); }));
  }
}

/// At ::1 and this port connections are neither made nor refused; where there is no ::1, there is nothing.
struct SilentV6 {
  explicit SilentV6(std::uint16_t port) {
    const sockaddr_in6 place{.sin6_family = AF_INET6,
                             .sin6_port = htons(port),
                             .sin6_flowinfo = 0,
                             .sin6_addr = IN6ADDR_LOOPBACK_INIT,
                             .sin6_scope_id = 0};
    const auto* const at = reinterpret_cast<const sockaddr*>(&place);
    for (int i = 0; i < 9; ++i) {
      sockets.emplace_back(::socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      i == 0 ? ::bind(sockets[0].fd(), at, sizeof place) : ::connect(sockets[i].fd(), at, sizeof place);
      if (i == 0) ::listen(sockets[0].fd(), 0);
    }
  }
  std::vector<Socket> sockets;
};

TEST(Addresses, of_the_other_family_are_dialled_beside_one_that_is_silent) {
  const NameServer names(always({"127.0.0.1"}, {"::1"}));
  const Origin origin;
  const SilentV6 silent(origin.port());
  const Daemon daemon({.yaml = "dns: { servers: ['" + names.address() +
                               "'] }\ndefaults: { timeouts: { connect: 2m } }\naccess: { allow: [loopback] }\n"});
  const Moment asked = Clock::now();
  EXPECT_EQ(daemon.ask(get("http://name.test:" + std::to_string(origin.port()) + "/")).body, "hello");
  EXPECT_TRUE(within(1s + kLate, asked)) << "one after the other takes half of what there is";
}

/// A name that leads to the origin until it is turned.
struct Turning {
  std::atomic<bool> turned = false;
  NameServer::Answer answer() {
    return [this](const std::string&, std::uint16_t type) {
      if (type != NameServer::kA) return std::optional(NameServer::Reply{});
      return std::optional(NameServer::Reply{.addresses = {turned ? "127.9.0.2" : "127.0.0.1"}, .ttl = 0});
    };
  }
};

TEST(Rebinding, within_a_request_has_no_second_answer_to_offer) {
  std::atomic<int> asked = 0;
  Lying stage([&](const std::string&, std::uint16_t type) {
    if (type != NameServer::kA) return std::optional(NameServer::Reply{});
    const bool first = asked++ == 0;
    return std::optional(NameServer::Reply{.addresses = {first ? "127.0.0.1" : "127.9.0.2"}, .ttl = 0});
  });
  EXPECT_EQ(stage.fetch().body, "hello");
  EXPECT_EQ(asked, 1);
}

TEST(Rebinding, between_two_requests_is_judged_anew_though_a_connection_is_kept) {
  Turning name;
  Lying stage(name.answer());
  EXPECT_EQ(stage.fetch().body, "hello");
  name.turned = true;
  // What is remembered for a second may still be used, and was judged; then comes the new answer.
  Reply reply;
  ASSERT_TRUE(eventually([&] { return (reply = stage.fetch()).status != 200; }));
  expect_name_denied(reply);
  expect_name_denied(stage.daemon.ask("CONNECT " + stage.at("name.test") + " HTTP/1.1\r\n\r\n"));
  EXPECT_EQ(stage.origin.connections(), 1u);
}

TEST(Rebinding, before_a_request_is_sent_again_is_judged_anew) {
  Turning name;
  Lying stage(name.answer());
  stage.origin.on("/again", [&](Visit& visit) {
    name.turned = true;
    std::this_thread::sleep_for(1500ms);  // longer than any answer is remembered
    visit.reset();
  });
  EXPECT_EQ(stage.fetch().body, "hello");
  const Reply reply = stage.fetch("/again");
  expect_name_denied(reply);
  EXPECT_EQ(stage.origin.count(), 2u);
  EXPECT_EQ(stage.origin.connections(), 1u);
}

TEST(RedisAddress, is_denied_by_its_name_and_by_whatever_it_leads_to) {
  NameServer names(always({"127.0.0.1"}));
  Closed redis;  // it need not be there
  const std::string port = std::to_string(redis.port);
  Daemon daemon({.yaml = "dns: { servers: ['" + names.address() + "'] }\nredis: { url: 'redis://redis.test:" + port +
                         "' }\naccess: { allow: [loopback, redis.test], connectPorts: [" + port + "] }\n"});
  const auto ask = [&](const std::string& host) {
    Client client(daemon.port());
    client.send(get("http://" + host + ":" + port + "/"));
    return client.reply();
  };
  EXPECT_EQ(ask("redis.test").status, 403);
  ASSERT_TRUE(eventually([&] { return ask("127.0.0.1").status == 403; }));
  EXPECT_EQ(ask("other.test").status, 403);
  EXPECT_EQ(ask("[::ffff:127.0.0.1]").status, 403);
  Client client(daemon.port());
  client.send("CONNECT 127.0.0.1:" + port + " HTTP/1.1\r\n\r\n");
  EXPECT_EQ(client.reply().status, 403);
}

/// By a name that is found late, and then leads elsewhere: nothing is lost in between, for our own connection comes
/// first.
TEST(RedisAddress, is_denied_wherever_our_own_connection_is_led) {
  std::atomic<int> place = 0;
  NameServer names([&](const std::string&, std::uint16_t type) -> std::optional<NameServer::Reply> {
    if (place == 0) return NameServer::Reply{.rcode = NameServer::kServfail};
    if (type != NameServer::kA) return NameServer::Reply{};
    return NameServer::Reply{.addresses = {"127.0.0." + std::to_string(place)}, .ttl = 0};
  });
  const Closed redis;
  const std::string port = std::to_string(redis.port);
  Daemon daemon({.yaml = "dns: { servers: ['" + names.address() + "'] }\nredis: { url: 'redis://redis.test:" + port +
                         "' }\naccess: { allow: [loopback] }\n"});
  const auto is_denied = [&](const std::string& host) {
    return daemon.ask(get("http://" + host + ":" + port + "/")).status == 403;
  };
  EXPECT_FALSE(is_denied("127.0.0.2"));
  for (const int next : {2, 3}) {
    place = next;
    EXPECT_TRUE(eventually([&] { return is_denied("127.0.0." + std::to_string(next)); })) << next;
  }
  EXPECT_TRUE(is_denied("127.0.0.2")) << "still";
}

}  // namespace
}  // namespace penstock::trial
