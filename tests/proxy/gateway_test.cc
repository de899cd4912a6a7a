// SPDX-License-Identifier: Apache-2.0
// Upstreams asked for by name, and those asked for by http that are spoken to by https: where that leads, and who
// decides.
#include <gmock/gmock.h>

#include "proxy/dispatcher_fixture.h"
#include "support/name_server.h"

namespace penstock::proxy {
namespace {

using test::NameServer;
using testing::HasSubstr;
using testing::StartsWith;

class GatewayTest : public DispatcherTest {
 protected:
  GatewayTest()
      : names_([](const std::string&, std::uint16_t) { return NameServer::Reply{.rcode = NameServer::kNxdomain}; }),
        origin_(test::always(kOk)) {
    config_.dns.servers = {names_.address()};
    own_ = {{"127.0.0.1", 3128}};
  }

  UpstreamConfig& add(const std::string& name, const std::string& base_url) {
    auto& upstream = config_.upstreams.emplace_back();
    upstream.name = name;
    if (!base_url.empty()) upstream.base_url = parse_base_url(base_url).value();
    return upstream;
  }
  std::string base(const std::string& path = "") const { return "http://" + origin_.host() + path; }

  /// What the origin got when this was asked for; empty: it got nothing.
  std::string wire(const std::string& target, const std::string& method = "GET") {
    const auto before = origin_.notes().size();
    Asker asker;
    ask(asker, head(method, target));
    EXPECT_TRUE(finish(asker));
    const auto notes = origin_.notes();
    return notes.size() > before ? notes.back() : "";
  }
  http::Refusal refusal_of(const std::string& target, const std::string& method = "GET") {
    Asker asker;
    ask(asker, head(method, target));
    EXPECT_TRUE(finish(asker));
    return asker.refusals.empty() ? http::Refusal{} : asker.refusals[0];
  }

