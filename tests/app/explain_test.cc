// SPDX-License-Identifier: Apache-2.0
// `penstock explain`: the winner and why, the limits, the way, the address.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/program.h"

namespace penstock::app {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kYaml = R"(
version: 1
upstreams:
  github:  { match: [api.github.com, "*.github.com"], maxConcurrent: 20, queue: { maxWait: 5s } }
  uploads: { match: "*.github.com/upload" }
  "*":     { maxConcurrent: 3 }
)";

std::string explained(const std::string& url, const std::string& more = "") {
  const TemporaryFile file(kYaml + more);
  const auto ended = penstock({"explain", "--config", file.path(), url});
  EXPECT_EQ(ended.code, 0) << ended.err;
  return ended.out;
}

TEST(Explain, names_the_upstream_and_the_pattern_that_won) {
  const auto text = explained("http://api.github.com/users");
  EXPECT_THAT(text, HasSubstr("upstream    github\n"));
  EXPECT_THAT(text, HasSubstr("why         pattern api.github.com: exact host\n"));
  EXPECT_THAT(text, HasSubstr("wins over *.github.com of upstreams.github: a host below github.com\n"));
}

TEST(Explain, tells_why_one_pattern_wins_over_another) {
  const auto text = explained("http://x.github.com/upload/1");
  EXPECT_THAT(text, HasSubstr("upstream    uploads\n"));
  EXPECT_THAT(text, HasSubstr("pattern *.github.com/upload: a host below github.com, path below /upload\n"));
}

TEST(Explain, shows_the_limits_of_the_entry) {
  const auto text = explained("http://api.github.com/users");
  EXPECT_THAT(text, HasSubstr("maxConcurrent 20\n"));
  EXPECT_THAT(text, HasSubstr("maxPending 1000, maxWait 5s\n"));
  EXPECT_THAT(text, HasSubstr("connect 3s, firstByte 60s, idle 60s, total none\n"));
}

constexpr const char* kLimits = R"(
version: 1
redis: { url: "redis://me:s3cret@127.0.0.1:6380/2", prefix: staging }
upstreams:
  chat:
    match: chat.example
    group: "path:/guilds/{guild}"
    rate: 30/m
    limits:
      - pacer: { qps: 50, maxBurst: 10, name: burst }
      - window: { reservoir: 10, interval: 10s, per: group, mode: refuse, spread: true }
      - slidingWindow: { max: 7, interval: 1s }
      - tokenBucket: { capacity: 40, refillAmount: 2, refillFrequency: 1s, shared: false }
      - semaphore: { capacity: 5 }
      - counter: { max: 9, period: 2m }
  tenants: { match: tenants.example, group: "header:X-Tenant", obey: off }
)";

std::string explained_limits(const std::string& url) {
  const TemporaryFile file(kLimits);
  const auto ended = penstock({"explain", "--config", file.path(), url});
  EXPECT_EQ(ended.code, 0) << ended.err;
  return ended.out;
}

