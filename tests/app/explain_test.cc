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

std::string explained_by(const std::string& yaml, const std::string& url) {
  const TemporaryFile file(yaml);
  const auto ended = penstock({"explain", "--config", file.path(), url});
  EXPECT_EQ(ended.code, 0) << ended.err;
  return ended.out;
}

std::string explained(const std::string& url, const std::string& more = "") { return explained_by(kYaml + more, url); }

TEST(Explain, marks_what_comes_from_a_preset) {
  const auto text = explained_by("version: 1\npresets: [github, openai]\n", "http://api.github.com/user");
  EXPECT_THAT(text,
              HasSubstr("  upstream    github\n              preset github, plan token: `penstock presets github` has "
                        "what it rests on\n"));
  EXPECT_THAT(text, HasSubstr("rate (pacer): 900/m, one every "));
}

TEST(Explain, takes_a_url_without_a_scheme_for_https) {
  EXPECT_EQ(explained("api.github.com/user"), explained("https://api.github.com/user"));
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
      - adaptive: { max: 90/s }
  tenants: { match: tenants.example, group: "header:X-Tenant", obey: off, learn: on }
)";

std::string explained_limits(const std::string& url) { return explained_by(kLimits, url); }

TEST(Explain, puts_every_kind_of_limit_into_words) {
  EXPECT_THAT(explained_limits("http://chat.example/"), HasSubstr(R"(
  limits      maxConcurrent 64
              rate (pacer): 30/m, one every 2000.73 ms: 22 ms of each minute are kept for jitter, shared
              rate.window (slidingWindow): 30 in any 60019.9 ms, counted from when each has left, shared
              burst (pacer): 50/s evenly spread, after a burst of 10, shared
              window: 10 in each window of 10s, spread over it, per group, shared, refuses with 429
              slidingWindow: 7 in any 1s, shared
              tokenBucket: 40 at once, then 2 every 1s, this process
              semaphore: 5 in flight, lease 30s, shared
              counter: 9 between resets, 2m apart, shared
              adaptive: between 1/s and 90/s, learned from what the upstream refuses, shared
  redis       redis://127.0.0.1:6380/2, prefix staging
  pauses      after 429, 503, 529, 403, up to 5m, of the group
  retry       what is refused, up to 8 attempts
  breaker     after 5 failed connections in a row, up to 30s
)"));
}

TEST(Explain, says_how_costs_are_read_and_which_limits_count_them) {
  const auto text = explained(
      "http://llm.example/v1",
      "  llm: { match: llm.example, group: \"json:model\", cost: { unit: tokens, estimate: [openai, bytes/4], actual: "
      "openai }, limits: [ { tokenBucket: { capacity: 300, refillAmount: 5, refillFrequency: 1s, unit: tokens } } ] "
      "}\n");
  EXPECT_THAT(text, HasSubstr("tokenBucket: 300 at once, then 5 every 1s, of tokens, this process\n"));
  EXPECT_THAT(text, HasSubstr("  cost        tokens, at most 300, estimated by openai, bytes/4\n"
                              "              settled by openai of the answer, which comes with Accept-Encoding: "
                              "identity\n"));
  EXPECT_THAT(text, HasSubstr("  group       what a JSON body has under model (json:model)\n"));
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
  EXPECT_THAT(explained_limits("http://tenants.example/"), HasSubstr("learn       from answers, what others take"));
  EXPECT_THAT(explained_limits("http://chat.example/"), Not(HasSubstr("\n  learn ")));
}

TEST(Explain, never_shows_a_password) {
  EXPECT_THAT(explained_limits("http://chat.example/"), Not(HasSubstr("s3cret")));
}

TEST(Explain, never_shows_what_is_secret_in_a_path) {
  const std::string yaml = R"(
version: 1
upstreams:
  telegram: { preset: telegram }
  hooks: { preset: slack-hooks, baseUrl: "https://hooks.slack.com" }
)";
  for (const auto* url : {"http://api.telegram.org/bot123:ABC/getMe", "/@telegram/bot123:ABC/getMe",
                          "http://api.telegram.org/b%6ft123:ABC", "http://hooks.slack.com/services/T123/B/x",
                          "/@hooks/services/T123", "/@nobody/bot123:ABC/x"})
    EXPECT_THAT(explained_by(yaml, url), Not(HasSubstr("123"))) << url;
  const auto text = explained_by(yaml, "/@hooks/services/T123/B0/x");
  EXPECT_THAT(text, testing::StartsWith("/@hooks/services/…\n"));
  EXPECT_THAT(text, HasSubstr("group       a hash, for its name is secret (redact) (path:"));
  EXPECT_THAT(text, HasSubstr(", for /services/…, each request on its own"));
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

constexpr const char* kHttps = R"(
version: 1
access: { connectPorts: [80, 443, 8443], plainPorts: [80] }
upstreams:
  github: { match: api.github.com, https: originate, group: "path:/repos/{owner}" }
  openai: { baseUrl: "https://api.openai.com/v1", group: "path:/v1/{kind}" }
  hidden: { baseUrl: "http://127.0.0.1:9000", match: [] }
  search: { match: b.example/search }
)";

