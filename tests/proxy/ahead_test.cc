// SPDX-License-Identifier: Apache-2.0
// When a request would leave: by its route's terms, and where it goes through a tunnel.
#include <gmock/gmock.h>

#include <chrono>

#include "proxy/dispatcher_fixture.h"

namespace penstock::proxy {
namespace {

using testing::HasSubstr;

/// One departure an hour, and that is spent. The upstream's requests wait for a minute at most, those of /slow longer.
class AheadTest : public DispatcherTest {
 protected:
  AheadTest() {
    make_limiter_ = local_limiters(run_.loop);
    config_.access.connect_anywhere = true;
    auto& api = config_.upstreams.emplace_back();
    api.name = "api";
    api.match = {{.host = "127.0.0.1", .port = origin_.port()}};
    api.settings.limits = {{.kind = PacerConfig{.qps = 1.0 / 3600}}};
    api.settings.queue.max_wait = std::chrono::minutes{1};
    api.settings.routes.push_back({.name = "/slow", .match = {.path = "/slow"}, .max_wait = std::chrono::hours{2}});
    Asker asker;
    get(asker, origin_.host());
    EXPECT_TRUE(finish(asker));
  }
  Ahead ahead(const std::string& url) {
    const auto seen = dispatcher_->ahead({.url = url});
    EXPECT_TRUE(seen) << seen.error().details;
    return seen ? seen->ahead : Ahead{};
  }

  test::Origin origin_{busy_or_silent()};
};

TEST_F(AheadTest, is_by_the_longest_wait_of_the_route) {
  const Ahead of_upstream = ahead("http://" + origin_.host() + "/"),
              of_route = ahead("http://" + origin_.host() + "/slow/x");
  EXPECT_THAT(of_upstream.refused, HasSubstr("queue wait over (limited by pacer)"));
  EXPECT_EQ(of_upstream.route, "");
  EXPECT_EQ(of_route.refused, "");
  EXPECT_EQ(of_route.route, "/slow");
  EXPECT_GT(of_route.wait, std::chrono::minutes{59});
}

TEST_F(AheadTest, of_an_https_url_is_that_of_the_tunnel_which_has_no_route) {
  const Ahead tunnel = ahead("https://" + origin_.host() + "/slow/x");
  EXPECT_EQ(tunnel.upstream, "api");
  EXPECT_EQ(tunnel.route, "");
  EXPECT_THAT(tunnel.refused, HasSubstr("queue wait over (limited by pacer)"));
}

}  // namespace
}  // namespace penstock::proxy
