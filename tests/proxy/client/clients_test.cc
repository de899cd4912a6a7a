// SPDX-License-Identifier: Apache-2.0
// Clients over real sockets: requests in, answers out in order, and what a client may not do to others.
#include <gmock/gmock.h>

#include "proxy/clients_fixture.h"

namespace penstock::proxy {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

/// Answers with the path as the body.
void echo_path(test::Origin&, test::Socket& peer, int) {
  for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
    const std::string path = head.substr(4, head.find(" HTTP") - 4);
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(path.size()) + "\r\n\r\n" + path);
  }
}

TEST_F(ClientsTest, pipelined_requests_are_answered_in_order) {
  test::Origin origin(echo_path);
  std::string says;
  for (int i = 0; i < 100; ++i) says += request("GET", origin.host(), "/" + std::to_string(i));
  const std::string heard = conversation(says + request("GET", origin.host(), "/last", "Connection: close\r\n"));
  std::size_t at = 0;
  for (int i = 0; i < 100; ++i) {
    at = heard.find("\r\n\r\n/" + std::to_string(i) + "HTTP/1.1 200 OK\r\n", at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  EXPECT_THAT(heard, EndsWith("\r\n\r\n/last"));
  EXPECT_EQ(clients_->count(), 0u);
}

TEST_F(ClientsTest, a_malformed_request_is_answered_after_those_before_it_and_ends_the_connection) {
  test::Origin origin(echo_path);
  const std::string heard =
      conversation(request("GET", origin.host(), "/1") + "GET  two\r\n\r\n" + request("GET", origin.host(), "/3"));
  EXPECT_THAT(heard, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(heard, HasSubstr("\r\n\r\n/1HTTP/1.1 400 Penstock: "));
  EXPECT_EQ(heard.find("/3"), std::string::npos);
  EXPECT_EQ(course(), "dispatch complete refused");
}

// Answers without a body ask for no room; they must wait for some all the same.
TEST_F(ClientsTest, answers_do_not_pile_up_for_a_client_that_asks_and_does_not_read) {
  constexpr int kRequests = 3'000;
  test::Origin origin(
      test::always("HTTP/1.1 200 OK\r\nX: " + std::string(16'000, 'x') + "\r\nContent-Length: 2\r\n\r\n"));
  test::Socket client = connect();
  std::string says;
  for (int i = 1; i < kRequests; ++i) says += request("HEAD", origin.host(), "/");
  says += request("HEAD", origin.host(), "/", "Connection: close\r\n");
  auto sent = std::async(std::launch::async, [&] { return client.send(says); });
  std::size_t before = 1;
  while (before != told_.size()) {  // until the kernel's buffers are full
    before = told_.size();
    run_.run_for(200'000);
  }
  EXPECT_LT(told_.size(), 2u * kRequests - 500);
  auto heard = std::async(std::launch::async, [&] { return client.read_to_end(); });
  ASSERT_TRUE(run_.run_until([&] { return heard.wait_for(0s) == std::future_status::ready; }));
  EXPECT_TRUE(sent.get());
  EXPECT_GT(heard.get().size(), std::size_t{16'000} * kRequests);
  EXPECT_EQ(told_.size(), 2u * kRequests);
}

TEST_F(ClientsTest, a_client_that_leaves_while_its_request_waits_is_gone) {
  config_.unmatched.max_concurrent = 1;
  test::Origin origin([](test::Origin&, test::Socket& peer, int) { peer.read_to_end(); });
  Asker flying;
  get(flying, origin.host());
  for (const bool with_reset : {false, true}) {
    told_.clear();
    test::Socket client = connect();
    client.send(request("POST", origin.host(), "/", "Content-Length: 100000\r\n") + std::string(80'000, 'b'));
    ASSERT_TRUE(run_.run_until([&] { return upstream(origin.host()).pending == 1; }));
    run_.run_for(10'000);
    with_reset ? client.reset() : client.close();
    ASSERT_TRUE(run_.run_until([&] { return course() == "gone"; })) << course();
    EXPECT_EQ(clients_->count(), 0u);
  }
  leave(flying);
  expect_at_rest();
}

TEST_F(ClientsTest, a_client_from_a_network_that_is_not_welcome_is_told_so) {
  config_.access.clients = {"192.0.2.0/24"};
  const std::string heard = conversation(request("GET", "127.0.0.1:1", "/"));
  EXPECT_THAT(heard, StartsWith("HTTP/1.1 403 Penstock: "));
  EXPECT_EQ(course(), "refused");
}

TEST_F(ClientsTest, a_refusal_of_penstock_has_the_id_of_its_event_where_that_is_wanted) {
  config_.access.clients = {"192.0.2.0/24"};
  const std::string asking =
      "Penstock-Request-Id: x\r\nTraceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n";
  const std::string heard = conversation(request("GET", "127.0.0.1:1", "/", asking));
  ASSERT_EQ(course(), "refused");
  EXPECT_THAT(heard, HasSubstr("\r\nPenstock-Request-Id: " + told_[0].id + "\r\n"));
  EXPECT_EQ(told_[0].client, "127.0.0.1");
  EXPECT_EQ(told_[0].trace_id, "0af7651916cd43dd8448eb211c80319c");
  config_.proxy.request_id = true;
  const std::string another = conversation("no request\r\n\r\n");
  EXPECT_THAT(another, HasSubstr("\r\nPenstock-Request-Id: " + told_.at(1).id + "\r\n"));
}

TEST_F(ClientsTest, answers_of_one_connection_have_ids_of_their_own) {
  test::Origin origin(test::always("HTTP/1.1 200 OK\r\nPenstock-Request-Id: theirs\r\nContent-Length: 0\r\n\r\n"));
  const std::string asking = "Penstock-Request-Id: mine\r\n";
  const auto heard = conversation(request("GET", origin.host(), "/", asking) + request("GET", origin.host(), "/") +
                                  request("GET", origin.host(), "/", asking + "Connection: close\r\n"));
  ASSERT_EQ(course(), "dispatch complete dispatch complete dispatch complete");
  std::string ids;
  for (auto at = heard.find("Penstock-Request-Id: "); at != std::string::npos;
       at = heard.find("Penstock-Request-Id: ", at + 1))
    ids += heard.substr(at + 21, 11) + " ";
  EXPECT_EQ(ids, told_[0].id + " " + told_[4].id + " ") << "neither the client's nor that of another Penstock";
}

TEST_F(ClientsTest, who_is_idle_is_closed_when_all_winds_down) {
  test::Socket client = connect();
  ASSERT_TRUE(run_.run_until([&] { return clients_->count() == 1; }));
  clients_->close_after_answers();
  clients_->close_idle();
  ASSERT_TRUE(run_.run_until([&] { return clients_->count() == 0; }));
  EXPECT_EQ(client.read_to_end(), "");
  EXPECT_FALSE(client.was_reset());
}

}  // namespace
}  // namespace penstock::proxy