std::string explained_https(const std::string& url) { return explained_by(kHttps, url); }

TEST(Explain, tells_that_http_leaves_as_https) {
  const auto text = explained_https("http://api.github.com/repos/acme/web");
  EXPECT_THAT(text, HasSubstr("group       acme ("));
  EXPECT_THAT(text, HasSubstr("pauses      after 429, 503, 529, 403, up to 5m, of the group\n"));
  EXPECT_THAT(text, HasSubstr("travels     as https to api.github.com:443, each request on its own\n"));
  EXPECT_THAT(explained_https("http://api.github.com:8443/"), HasSubstr("as https to api.github.com:8443,"));
  const TemporaryFile all("version: 1\ndefaults: { https: originate }\n");
  EXPECT_THAT(penstock({"explain", "--config", all.path(), "http://a.example/"}).out,
              HasSubstr("upstream    a.example:443\n"));
}

TEST(Explain, says_what_to_call_instead_of_an_https_url) {
  EXPECT_THAT(explained_https("https://api.github.com/repos/acme/web"),
              HasSubstr("for each on its own, let the application call http://api.github.com\n"));
  EXPECT_THAT(explained_https("https://api.github.com:8443/"), HasSubstr("call http://api.github.com:8443\n"));
  EXPECT_THAT(
      explained_https("https://api.openai.com/v1/models"),
      HasSubstr("let the application call http://127.0.0.1:3128/@openai instead of https://api.openai.com/v1\n"));
  EXPECT_THAT(explained_https("https://a.example/"),
              HasSubstr("set https: originate, and let the application call http://a.example\n"));
  EXPECT_THAT(explained_https("https://a.example:80/"), HasSubstr("give it a baseUrl"));
}

TEST(Explain, follows_the_gateway) {
  for (const auto* url :
       {"/@openai/chat/completions?x=1", "http://127.0.0.1:3128/@openai/chat/completions?x=1",
        "http://localhost:3128/@openai/chat/completions?x=1", "http://penstock:3128/@openai/chat/completions?x=1"}) {
    const auto text = explained_https(url);
    EXPECT_THAT(text, HasSubstr("upstream    openai\n")) << url;
    EXPECT_THAT(text, HasSubstr("why         /@openai is its baseUrl https://api.openai.com/v1\n")) << url;
    EXPECT_THAT(text, HasSubstr("group       chat (")) << url;
    EXPECT_THAT(text, HasSubstr("as https to api.openai.com:443, for /v1/chat/completions?x=1, each request")) << url;
  }
  EXPECT_THAT(explained_https("/@openai"), HasSubstr("for /v1, each request"));
  EXPECT_THAT(explained_https("/@hidden"), HasSubstr("plain http to 127.0.0.1:9000, for /, each request"));
  EXPECT_THAT(explained_https("/@hidden"), HasSubstr("a special address, allowed"));
}