  NameServer names_;
  test::Origin origin_;
};

TEST_F(GatewayTest, goes_to_the_base_url_of_its_upstream) {
  add("other", "http://127.0.0.1:1");
  add("api", base("/v1"));
  const std::string host = " HTTP/1.1\r\nHost: " + origin_.host() + "\r\nVia: 1.1 penstock\r\n\r\n";
  EXPECT_EQ(wire("/@api/chat//a%2F?b=../c"), "GET /v1/chat//a%2F?b=../c" + host);
  EXPECT_EQ(wire("/@api"), "GET /v1" + host);
  EXPECT_EQ(wire("/@api?q"), "GET /v1?q" + host);
  EXPECT_EQ(wire("/@api/", "OPTIONS"), "OPTIONS /v1/" + host);
  EXPECT_EQ(told_.back().upstream, "api");
  EXPECT_EQ(told_.back().entry, 2u);
  EXPECT_EQ(told_.back().host, "127.0.0.1");
  EXPECT_EQ(told_.back().path, "/v1/");
  expect_at_rest();
}

TEST_F(GatewayTest, hides_secrets_in_whatever_is_told_and_sends_them) {
  add("bots", base()).settings.redact = {"/bot{}/"};
  EXPECT_THAT(wire("/@bots/bot123:ABC/getMe?x"), StartsWith("GET /bot123:ABC/getMe?x HTTP/1.1\r\n"));
  EXPECT_THAT(wire("http://127.0.0.1:3128/%40bots//b%6ft123:ABC"), StartsWith("GET //b%6ft123:ABC HTTP/1.1\r\n"));
  EXPECT_EQ(told_[0].path, "/bot…/getMe");
  EXPECT_EQ(told_[1].path, "/bot…/getMe");
  EXPECT_EQ(told_[2].path, "//b%6ft…");
}

TEST_F(GatewayTest, hides_the_secrets_of_all_where_it_finds_no_upstream) {
  add("other", base()).settings.redact = {"/services/{}"};
  add("bots", base()).settings.redact = {"/bot{}/"};
  EXPECT_EQ(refusal_of("/@botz/bot123:ABC/getMe").why, http::Reason::gateway_unknown);
  EXPECT_EQ(told_.back().path, "/@botz/bot…/getMe");
  EXPECT_EQ(refusal_of("/@bots/../bot123:ABC/getMe").why, http::Reason::malformed);
  EXPECT_EQ(told_.back().path, "/…");
  dispatcher().drain([] {});
  EXPECT_EQ(refusal_of("/@bots/bot123:ABC/getMe").why, http::Reason::draining);
  EXPECT_EQ(told_.back().path, "/bot…/getMe");
  for (const auto& one : told_) EXPECT_EQ((one.path + one.detail).find("123"), std::string::npos) << one.path;
}

TEST_F(GatewayTest, hides_what_a_reload_says_in_events_of_requests_under_way) {
  config_.unmatched.redact = {"/bot{}/"};
  Asker asker;
  get(asker, origin_.host(), "/bot1/x");
  config_.unmatched.redact = {"/x{}"};
  dispatcher().change();
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(told_[0].path, "/bot…/x");
  EXPECT_EQ(told_[1].path, "/bot1/x");
}

TEST_F(GatewayTest, is_entered_by_every_name_of_this_proxy) {
  add("api", base());
  for (const char* authority : {"127.0.0.1:3128", "localhost:3128", "LOCALHOST.:3128", "[::ffff:127.0.0.1]:3128",
                                "penstock:3128", "proxy.test:3128"}) {
    EXPECT_THAT(wire("http://" + std::string(authority) + "/@api/x"), StartsWith("GET /x HTTP/1.1\r\n")) << authority;
  }
}

TEST_F(GatewayTest, has_the_names_that_the_configuration_gives_it) {
  add("api", base());
  config_.proxy.names = {"*.corp.example"};
  for (const auto& [host, status] : {std::pair("penstock.corp.example:3128", 0), std::pair("evil.example:3128", 403)}) {
    Asker asker;
    auto asking = head("GET", "/@api/x");
    asking.fields.add("Host", host);
    ask(asker, std::move(asking));
    if (status == 0) {
      EXPECT_TRUE(finish(asker));
      EXPECT_EQ(asker.status, 200) << host;
    } else {
      ASSERT_EQ(asker.refusals.size(), 1u) << host;
      EXPECT_EQ(asker.refusals[0].status_code(), status);
      EXPECT_EQ(told_.back().refusal, "page_denied");
    }
  }
}

TEST_F(GatewayTest, does_not_take_what_is_meant_for_others) {
  add("api", base());
  add("named", "").match = {parse_match("named.test").value()};
  for (const char* target :
       {"http://named.test:3128/@api/x", "http://proxy.test:3128/@nobody/x", "http://proxy.test:3129/@api/x",
        "http://proxy.test/@api/x", "http://localhost:3129/@api/x"}) {
    EXPECT_EQ(wire(target), "") << target;
    EXPECT_NE(told_.back().upstream, "api") << target;
    EXPECT_EQ(told_.back().path, std::string(target).substr(std::string(target).find("/@"))) << target;
  }
  EXPECT_EQ(refusal_of("https://127.0.0.1:3128/@api/x").why, http::Reason::loop);
}

TEST_F(GatewayTest, that_nobody_knows_is_404_and_names_those_that_are_there) {
  add("openai", "https://api.openai.test/v1");
  add("plain", "");
  add("anthropic", "https://api.anthropic.test");
  for (const char* target : {"/@nobody/v1", "/@", "/@/x", "/@plain/x", "/@OpenAI", "http://127.0.0.1:3128/@nobody",
                             "http://localhost:3128/@plain/x"}) {
    const auto refusal = refusal_of(target);
    EXPECT_EQ(refusal.status_code(), 404) << target;
    EXPECT_THAT(refusal.details, HasSubstr("/@anthropic /@openai")) << target;
    EXPECT_EQ(told_.back().error, "destination_not_found");
    EXPECT_EQ(told_.back().refusal, "gateway_unknown");
  }
}

TEST_F(GatewayTest, is_404_too_where_there_is_none_at_all) {
  EXPECT_EQ(refusal_of("/@api/x").details, "no upstream has a baseUrl or permits");
  EXPECT_EQ(refusal_of("http://127.0.0.1:3128/@api/x").why, http::Reason::loop);
}

TEST_F(GatewayTest, is_not_climbed_out_of) {
  add("api", base("/v1"));
  for (const char* target : {"/@api/../x", "/@api/a/%2E./x", "http://127.0.0.1:3128/@api/.."}) {
    EXPECT_EQ(refusal_of(target).status_code(), 400) << target;
  }
  EXPECT_EQ(origin_.connections(), 0);
}

TEST_F(GatewayTest, leads_to_no_tunnel) {
  add("api", base("/v1"));
  EXPECT_EQ(refusal_of("/@api/x", "CONNECT").status_code(), 400);
  EXPECT_EQ(origin_.connections(), 0);
}

TEST_F(GatewayTest, may_not_go_where_nobody_may) {
  config_.access.deny = {"10.0.0.0/8"};
  add("inner", "http://10.1.2.3");
  add("self", "http://127.0.0.1:3128");
  EXPECT_EQ(refusal_of("/@inner/x").why, http::Reason::destination_denied);
  EXPECT_EQ(refusal_of("/@self/@self/x").why, http::Reason::loop);
}

TEST_F(GatewayTest, needs_no_pattern_and_minds_no_unmatched_deny) {
  config_.pass_unmatched = false;
  add("api", base());
  EXPECT_NE(wire("/@api/x"), "");
  EXPECT_EQ(refusal_of(base("/x")).why, http::Reason::destination_unnamed);
}

TEST_F(GatewayTest, has_groups_by_the_path_that_the_upstream_sees) {
  add("api", base("/v1")).settings.group = parse_group("path:/v1/{tenant}").value();
  EXPECT_NE(wire("/@api/acme/x"), "");
  EXPECT_THAT(told_.back().group, HasSubstr("acme"));
}

TEST_F(GatewayTest, leaves_the_proxy_s_other_targets_as_they_are) {
  add("api", base());
  for (const char* target : {"/", "/x", "*", "/api/@api"}) EXPECT_EQ(refusal_of(target).status_code(), 400) << target;
  EXPECT_EQ(refusal_of("http://127.0.0.1:3128/x").why, http::Reason::loop);
}

// How it is dialled shows in the upstream's name, where there is nobody to speak TLS with.
class OriginationTest : public GatewayTest {
 protected:
  std::string dialled(const std::string& target, const std::string& method = "GET") {
    Asker asker;
    ask(asker, head(method, target));
    EXPECT_TRUE(finish(asker));
    return told_.back().upstream;
  }
};

TEST_F(OriginationTest, turns_port_80_into_443_and_no_other) {
  config_.unmatched.https = Https::originate;
  EXPECT_EQ(dialled("http://name.test/"), "name.test:443");
  EXPECT_EQ(dialled("http://name.test:80/"), "name.test:443");
  EXPECT_EQ(dialled("http://name.test:8080/"), "name.test:8080");
  EXPECT_EQ(dialled("https://name.test:80/"), "name.test:80");
}

TEST_F(OriginationTest, is_for_the_entries_that_ask_for_it) {
  auto& upstream = add("secure", "");
  upstream.match = {parse_match("secure.test:80").value()};
  upstream.settings.https = Https::originate;
  EXPECT_EQ(dialled("http://secure.test/"), "secure");
  EXPECT_EQ(dialled("http://name.test/"), "name.test:80");
}

TEST_F(OriginationTest, is_judged_by_the_port_that_is_dialled) {
  config_.unmatched.https = Https::originate;
  own_ = {{"127.0.0.1", 443}};
  EXPECT_EQ(refusal_of("http://127.0.0.1/").why, http::Reason::loop);
}

TEST_F(OriginationTest, is_not_for_tunnels) {
  config_.unmatched.https = Https::originate;
  EXPECT_EQ(dialled("name.test:80", "CONNECT"), "name.test:80");
}

}  // namespace
}  // namespace penstock::proxy
