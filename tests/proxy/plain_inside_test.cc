// SPDX-License-Identifier: Apache-2.0
// Plain requests inside a CONNECT, as some clients send them: each is governed by itself, and whatever else is inside
// is a tunnel.
#include <gmock/gmock.h>

#include "proxy/clients_fixture.h"
#include "support/held_port.h"

namespace penstock::proxy {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kEstablished = "HTTP/1.1 200 Connection established\r\n\r\n";

class PlainInsideTest : public ClientsTest {
 protected:
  PlainInsideTest()
      : origin_([](test::Origin& origin, test::Socket& peer, int) {
          for (std::string head = peer.read_until("\r\n\r\n"); head.ends_with("\r\n\r\n");
               head = peer.read_until("\r\n\r\n")) {
            origin.note(head);
            peer.send(kOk);
          }
        }) {
    allow(origin_.port());
  }

  void allow(std::uint16_t port) {
    config_.access.connect_ports.push_back(port);
    config_.access.plain_ports.push_back(port);
  }
  static std::string connect_line(const std::string& to, const std::string& lines = "") {
    return "CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n" + lines + "\r\n";
  }
  static std::string get(const std::string& path, const std::string& lines = "") {
    return "GET " + path + " HTTP/1.1\r\nHost: elsewhere.test\r\n" + lines + "\r\n";
  }
  static std::string last_of(const std::string& host, const std::string& path) {
    return "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n";
  }
  static std::string last(const std::string& path) { return get(path, "Connection: close\r\n"); }

  /// A client that has heard the 200.
  test::Socket opened(const std::string& to) {
    test::Socket client = connect();
    client.send(connect_line(to));
    EXPECT_TRUE(run_.run_until([&] { return !client.peek().empty(); }));
    EXPECT_EQ(client.read(kEstablished.size()), kEstablished);
    return client;
  }
  bool await_course(const std::string& expected) {
    return run_.run_until([&] { return course() == expected; });
  }
  /// All that comes until the other side closes.
  std::string rest(test::Socket& client) {
    auto heard = std::async(std::launch::async, [&] { return client.read_to_end(); });
    EXPECT_TRUE(run_.run_until([&] { return heard.wait_for(0s) == std::future_status::ready; }));
    return heard.get();
  }