constexpr const char* kPermits = R"(
version: 1
upstreams:
  db: { permits: true, maxConcurrent: 8, group: header:Penstock-Group, limits: [ semaphore: { capacity: 5 } ] }
)";

TEST(Explain, says_what_holds_for_a_permit) {
  for (const auto* url : {"@db", "/@db", "/%40db", "http://127.0.0.1:3128/@db", "http://localhost:3128/@db"}) {
    const auto text = explained_by(kPermits, url);
    EXPECT_THAT(text, HasSubstr("upstream    db\n")) << url;
    EXPECT_THAT(text, HasSubstr("why         /@db is a permit of it (permits: true)\n")) << url;
    EXPECT_THAT(text, HasSubstr("group       the value of Penstock-Group (header:Penstock-Group)\n")) << url;
    EXPECT_THAT(text, HasSubstr("limits      maxConcurrent 8\n")) << url;
    EXPECT_THAT(text,
                HasSubstr("governed    per permit, for any work: GET http://127.0.0.1:3128/@db holds one until its "
                          "connection is closed\n"))
        << url;
    EXPECT_THAT(text, HasSubstr("travels     nowhere: it is answered when its turn comes, and held until the client "
                                "leaves\n"))
        << url;
    for (const auto* of_hosts : {"timeouts", "retry", "breaker", "pauses", "address"})
      EXPECT_THAT(text, Not(HasSubstr(of_hosts))) << url;
  }
  EXPECT_THAT(explained_by(kPermits, "@db?hold=no"), HasSubstr("holds nothing (hold=no)\n"));
  EXPECT_THAT(explained_by(kPermits, "@no"), HasSubstr("those that have one: /@db: refused with 404\n"));
  const TemporaryFile file(kPermits);
  EXPECT_EQ(penstock({"explain", "--config", file.path(), "/@db/table"}).code, 1);
}

TEST(Explain, lists_the_gateways_where_the_name_is_unknown) {
  for (const auto* url : {"/@github/x", "http://127.0.0.1:3128/@nope", "http://localhost:3128/@/"}) {
    EXPECT_THAT(explained_https(url), HasSubstr("those that have one: /@hidden /@openai: refused with 404\n")) << url;
  }
  EXPECT_THAT(penstock({"explain", "/@x"}).out, HasSubstr("no upstream has a baseUrl or permits: refused with 404\n"));
}

TEST(Explain, takes_no_other_port_or_host_for_the_gateway) {
  EXPECT_THAT(explained_https("http://127.0.0.1:3129/@openai/x"), HasSubstr("upstream    127.0.0.1:3129\n"));
  EXPECT_THAT(explained_https("http://a.example:3128/@nope"), HasSubstr("upstream    a.example:3128\n"));
}

TEST(Explain, says_how_the_upstream_is_governed_and_why) {
  EXPECT_THAT(explained_https("http://api.github.com/"),
              HasSubstr("governed    per request for http://, which leaves as https (https: originate);\n"
                        "              per tunnel for https:// (CONNECT), which nobody on the way can read\n"));
  EXPECT_THAT(explained_https("http://a.example/"),
              HasSubstr("governed    per request for http://;\n"
                        "              per tunnel for https:// (CONNECT), which passes as it is (https: tunnel)\n"));
  EXPECT_THAT(explained_https("/@openai"),
              HasSubstr("per request at http://127.0.0.1:3128/@openai (https://api.openai.com/v1) and for http://;\n"));
  EXPECT_THAT(explained_https("/@hidden"), HasSubstr("(http://127.0.0.1:9000), the only way here\n"));
  EXPECT_THAT(explained_https("http://b.example/search"), HasSubstr("no tunnel comes here"));
}

constexpr const char* kOpened = R"(
version: 1
access: { connectPorts: [443, 8443] }
intercept: { bypassOnPin: true }
upstreams:
  api:  { match: a.example, https: intercept, group: "path:/v1/{kind}" }
  slow: { match: [a.example/slow, "b.example:9443"], https: intercept, rate: 1/s }
  rest: { match: ["*.c.example"], https: intercept }
  kept: { match: x.c.example }
)";

