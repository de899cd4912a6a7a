// SPDX-License-Identifier: Apache-2.0
// An upstream that refuses, asked in-process: the caller gets the answer to the last attempt, and observers hear of one
// request.
#include <gtest/gtest.h>

#include <atomic>

#include "stage.h"
#include "support/origin.h"

namespace embedding {
namespace {

using penstock::EventKind;
using penstock::Proxy;

/// Refuses the first `times` requests, which have a body of `size` bytes each.
penstock::test::Origin::Script refuses(std::atomic<int>& asked, int times, std::size_t size) {
  return [&asked, times, size](auto& self, auto& peer, int) {
    for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
      self.note(peer.read(size));
      const bool refused = ++asked <= times;
      peer.send(refused ? "HTTP/1.1 429 No\r\nRetry-After-Ms: 50\r\nContent-Length: 4\r\n\r\nbusy"
                        : "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nserved");
    }
  };
}

TEST(Refused, in_process_is_asked_again) {
  std::atomic<int> asked = 0;
  const std::string body(1000, 'b');
  penstock::test::Origin origin(refuses(asked, 2, body.size()));
  Observer told;
  Proxy proxy(narrow(4));
  told.observe(proxy);
  ASSERT_TRUE(proxy.start());
  auto future = submit(proxy, {.method = "POST", .url = "http://" + origin.host() + "/x", .body = body});
  const auto answer = wait_for(future);
  ASSERT_TRUE(answer && *answer);
  EXPECT_EQ((*answer)->status, 200);
  EXPECT_EQ((*answer)->body, "served");
  EXPECT_EQ(field(**answer, "Proxy-Status"), "penstock; attempts=3");
  EXPECT_EQ(origin.notes(), (std::vector<std::string>(3, body)));
  ASSERT_TRUE(told.wait_for(EventKind::complete));
  const auto events = told.all();
  ASSERT_EQ(events.size(), 2u) << "one dispatch, one outcome";
  EXPECT_EQ(events[1].status, 200);
  EXPECT_EQ(events[1].attempts, 3);
}

TEST(Refused, in_process_gets_the_refusal_where_the_file_says_so) {
  std::atomic<int> asked = 0;
  penstock::test::Origin origin(refuses(asked, 1, 0));
  penstock::Config config = narrow(4);
  config.upstreams.front().settings.retry = penstock::RetryConfig::off();
  Proxy proxy(config);
  ASSERT_TRUE(proxy.start());
  auto future = submit(proxy, {.url = "http://" + origin.host() + "/x"});
  const auto answer = wait_for(future);
  ASSERT_TRUE(answer && *answer);
  EXPECT_EQ((*answer)->status, 429);
  EXPECT_EQ((*answer)->body, "busy");
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace embedding