TEST(Explain, puts_every_kind_of_limit_into_words) {
  EXPECT_THAT(explained_limits("http://chat.example/"), HasSubstr(R"(
  limits      maxConcurrent 64
              pacer: 30/m evenly spread, shared
              burst (pacer): 50/s evenly spread, after a burst of 10, shared
              window: 10 in each window of 10s, spread over it, per group, shared, refuses with 429
              slidingWindow: 7 in any 1s, shared
              tokenBucket: 40 at once, then 2 every 1s, this process
              semaphore: 5 in flight, lease 30s, shared
              counter: 9 between resets, 2m apart, shared
  redis       redis://127.0.0.1:6380/2, prefix staging
  pauses      429 and 503 with Retry-After, up to 5m
)"));
}

TEST(Explain, names_the_group) {
  EXPECT_THAT(explained_limits("http://chat.example/guilds/42/x"),
              HasSubstr("group       42 (path:/guilds/{guild})\n"));
  EXPECT_THAT(explained_limits("http://chat.example/users"),
              HasSubstr("group       - (path:/guilds/{guild}): does not fit\n"));
  EXPECT_THAT(explained_limits("http://tenants.example/"),
              HasSubstr("group       the value of X-Tenant (header:X-Tenant)\n"));
  EXPECT_THAT(explained("http://api.github.com/"), Not(HasSubstr("group ")));
}

TEST(Explain, says_where_no_pause_is_obeyed) {
  EXPECT_THAT(explained_limits("http://tenants.example/"), HasSubstr("pauses      none\n"));
}

TEST(Explain, never_shows_a_password) {
  EXPECT_THAT(explained_limits("http://chat.example/"), Not(HasSubstr("s3cret")));
}

TEST(Explain, says_that_an_unmatched_host_is_an_upstream_of_its_own) {
  const auto text = explained("http://Example.com:8080/");
  EXPECT_THAT(text, HasSubstr("upstream    example.com:8080\n"));
  EXPECT_THAT(text, HasSubstr("after the entry \"*\""));
  EXPECT_THAT(text, HasSubstr("maxConcurrent 3\n"));
}

TEST(Explain, says_that_an_unmatched_host_is_denied) {
  const auto text = explained("http://example.com/", "unmatched: deny\n");
  EXPECT_THAT(text, HasSubstr("unmatched is deny: refused with 403"));
  EXPECT_THAT(text, Not(HasSubstr("maxConcurrent")));
}

TEST(Explain, tells_how_a_request_travels) {
  EXPECT_THAT(explained("http://api.github.com/"),
              HasSubstr("plain http to api.github.com:80, each request on its own"));
}

TEST(Explain, judges_literal_addresses) {
  EXPECT_THAT(explained("http://10.0.0.1/"),
              HasSubstr("special address, which access does not allow: refused with 403"));
  EXPECT_THAT(explained("http://127.0.0.1:8080/"), HasSubstr("a special address, allowed"));
  EXPECT_THAT(explained("http://192.0.0.1/", "access: { allow: [192.0.0.0/24] }\n"),
              HasSubstr("a special address, allowed"));
  EXPECT_THAT(explained("http://8.8.8.8/"), HasSubstr("a plain address, allowed"));
  EXPECT_THAT(explained("http://127.0.0.1:9128/metrics"), HasSubstr("Penstock's own port: refused"));
  EXPECT_THAT(explained("http://example.com/"), HasSubstr("resolved at take-off"));
}

TEST(Explain, works_with_the_defaults) {
  const auto ended = penstock({"explain", "http://example.com/"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, HasSubstr("maxConcurrent 64\n"));
}

TEST(Explain, refuses_what_the_proxy_would_refuse) {
  for (const auto* url :
       {"example.com", "ftp://example.com/", "http://user@example.com/", "http://127.1/", "http:///"}) {
    const auto ended = penstock({"explain", url});
    EXPECT_EQ(ended.code, 1) << url;
    EXPECT_EQ(ended.out, "") << url;
    EXPECT_THAT(ended.err, HasSubstr(url));
  }
}

TEST(Explain, takes_an_https_url_for_the_tunnel_that_a_client_asks_for) {
  const auto text = explained_limits("https://chat.example/guilds/42/x?y");
  EXPECT_THAT(text, HasSubstr("upstream    chat\n"));
  EXPECT_THAT(text, HasSubstr("group       - (path:/guilds/{guild}): a tunnel shows neither path nor fields\n"));
  EXPECT_THAT(text, HasSubstr("connect 3s, tunnelIdle 10m, total none\n"));
  EXPECT_THAT(text, HasSubstr("pauses      none: what is answered in a tunnel is not seen\n"));
  EXPECT_THAT(text, HasSubstr("travels     as a tunnel to chat.example:443, which is governed as a whole"));
  EXPECT_THAT(explained("https://api.github.com:80/"), HasSubstr("as a tunnel to api.github.com:80,"));
  EXPECT_THAT(explained("https://x.github.com/upload/1"), Not(HasSubstr("upstream    uploads\n")));
  EXPECT_THAT(explained("https://[::1]:8443/"),
              HasSubstr("travels     not at all: its port is not in access.connectPorts, refused with 403\n"));
}

}  // namespace
}  // namespace penstock::app