std::string explained_opened(const std::string& url) { return explained_by(kOpened, url); }

TEST(Explain, follows_an_https_url_into_a_connect_that_is_opened) {
  const auto text = explained_opened("https://a.example/v1/users");
  EXPECT_THAT(text, HasSubstr("upstream    api\n"));
  EXPECT_THAT(text, HasSubstr("group       users (path:/v1/{kind})\n"));
  EXPECT_THAT(text, HasSubstr("pauses      after 429, 503, 529, 403, up to 5m, of the group\n"));
  EXPECT_THAT(text,
              HasSubstr("governed    per request for http://;\n"
                        "              per request for https:// too, which is opened with a certificate of our own "
                        "authority (https: intercept)\n"));
  EXPECT_THAT(text,
              HasSubstr("travels     as https to a.example:443, each request on its own, out of a CONNECT that is\n"
                        "              opened with a certificate of our own authority (https: intercept)\n"));
  EXPECT_THAT(text, HasSubstr("intercept.bypassOnPin"));
  EXPECT_THAT(text, HasSubstr("as a tunnel (intercept.h2Only)\n"));
}

TEST(Explain, holds_what_is_inside_a_connect_against_paths) {
  const auto text = explained_opened("https://a.example:8443/slow/x");
  EXPECT_THAT(text, HasSubstr("upstream    slow\n"));
  EXPECT_THAT(text, HasSubstr("1/s, one every 1022 ms"));
  EXPECT_THAT(text, HasSubstr("as https to a.example:8443,"));
}

TEST(Explain, knows_what_is_not_opened) {
  EXPECT_THAT(explained_opened("https://y.c.example/"), HasSubstr("each request on its own, out of a CONNECT"));
  EXPECT_THAT(explained_opened("https://x.c.example/"), HasSubstr("as a tunnel to x.c.example:443,"));
  EXPECT_THAT(explained_opened("https://d.example/"), HasSubstr("as a tunnel to d.example:443,"));
  EXPECT_THAT(explained_opened("https://b.example:9443/"),
              HasSubstr("travels     not at all: its port is not in access.connectPorts, refused with 403\n"));
  EXPECT_THAT(explained_opened("http://a.example/slow"), HasSubstr("plain http to a.example:80, each request"));
  EXPECT_THAT(explained_opened("http://a.example:8443/"), HasSubstr("the same (https: intercept)\n"));
}

TEST(Explain, tells_what_becomes_of_plain_http_inside_a_connect) {
  EXPECT_THAT(explained_https("http://a.example/"), HasSubstr("the same (access.plainPorts)\n"));
  EXPECT_THAT(explained_https("http://a.example:8443/"), HasSubstr("port 8443 is not in access.plainPorts\n"));
  EXPECT_THAT(explained_https("http://a.example:81/"), HasSubstr("refused: port 81 is not in access.connectPorts\n"));
}

constexpr const char* kRoutes = R"(
version: 1
upstreams:
  api:
    match: api.example
    https: originate
    redact: ["/bot{}/"]
    limits: [ { window: { reservoir: 10, interval: 10s } } ]
    routes:
      - { match: { path: /search/code }, rate: 10/m, queue: { maxWait: 2m }, retry: off }
      - { match: { path: /search }, rate: 30/m, maxConcurrent: 2, timeouts: { total: 7s } }
      - { match: { method: [POST, PUT] }, weight: 5 }
      - { match: { header: X-Tier=s3cret }, weight: 7, name: free }
      - { match: { path: /bot12:AB/send }, weight: 2 }
  plain: { match: plain.example, https: tunnel, routes: [ { match: { path: /x }, weight: 2 } ] }
)";

std::string explained_method(const std::string& method, const std::string& url) {
  const TemporaryFile file(kRoutes);
  const auto ended = penstock({"explain", "--config", file.path(), method, url});
  EXPECT_EQ(ended.code, 0) << ended.err;
  return ended.out;
}

