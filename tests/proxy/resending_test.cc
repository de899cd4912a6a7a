// SPDX-License-Identifier: Apache-2.0
// A kept connection that dies before any byte of an answer: what is sent once more, and what never is.
#include <future>

#include "proxy/dispatcher_fixture.h"

namespace penstock::proxy {
namespace {

/// Serves one request on each connection, then reads the next one and hangs up on it; connections from `sound` on serve
/// all.
test::Origin::Script hangs_up_until(int sound) {
  return [sound](test::Origin& origin, test::Socket& peer, int number) {
    for (int request = 1;; ++request) {
      const std::string head = peer.read_until("\r\n\r\n");
      if (head.empty()) return;
      origin.note(std::to_string(number) + ": " + head.substr(0, head.find(" HTTP")));
      if (request > 1 && number < sound) return;
      peer.send(kOk);
    }
  };
}

class ResendingTest : public DispatcherTest {
 protected:
  void warm_up(const test::Origin& origin) {
    Asker first;
    get(first, origin.host(), "/first");
    ASSERT_TRUE(finish(first));
    told_.clear();
  }
};

TEST_F(ResendingTest, a_get_is_sent_once_more_on_a_fresh_connection_with_one_dispatch_and_one_end) {
  test::Origin origin(hangs_up_until(2));
  warm_up(origin);
  Asker asker;
  get(asker, origin.host(), "/second");
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(asker.status, 200);
  EXPECT_EQ(asker.outcomes(), 1);
  EXPECT_EQ(course(), "dispatch complete");
  EXPECT_EQ(origin.notes(), (std::vector<std::string>{"1: GET /first", "1: GET /second", "2: GET /second"}));
  EXPECT_EQ(upstream(origin.host()).totals.dispatched, 2u);
  expect_at_rest();
}

TEST_F(ResendingTest, it_keeps_its_slot_and_goes_before_those_who_wait) {
  config_.unmatched.max_concurrent = 1;
  test::Origin origin(hangs_up_until(2));
  warm_up(origin);
  Asker stale, waiting;
  get(stale, origin.host(), "/stale");
  get(waiting, origin.host(), "/waiting");
  ASSERT_TRUE(finish(waiting));
  EXPECT_EQ(course(), "dispatch complete dispatch complete");
  EXPECT_EQ(origin.notes(),
            (std::vector<std::string>{"1: GET /first", "1: GET /stale", "2: GET /stale", "2: GET /waiting"}));
}

// What is gone while the pool tells of the end would be gone under its feet.
TEST_F(ResendingTest, it_may_go_by_another_pool_than_the_one_that_tells_of_the_end) {
  config_.unmatched.max_concurrent = 1;
  std::promise<void> changed;
  test::Origin origin([&, wait = changed.get_future().share()](test::Origin& self, test::Socket& peer, int number) {
    for (int request = 1;; ++request) {
      const std::string head = peer.read_until("\r\n\r\n");
      if (head.empty()) return;
      self.note(std::to_string(number) + ": " + head.substr(0, head.find(" HTTP")));
      if (request > 1) return wait.wait();
      peer.send(kOk);
    }
  });
  PinnedPools own;
  const auto log_in = [&](Asker& asker, const std::string& path) {
    asker.own = &own;
    auto request = head("GET", "http://" + origin.host() + path);
    request.fields.add("Authorization", "NTLM x");
    ask(asker, std::move(request));
  };
  Asker first, second;
  log_in(first, "/first");
  ASSERT_TRUE(finish(first));
  log_in(second, "/second");
  ASSERT_TRUE(run_.run_until([&] { return origin.notes().size() == 2; }));
  config_.unmatched.tls.ca = "/another/ca.pem";
  pools_->change(config_);
  dispatcher_->change();
  changed.set_value();
  ASSERT_TRUE(finish(second));
  EXPECT_EQ(second.status, 200);
  EXPECT_EQ(origin.notes(), (std::vector<std::string>{"1: GET /first", "1: GET /second", "2: GET /second"}));
  expect_at_rest();
}

TEST_F(ResendingTest, it_is_sent_once_more_and_not_twice) {
  // The second attempt goes over a fresh connection, which dies before a byte as well.
  test::Origin origin([](test::Origin& self, test::Socket& peer, int number) {
    const std::string head = peer.read_until("\r\n\r\n");
    if (head.empty()) return;
    self.note(head.substr(0, 4));
    if (number > 1) return;
    peer.send(kOk);
    self.note(peer.read_until("\r\n\r\n").substr(0, 4));
  });
  warm_up(origin);
  Asker asker;
  get(asker, origin.host());
  ASSERT_TRUE(finish(asker));
  ASSERT_EQ(asker.refusals.size(), 1u);
  EXPECT_EQ(asker.refusals[0].why, http::Reason::connection_terminated);
  EXPECT_EQ(course(), "dispatch error");
  EXPECT_EQ(told_.back().error, "connection_terminated");
  EXPECT_EQ(origin.notes(), (std::vector<std::string>{"GET ", "GET ", "GET "}));
  expect_at_rest();
}

TEST_F(ResendingTest, a_post_is_never_sent_again) {
  test::Origin origin(hangs_up_until(9));
  warm_up(origin);
  Asker asker;
  ask(asker, head("POST", "http://" + origin.host() + "/pay"));
  ASSERT_TRUE(finish(asker));
  ASSERT_EQ(asker.refusals.size(), 1u);
  EXPECT_EQ(asker.refusals[0].status_code(), 502);
  EXPECT_EQ(course(), "dispatch error");
  run_.run_for(20'000);
  EXPECT_EQ(origin.notes(), (std::vector<std::string>{"1: GET /first", "1: POST /pay"}));
}

TEST_F(ResendingTest, nor_is_a_get_with_a_body) {
  test::Origin origin(hangs_up_until(9));
  warm_up(origin);
  Asker asker;
  ask(asker, with_length(head("GET", "http://" + origin.host() + "/search"), 3));
  give(asker, "abc");
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(course(), "dispatch error");
  run_.run_for(20'000);
  EXPECT_EQ(origin.notes(), (std::vector<std::string>{"1: GET /first", "1: GET /search"}));
}

TEST_F(ResendingTest, a_get_on_a_first_connection_that_dies_is_not_sent_again) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int) { self.note(peer.read_until("\r\n\r\n")); });
  Asker asker;
  get(asker, origin.host());
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(course(), "dispatch error");
  run_.run_for(20'000);
  EXPECT_EQ(origin.notes().size(), 1u);
}

}  // namespace
}  // namespace penstock::proxy
