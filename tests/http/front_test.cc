// SPDX-License-Identifier: Apache-2.0
// The other URLs by which a client may know an upstream: where they lead, and what answers say in their terms.
#include "http/front.h"

#include <gtest/gtest.h>

#include "http/forwarding.h"

namespace penstock::http {
namespace {

UpstreamConfig upstream(BaseUrl base) { return {.name = "api", .match = {}, .settings = {}, .base_url = base}; }
const UpstreamConfig kVersioned = upstream({.host = "api.test", .path = "/v1"});
const UpstreamConfig kBare = upstream({.host = "api.test"});
const UpstreamConfig kPlain = upstream({.secure = false, .host = "127.0.0.1", .port = 8080});

std::string wire(const UpstreamConfig& gateway, std::string_view rest) {
  return behind_gateway(gateway, rest).value().resource;
}

Target originated(std::uint16_t port = 443) {
  Target target{.scheme = "https", .host = "api.test", .port = port, .resource = "/"};
  target.originated = true;
  return target;
}

/// The lines that the client gets of this one, without Via.
std::string client_gets(const Target& target, std::string_view name, std::string_view value) {
  ResponseHead head;
  head.fields.add(name, value);
  const Fields fields = response_fields(head, target, "penstock", std::nullopt);
  return fields.size() == 2 ? std::string(fields[0].value) : "(dropped)";
}
std::string location(const Target& target, std::string_view value) { return client_gets(target, "Location", value); }
std::string cookie(const Target& target, std::string_view value) { return client_gets(target, "Set-Cookie", value); }
Target behind(const UpstreamConfig& gateway) { return behind_gateway(gateway, "/x").value(); }

TEST(GatewayForm, is_a_name_behind_an_at_sign) {
  const auto form = gateway_form("/@api.v-1_x/rest?q=/@b");
  ASSERT_TRUE(form);
  EXPECT_EQ(form->name, "api.v-1_x");
  EXPECT_EQ(form->rest, "/rest?q=/@b");
  EXPECT_EQ(gateway_form("/@api?q")->rest, "?q");
  EXPECT_EQ(gateway_form("/@api")->rest, "");
  EXPECT_EQ(gateway_form("/@")->name, "");
  for (const char* other : {"", "/", "@api", "/api", "/%40api", "//@api", "http://h/@api", "*"}) {
    EXPECT_FALSE(gateway_form(other)) << other;
  }
}

TEST(Gateway, puts_the_rest_behind_the_base_url_byte_for_byte) {
  EXPECT_EQ(wire(kVersioned, "/chat//x%2Fy;a=b?q=../%41&r=/@z"), "/v1/chat//x%2Fy;a=b?q=../%41&r=/@z");
  EXPECT_EQ(wire(kVersioned, ""), "/v1");
  EXPECT_EQ(wire(kVersioned, "/"), "/v1/");
  EXPECT_EQ(wire(kVersioned, "?q"), "/v1?q");
  EXPECT_EQ(wire(kBare, ""), "/");
  EXPECT_EQ(wire(kBare, "?q"), "/?q");
  EXPECT_EQ(wire(kBare, "/a"), "/a");
}

TEST(Gateway, dials_the_place_of_the_base_url) {
  const Target secure = behind(kBare);
  EXPECT_EQ(secure.scheme, "https");
  EXPECT_EQ(secure.authority(), "api.test:443");
  EXPECT_EQ(secure.host_field(), "api.test");
  EXPECT_FALSE(secure.literal);
  const Target plain = behind(kPlain);
  EXPECT_EQ(plain.scheme, "http");
  EXPECT_EQ(plain.host_field(), "127.0.0.1:8080");
  EXPECT_TRUE(plain.literal);
  EXPECT_TRUE(behind(upstream({.host = "::1", .port = 8443})).literal);
  EXPECT_EQ(behind(upstream({.host = "::1", .port = 8443})).host_field(), "[::1]:8443");
}

TEST(Gateway, is_not_climbed_out_of) {
  for (const char* rest : {"/..", "/../x", "/a/../../x", "/.", "/./x", "/a/.", "/%2e%2E/x", "/.%2e", "/%2E."}) {
    const auto target = behind_gateway(kVersioned, rest);
    ASSERT_FALSE(target) << rest;
    EXPECT_EQ(target.error().why, Why::malformed);
  }
  for (const char* rest : {"/...", "/..a", "/a..", "/%2ea", "/.well-known", "/a?/../b", "//"}) {
    EXPECT_TRUE(behind_gateway(kVersioned, rest)) << rest;
  }
  for (const char* rest : {"/a#b", "/a b", "/\x7f", "/\xc3\xa4"})
    EXPECT_FALSE(behind_gateway(kVersioned, rest)) << rest;
}

TEST(Location, of_an_originated_target_comes_back_as_http) {
  EXPECT_EQ(location(originated(), "https://api.test/a?b#c"), "http://api.test/a?b#c");
  EXPECT_EQ(location(originated(), "HTTPS://API.test:443/a"), "http://api.test/a");
  EXPECT_EQ(location(originated(), "https://api.test"), "http://api.test");
  EXPECT_EQ(location(originated(8443), "https://api.test:8443/a"), "http://api.test:8443/a");
  EXPECT_EQ(client_gets(originated(), "content-location", "https://api.test/a"), "http://api.test/a");
}

TEST(Location, beside_the_path_that_becomes_https_stays_https) {
  Target target = originated();
  target.originated_below = "/v1";
  EXPECT_EQ(location(target, "https://api.test/v1/a"), "http://api.test/v1/a");
  EXPECT_EQ(location(target, "https://api.test/v1?q"), "http://api.test/v1?q");
  for (const char* there : {"https://api.test/login", "https://api.test/v10", "https://api.test"}) {
    EXPECT_EQ(location(target, there), there) << "as http it would leave in the clear";
  }
  EXPECT_EQ(cookie(target, "a=b; Secure"), "a=b; Secure");
}

TEST(Location, without_a_scheme_has_the_upstreams) {
  EXPECT_EQ(location(originated(), "//api.test/a"), "http://api.test/a");
  EXPECT_EQ(location(originated(), "//other.test/a"), "https://other.test/a");
  EXPECT_EQ(location(behind(kVersioned), "//api.test/v1/a"), "/@api/a");
  EXPECT_EQ(location(behind(kVersioned), "//other.test/a"), "https://other.test/a");
}

TEST(Location, that_leads_elsewhere_stays) {
  for (const char* there :
       {"https://other.test/a", "https://api.test:8443/a", "http://api.test/a", "https://sub.api.test/", "/a", "a", "",
        "https:/a", "https:", "https://u@api.test/", "https://[api.test/", "https://api.test:x/", "mailto:a@api.test",
        "https://api.test.evil.test/", "https://"}) {
    EXPECT_EQ(location(originated(), there), there);
  }
  EXPECT_EQ(location(originated(8443), "https://api.test/a"), "https://api.test/a");
}

TEST(Location, of_a_gateway_comes_back_by_its_name) {
  EXPECT_EQ(location(behind(kVersioned), "https://api.test/v1/a?b#c"), "/@api/a?b#c");
  EXPECT_EQ(location(behind(kVersioned), "https://api.test:443/v1"), "/@api");
  EXPECT_EQ(location(behind(kVersioned), "/v1?q"), "/@api?q");
  EXPECT_EQ(location(behind(kBare), "/v1/a"), "/@api/v1/a");
  EXPECT_EQ(location(behind(kBare), "https://api.test"), "/@api");
  EXPECT_EQ(location(behind(kPlain), "http://127.0.0.1:8080/a"), "/@api/a");
}

// Only below the base path has the host a name here.
TEST(Location, beside_the_base_path_of_a_gateway_is_a_full_url) {
  EXPECT_EQ(location(behind(kVersioned), "/login"), "https://api.test/login");
  EXPECT_EQ(location(behind(kVersioned), "/v10/a"), "https://api.test/v10/a");
  for (const char* there :
       {"https://api.test/login", "https://api.test", "https://other.test/v1/a", "http://api.test/v1/a", "a", "?q"}) {
    EXPECT_EQ(location(behind(kVersioned), there), there);
  }
}

TEST(Hsts, is_not_for_clients_that_speak_http) {
  EXPECT_EQ(client_gets(originated(), "strict-transport-security", "max-age=1"), "(dropped)");
  EXPECT_EQ(client_gets(behind(kBare), "Strict-Transport-Security", "max-age=1"), "(dropped)");
}

TEST(SetCookie, of_an_originated_target_loses_secure_and_nothing_else) {
  EXPECT_EQ(cookie(originated(), "a=b; Secure; HttpOnly"), "a=b; HttpOnly");
  EXPECT_EQ(cookie(originated(), "a=b;secure"), "a=b");
  EXPECT_EQ(cookie(originated(), "a=b; SECURE =x; Path=/;Domain=api.test"), "a=b; Path=/;Domain=api.test");
  EXPECT_EQ(cookie(originated(), "secure=1; Path=/secure; Max-Age=1"), "secure=1; Path=/secure; Max-Age=1");
  EXPECT_EQ(cookie(originated(), "a=\"x, y\" ;  SameSite=None"), "a=\"x, y\" ;  SameSite=None");
  EXPECT_EQ(cookie(originated(), "Secure"), "Secure") << "a name without a value";
}

TEST(SetCookie, of_a_gateway_stays_below_its_name) {
  EXPECT_EQ(cookie(behind(kVersioned), "a=b; Path=/v1/x; Secure"), "a=b; Path=/@api/x");
  EXPECT_EQ(cookie(behind(kVersioned), "a=b; path=/; HttpOnly"), "a=b; Path=/@api; HttpOnly");
  EXPECT_EQ(cookie(behind(kBare), "a=b; Path=/"), "a=b; Path=/@api/");
  EXPECT_EQ(cookie(behind(kBare), "a=b; Path=; Domain=api.test"), "a=b; Path=");
  EXPECT_EQ(cookie(behind(kPlain), "a=b; Secure"), "a=b; Secure") << "its upstream knows what it does";
}

TEST(SetCookie, without_a_path_is_for_its_gateway_alone_also_where_the_request_named_nothing_else) {
  for (const char* rest : {"", "/", "?q=/x"}) {
    EXPECT_EQ(cookie(*behind_gateway(kVersioned, rest), "a=b; HttpOnly"), "a=b; HttpOnly; Path=/@api") << rest;
    EXPECT_EQ(cookie(*behind_gateway(kBare, rest), "a=b"), "a=b; Path=/@api") << rest;
    EXPECT_EQ(cookie(*behind_gateway(kBare, rest), "a=b; Path=x"), "a=b; Path=x; Path=/@api") << "the last one counts";
    EXPECT_EQ(cookie(*behind_gateway(kBare, rest), "a=b; Path=/"), "a=b; Path=/@api/") << rest;
  }
  EXPECT_EQ(cookie(*behind_gateway(kBare, "/x/y"), "a=b"), "a=b") << "its folder is below the name";
  EXPECT_EQ(cookie(originated(), "a=b"), "a=b");
}

TEST(Answers, of_targets_by_their_own_url_stay_as_they_are) {
  Target target = originated();
  target.originated = false;
  EXPECT_EQ(location(target, "https://api.test/a"), "https://api.test/a");
  EXPECT_EQ(cookie(target, "a=b; Secure"), "a=b; Secure");
  EXPECT_EQ(client_gets(target, "Strict-Transport-Security", "max-age=1"), "max-age=1");
}

}  // namespace
}  // namespace penstock::http