TEST(Explain, names_the_route_its_weight_and_the_limits_that_count) {
  const auto code = explained_method("post", "http://api.example/search/code?q=x");
  EXPECT_THAT(code, HasSubstr("  route       /search/code, weight 5, maxWait 2m\n"));
  EXPECT_THAT(code, HasSubstr("fits route /search, its own timeouts; its limits do not count\n"));
  EXPECT_THAT(code, HasSubstr("fits route POST,PUT, weight 5\n"));
  EXPECT_THAT(code, HasSubstr("window: 10 in each window of 10s"));
  EXPECT_THAT(code, HasSubstr("/search/code:rate (pacer): 10/m"));
  EXPECT_THAT(code, Not(HasSubstr("/search:rate")));
  EXPECT_THAT(code, HasSubstr("  retry       off\n"));
  EXPECT_THAT(code, HasSubstr("maxWait 2m\n"));
  EXPECT_THAT(code, HasSubstr("total 7s\n")) << "of the first that has time-outs";
}

TEST(Explain, says_what_holds_for_an_upstream_that_draws_on_a_quota) {
  const char* const yaml = R"(
version: 1
quotas:
  account: { maxConcurrent: 7, rate: 15/s, group: header:X-Org, queue: { maxWait: 9s } }
upstreams:
  api:
    match: api.example
    https: originate
    quota: account
    routes: [ { match: { path: /search }, rate: 30/m } ]
  uploads: { match: uploads.example, https: originate, quota: account, timeouts: { total: 7m } }
  files: { match: files.example, https: originate, quota: account }
)";
  const auto uploads = explained_by(yaml, "http://uploads.example/x");
  EXPECT_THAT(uploads, HasSubstr("  upstream    uploads\n"
                                 "              quota account, with api, files: one queue, and one set of limits\n"));
  EXPECT_THAT(uploads, HasSubstr("maxConcurrent 7\n"));
  EXPECT_THAT(uploads, HasSubstr("rate (pacer): 15/s"));
  EXPECT_THAT(uploads, HasSubstr("the value of X-Org (header:X-Org)"));
  EXPECT_THAT(uploads, HasSubstr("maxWait 9s\n"));
  EXPECT_THAT(uploads, HasSubstr("total 7m\n"));
  EXPECT_THAT(uploads, Not(HasSubstr("/search:rate")));
  const auto search = explained_by(yaml, "http://api.example/search");
  EXPECT_THAT(search, HasSubstr("  route       /search\n"));
  EXPECT_THAT(search, HasSubstr("rate (pacer): 15/s"));
  EXPECT_THAT(search, HasSubstr("/search:rate (pacer): 30/m"));
}

TEST(Explain, takes_a_request_for_a_get_unless_told) {
  const auto text = explained_by(kRoutes, "http://api.example/search");
  EXPECT_THAT(text, HasSubstr("  route       /search\n"));
  EXPECT_THAT(text, HasSubstr("/search:maxConcurrent (semaphore): 2 in flight"));
  EXPECT_THAT(explained_by(kRoutes, "http://api.example/user"), HasSubstr("  route       none fits\n"));
}

TEST(Explain, tells_routes_of_a_header_apart_and_shows_nothing_secret) {
  const auto text = explained_method("PUT", "http://api.example/user");
  EXPECT_THAT(text, HasSubstr("  route       POST,PUT, weight 5\n"));
  EXPECT_THAT(text, HasSubstr("with X-Tier of its value: route free: X-Tier, weight 7\n"));
  EXPECT_THAT(text, Not(HasSubstr("s3cret")));
  EXPECT_THAT(explained_method("GET", "http://api.example/bot12:AB/send"), Not(HasSubstr("12:AB")));
}

TEST(Explain, gives_a_tunnel_no_route) {
  const auto text = explained_by(kRoutes, "https://plain.example/x");
  EXPECT_THAT(text, HasSubstr("  route       none: a tunnel shows neither method nor path\n"));
}