  test::Origin origin_;
};

TEST_F(PlainInsideTest, requests_are_each_governed_by_themselves) {
  const std::string heard =
      conversation(connect_line(origin_.host(), "Connection: close\r\n") + get("/1") + last("/2"));
  EXPECT_THAT(heard, StartsWith(kEstablished + "HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(heard, HasSubstr("okHTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(heard, HasSubstr("Server-Timing: penstock-wait"));
  EXPECT_EQ(course(), "dispatch complete dispatch complete") << "and nothing of the CONNECT";
  EXPECT_EQ(told_[2].method, "GET");
  EXPECT_EQ(told_[2].path, "/2");
  EXPECT_EQ(told_[2].upstream, origin_.host());
  EXPECT_EQ(snapshot().tunnels.open, 0u);
  ASSERT_EQ(origin_.notes().size(), 2u);
  EXPECT_EQ(origin_.notes()[0], "GET /1 HTTP/1.1\r\nHost: " + origin_.host() + "\r\nVia: 1.1 penstock\r\n\r\n");
  expect_at_rest();
}

TEST_F(PlainInsideTest, the_200_comes_before_anything_is_dialled_and_costs_nothing) {
  config_.unmatched.max_concurrent = 1;
  test::Socket first = opened(origin_.host()), second = opened(origin_.host());
  EXPECT_EQ(origin_.connections(), 0);
  EXPECT_TRUE(told_.empty());
  EXPECT_TRUE(snapshot().upstreams.empty());
  second.send(last("/"));
  EXPECT_THAT(rest(second), EndsWith("ok"));
  EXPECT_EQ(course(), "dispatch complete");
}

TEST_F(PlainInsideTest, a_request_may_come_byte_by_byte) {
  test::Socket client = opened(origin_.host());
  for (const char byte : last("/slow")) {
    client.send({&byte, 1});
    run_.run_for(500);
  }
  EXPECT_THAT(rest(client), StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(origin_.notes().at(0), StartsWith("GET /slow "));
}

TEST_F(PlainInsideTest, http_1_0_will_do_for_the_connect_and_for_what_is_inside) {
  EXPECT_THAT(conversation("CONNECT " + origin_.host() + " HTTP/1.0\r\n\r\nGET / HTTP/1.0\r\n\r\n"),
              testing::AllOf(StartsWith(kEstablished), EndsWith("ok")));
}

TEST_F(PlainInsideTest, routing_knows_their_paths) {
  for (const char* path : {"", "/v1"}) {
    auto& upstream = config_.upstreams.emplace_back();
    upstream.name = "at" + std::string(path).substr(path[0] == '/');
    upstream.match = {parse_match(origin_.host() + path).value()};
  }
  conversation(connect_line(origin_.host()) + get("/") + last("/v1/x"));
  EXPECT_EQ(told_.at(1).upstream, "at");
  EXPECT_EQ(told_.at(3).upstream, "atv1");
}

TEST_F(PlainInsideTest, absolute_form_must_name_the_same_place) {
  const std::string url = "http://" + origin_.host() + "/x";
  EXPECT_THAT(conversation(connect_line(origin_.host()) + last(url)), EndsWith("ok"));
  EXPECT_THAT(origin_.notes().at(0), StartsWith("GET /x "));
  EXPECT_THAT(conversation(connect_line(origin_.host()) + last("http://other.test/x")),
              HasSubstr("HTTP/1.1 400 Penstock: the target names another host or port"));
}

TEST_F(PlainInsideTest, there_is_no_connect) {
  const std::string heard = conversation(connect_line(origin_.host()) + connect_line(origin_.host()) + get("/"));
  EXPECT_THAT(heard, StartsWith(kEstablished + "HTTP/1.1 400 Penstock: there is a CONNECT inside a CONNECT"));
  EXPECT_EQ(course(), "refused");
  EXPECT_EQ(origin_.connections(), 0);
}

TEST_F(PlainInsideTest, a_malformed_request_is_refused_as_ever) {
  EXPECT_THAT(conversation(connect_line(origin_.host()) + "GET /\x01 HTTP/1.1\r\n\r\n"),
              StartsWith(kEstablished + "HTTP/1.1 400 Penstock: "));
  EXPECT_EQ(course(), "refused");
}

TEST_F(PlainInsideTest, bodies_and_pipelines_go_as_on_any_connection) {
  test::Origin echo([](test::Origin&, test::Socket& peer, int) {
    while (peer.read_until("\r\n\r\n").ends_with("\r\n\r\n")) {
      peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n" + peer.read(5));
    }
  });
  allow(echo.port());
  const std::string heard =
      conversation(connect_line(echo.host()) + "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello" +
                   "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nworld");
  EXPECT_THAT(heard, testing::AllOf(HasSubstr("hello"), EndsWith("world")));
}

TEST_F(PlainInsideTest, anything_else_is_a_tunnel) {
  const std::string hello = "\x16\x03\x01 and so on";
  test::Origin far([&](test::Origin&, test::Socket& peer, int) { peer.send("heard " + peer.read(hello.size())); });
  allow(far.port());
  test::Socket client = connect();
  client.send(connect_line(far.host()) + hello);
  EXPECT_EQ(rest(client), kEstablished + "heard " + hello);
  client.close();
  EXPECT_TRUE(await_course("dispatch complete"));
  EXPECT_EQ(told_[1].method, "CONNECT");
  EXPECT_EQ(told_[1].bytes_out, hello.size());
  expect_at_rest();
}

TEST_F(PlainInsideTest, a_client_that_waits_for_the_server_s_word_gets_a_tunnel) {
  test::Origin far([](test::Origin&, test::Socket& peer, int) {
    peer.send("220 ready");
    peer.send(" and " + peer.read(4));
  });
  allow(far.port());
  test::Socket client = opened(far.host());
  ASSERT_TRUE(run_.run_until([&] { return !client.peek().empty(); }));
  EXPECT_EQ(client.read(9), "220 ready");
  client.send("EHLO");
  EXPECT_EQ(rest(client), " and EHLO");
}

TEST_F(PlainInsideTest, half_a_method_and_silence_is_a_tunnel) {
  test::Origin far([](test::Origin&, test::Socket& peer, int) { peer.send("heard " + peer.read(3)); });
  allow(far.port());
  test::Socket client = connect();
  client.send(connect_line(far.host()) + "GET");
  EXPECT_EQ(rest(client), kEstablished + "heard GET");
}

TEST_F(PlainInsideTest, a_tunnel_that_is_refused_is_reset_and_told_of) {
  const test::HeldPort nobody;
  allow(nobody.number());
  test::Socket client = connect();
  client.send(connect_line("127.0.0.1:" + std::to_string(nobody.number())) + "\x16\x03\x01");
  EXPECT_EQ(rest(client), kEstablished);
  EXPECT_TRUE(client.was_reset());
  EXPECT_EQ(course(), "dispatch error");
  EXPECT_EQ(told_[1].error, "connection_refused");
  EXPECT_EQ(clients_->count(), 0u);
  expect_at_rest();
}

TEST_F(PlainInsideTest, a_tunnel_waits_for_its_slot_like_any_other) {
  config_.unmatched.max_concurrent = 1;
  config_.unmatched.queue.max_pending = 0;
  Asker flying;
  test::Origin far([](test::Origin&, test::Socket& peer, int) { peer.read_to_end(); });
  allow(far.port());
  DispatcherTest::get(flying, far.host());
  test::Socket client = connect();
  client.send(connect_line(far.host()) + "\x16");
  EXPECT_EQ(rest(client), kEstablished);
  EXPECT_EQ(course(), "dispatch refused");
  EXPECT_EQ(told_[1].refusal, "queue_full");
  leave(flying);
}

TEST_F(PlainInsideTest, what_needs_no_waiting_is_refused_with_its_status) {
  auto& named = config_.upstreams.emplace_back();
  named.name = "named";
  named.match = {parse_match("named.test").value()};
  config_.pass_unmatched = false;
  const std::string port = std::to_string(origin_.port());
  config_.access.plain_ports.push_back(25);
  EXPECT_THAT(conversation(connect_line("10.1.2.3:" + port) + "GET"), StartsWith("HTTP/1.1 403 Penstock: 10.1.2.3"));
  EXPECT_THAT(conversation(connect_line("other.test:" + port) + "GET"),
              StartsWith("HTTP/1.1 403 Penstock: no upstream"));
  EXPECT_THAT(conversation(connect_line("named.test:25") + "GET"),
              StartsWith("HTTP/1.1 403 Penstock: CONNECT to port"));
  EXPECT_THAT(conversation("CONNECT named.test:" + port + " HTTP/1.1\r\nHost: a\r\nVia: 1.1 penstock\r\n\r\nGET"),
              StartsWith("HTTP/1.1 502 Penstock: "));
  EXPECT_EQ(course(), "refused refused refused refused");
}

TEST_F(PlainInsideTest, other_ports_are_tunnels_from_the_start) {
  test::Origin far([](test::Origin&, test::Socket& peer, int) { peer.send("heard " + peer.read_until("\r\n\r\n")); });
  config_.access.connect_ports = {far.port()};
  EXPECT_EQ(conversation(connect_line(far.host()) + last("/x")), kEstablished + "heard " + last("/x"));
  EXPECT_EQ(told_.at(0).method, "CONNECT");
}

TEST_F(PlainInsideTest, a_client_that_leaves_before_it_speaks_leaves_nothing) {
  { test::Socket client = opened(origin_.host()); }
  EXPECT_TRUE(run_.run_until([this] { return clients_->count() == 0; }));
  EXPECT_TRUE(told_.empty());
}

TEST_F(PlainInsideTest, one_that_has_not_spoken_is_idle) {
  test::Socket client = opened(origin_.host());
  bool empty = false;
  dispatcher_->drain([&] { empty = true; });
  EXPECT_TRUE(empty);
  clients_->close_idle();
  EXPECT_EQ(rest(client), "");
  EXPECT_EQ(clients_->count(), 0u);
}

TEST_F(PlainInsideTest, while_draining_a_connect_is_refused_at_once) {
  connect();
  dispatcher_->drain([] {});
  EXPECT_THAT(conversation(connect_line(origin_.host())), StartsWith("HTTP/1.1 503 Penstock: shutting down"));
}

TEST_F(PlainInsideTest, a_connect_to_this_proxy_leads_to_its_gateways) {
  own_ = {{"127.0.0.1", 3128}};
  config_.proxy.names = {"penstock.test"};
  auto& api = config_.upstreams.emplace_back();
  api.name = "api";
  api.base_url = parse_base_url("http://" + origin_.host() + "/v1").value();
  for (const char* self : {"127.0.0.1:3128", "localhost:3128", "penstock.test:3128"}) {
    EXPECT_THAT(conversation(connect_line(self) + last_of(self, "/@api/x?y")),
                StartsWith(kEstablished + "HTTP/1.1 200 OK"));
    EXPECT_THAT(origin_.notes().back(), StartsWith("GET /v1/x?y HTTP/1.1\r\nHost: " + origin_.host() + "\r\n"));
  }
  EXPECT_THAT(conversation(connect_line("127.0.0.1:3128") + last_of("localhost", "/@nobody/")),
              HasSubstr("HTTP/1.1 404 Penstock: "));
  EXPECT_THAT(conversation(connect_line("127.0.0.1:3128") + last("/")), HasSubstr("HTTP/1.1 502 Penstock: "));
  test::Socket client = connect();
  client.send(connect_line("127.0.0.1:3128") + "\x16");
  EXPECT_EQ(rest(client), kEstablished);
  EXPECT_TRUE(client.was_reset());
  EXPECT_EQ(told_.back().refusal, "port_denied");
}

}  // namespace
}  // namespace penstock::proxy