TEST(Explain, knows_a_url_of_each_vendor) {
  struct Known {
    const char *url, *upstream, *limit;  // what the vendor publishes, or somewhat less
  };
  const Known known[] = {
      {"http://api.github.com/user", "github", "rate (pacer): 900/m, one every 66.6911 ms"},
      {"http://api.github.com/user", "github", "slidingWindow: 5000 in any 3600022ms,"},
      {"http://api.github.com/user", "github", "semaphore: 100 in flight,"},
      {"http://api.github.com/search/issues?q=x", "github", "/search:rate (pacer): 30/m, one every 2000.73 ms"},
      {"http://api.github.com/search/code?q=x", "github", "/search/code:rate (pacer): 10/m, one every 6002.2 ms"},
      {"http://discord.com/api/v10/channels/42/messages", "discord", "rate (pacer): 50/s, one every 20.44 ms"},
      {"/@openai/v1/chat/completions", "openai", "maxConcurrent 64"},
      {"/@stripe/v1/charges", "stripe", "rate (pacer): 25/s, one every 40.88 ms"},
      {"http://slack.com/api/users.list", "slack", "method (slidingWindow): 20 in any 60022ms, per group,"},
      {"http://hooks.slack.com/services/T1/B1/x", "slack-hooks",
       "webhook (slidingWindow): 1 in any 1022ms, per group,"},
      {"http://acme.myshopify.com/admin/api/2025-01/orders.json", "shopify",
       "shop (slidingWindow): 2 in any 1022ms, per group,"}};
  for (const auto& [url, upstream, limit] : known) {
    const auto ended = penstock({"explain", "--config", PENSTOCK_CONFIG_DIR "/vendors.yaml", url});
    EXPECT_THAT(ended.out, HasSubstr("upstream    " + std::string(upstream) + "\n")) << url;
    EXPECT_THAT(ended.out, HasSubstr(limit)) << url;
    EXPECT_THAT(ended.out, HasSubstr("travels     as https to ")) << url;
  }
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

TEST(Explain, knows_where_redis_is) {
  for (const auto* url : {"http://127.0.0.1:6380/", "http://[::1]:6380/"}) {
    EXPECT_THAT(explained(url, "redis: { url: 'redis://127.0.0.1:6380' }\n"), HasSubstr("does not allow: refused"));
  }
}

TEST(Explain, knows_hosts_that_are_denied_and_addresses_that_upstreams_name) {
  EXPECT_THAT(explained("http://evil.example/", "access: { deny: ['*.example'] }\n"),
              HasSubstr("access.deny names the host: refused with 403"));
  EXPECT_THAT(explained("http://10.0.0.1/", "  it: { match: 10.0.0.1 }\n"), HasSubstr("a special address, allowed"));
}

TEST(Explain, works_with_the_defaults) {
  const auto ended = penstock({"explain", "http://example.com/"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, HasSubstr("maxConcurrent 64\n"));
}

TEST(Explain, refuses_what_the_proxy_would_refuse) {
  for (const auto* url : {"ftp://example.com/", "http://user@example.com/", "http://127.1/", "http:///"}) {
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
  EXPECT_THAT(text, HasSubstr("maxTunnels 1024 open; those that rest hold no slot\n"));
  EXPECT_THAT(text, HasSubstr("connect 3s, tunnelRest 500ms, tunnelIdle 10m, total none\n"));
  EXPECT_THAT(text, HasSubstr("pauses      none: what is answered in a tunnel is not seen\n"));
  EXPECT_THAT(text, HasSubstr("travels     as a tunnel to chat.example:443, which is governed as a whole"));
  EXPECT_THAT(explained("https://api.github.com:80/"), HasSubstr("as a tunnel to api.github.com:80,"));
  EXPECT_THAT(explained("https://x.github.com/upload/1"), Not(HasSubstr("upstream    uploads\n")));
  EXPECT_THAT(explained("https://[::1]:8443/"),
              HasSubstr("travels     not at all: its port is not in access.connectPorts, refused with 403\n"));
}

}  // namespace
}  // namespace penstock::app
