// SPDX-License-Identifier: Apache-2.0
// The other URLs by which a client may know an upstream: where they lead, and what answers say in their terms.
#include "http/gateway_rewrite.h"

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
  target.front = Target::Front::originated;
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
  EXPECT_FALSE(form->escaped);
  EXPECT_EQ(gateway_form("/@api#part")->name, "api") << "it is no part of the name";
  EXPECT_EQ(gateway_form("/%40api/x")->name, "api") << "botocore encodes so";
  EXPECT_TRUE(gateway_form("/%40api/x")->escaped);
  for (const char* other : {"", "/", "@api", "/api", "/%41api", "/%4", "/%2540api", "//@api", "http://h/@api", "*"}) {
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
  for (const char* rest : {"/..", "/../x", "/a/../../x", "/.", "/./x", "/a/.", "/%2e%2E/x", "/.%2e", "/%2E.", "/..%2fx",
                           "/..%2Fx", "/..;/x", "/..;a=b", "/..%5cx", "/..\\x", "/%252e%252e/x", "/a%2f..", "/..%00"}) {
    const auto target = behind_gateway(kVersioned, rest);
    ASSERT_FALSE(target) << rest;
    EXPECT_EQ(target.error().why, Reason::malformed);
  }
  for (const char* rest : {"/...", "/..a", "/a..", "/%2ea", "/.well-known", "/a?/../b", "/a?..%2f", "//",
                           "/group%2Fproject", "/a%2f%2fb", "/v1.2;x=../y", "/%5c"}) {
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
  for (const char* there : {"https://api.test/login", "https://api.test", "https://other.test/v1/a",
                            "http://api.test/v1/a", "?q", "", "#part"}) {
    EXPECT_EQ(location(behind(kVersioned), there), there);
  }
}

/// What an upstream says, and what the client gets: what it makes of that is below /@api, or at the upstream itself.
constexpr std::pair<const char*, const char*> kLinks[] = {
    // Relative: resolved against the URL that was asked for, https://api.test/v1/x.
    {"a", "/@api/a"},
    {"./a?b#c", "/@api/a?b#c"},
    {"@other/a", "/@api/@other/a"},
    {"..", "https://api.test/v1/.."},
    {"../@other/a", "https://api.test/v1/../@other/a"},
    {"a/../../../@other/a", "https://api.test/v1/a/../../../@other/a"},
    {"../v1/a", "/@api/a"},
    {";a", "/@api/;a"},
    // Dot segments, plain.
    {"/v1/a/../b", "/@api/b"},
    {"/v1/../@other/a", "https://api.test/v1/../@other/a"},
    {"/v1/..", "https://api.test/v1/.."},
    {"https://api.test/v1/a/./b/..", "/@api/a/"},
    {"https://api.test/v1/../@other/a", "https://api.test/v1/../@other/a"},
    {"https://api.test/x/../v1/a", "/@api/a"},
    {"//api.test/v1/../../@other", "https://api.test/v1/../../@other"},
    // And in the spellings that only some readers resolve.
    {"/v1/%2e%2e/@other/a", "https://api.test/v1/%2e%2e/@other/a"},
    {"/v1/%2E%2E%2f@other/a", "https://api.test/v1/%2E%2E%2f@other/a"},
    {"/v1/..%2F@other/a", "https://api.test/v1/..%2F@other/a"},
    {"/v1/..;/@other/a", "https://api.test/v1/..;/@other/a"},
    {"/v1/..%5c@other/a", "https://api.test/v1/..%5c@other/a"},
    {"/v1/..\\@other/a", "https://api.test/v1/..\\@other/a"},
    {"/v1/%252e%252e/@other/a", "https://api.test/v1/%252e%252e/@other/a"},
    {"..%2f@other", "https://api.test/v1/..%2f@other"},
    {"\\..\\@other", "https://api.test/v1/\\..\\@other"},
    {"https://api.test/v1/%2e%2e/@other/a", "https://api.test/v1/%2e%2e/@other/a"},
    // A slash too many makes no host, nor a root.
    {"/v1//@other", "/@api//@other"},
    {"/v1//../@other", "/@api/@other"},
    {"/\\@other", "https://api.test/\\@other"},
    {"\\@other", "/@api/\\@other"},
};
constexpr std::pair<const char*, const char*> kLinksToTheProxy[] = {
    // What clients differ in: a path of the proxy for some of them.
    {"http:/@other/a", "(dropped)"},
    {"http:@other/a", "(dropped)"},
    {"HTTP:", "(dropped)"},
    {"http:///@other/a", "(dropped)"},
    {"http:\\\\api.test\\@other", "(dropped)"},
    {"http://penstock:3128\\@other", "(dropped)"},
    {"http://0x7f.1:3128/@other", "(dropped)"},
    {"/\t/@other", "(dropped)"},
    {"ht\ttp:/@other", "(dropped)"},
    {"/v1/.\t./@other", "(dropped)"},
    // The proxy itself, as this client calls it.
    {"http://penstock:3128/@other/a", "(dropped)"},
    {"http://u:p@PENSTOCK.:3128/@other/a", "(dropped)"},
    {"http://penstock:3128/@api/../@other", "(dropped)"},
    {"http://penstock:3128", "(dropped)"},
    {"http://penstock:3128/@api/a", "http://penstock:3128/@api/a"},
    {"http://penstock:3129/@other/a", "http://penstock:3129/@other/a"},
    {"https://penstock:3128/@other/a", "https://penstock:3128/@other/a"},
};

TEST(Location, of_a_gateway_never_leads_into_another) {
  Target target = behind(kVersioned);
  target.gateway_host = "penstock:3128";
  for (const auto& [said, comes] : kLinks) {
    EXPECT_EQ(location(target, said), comes) << said;
    EXPECT_EQ(client_gets(target, "Content-Location", said), comes) << said;
  }
  for (const auto& [said, comes] : kLinksToTheProxy) EXPECT_EQ(location(target, said), comes) << said;
  Target root = *behind_gateway(kVersioned, "");
  EXPECT_EQ(location(root, "@other/a"), "https://api.test/@other/a") << "beside the base path";
  EXPECT_EQ(location(root, "v1/a"), "/@api/a");
  EXPECT_EQ(location(*behind_gateway(kBare, ""), "@other/a"), "/@api/@other/a");
  EXPECT_EQ(location(*behind_gateway(kBare, ""), "../../@other/a"), "/@api/@other/a");
}

TEST(Location, is_said_as_the_client_says_the_name) {
  Target target = behind(kVersioned);
  target.front = Target::Front::escaped_gateway;
  EXPECT_EQ(location(target, "/v1/a"), "/%40api/a");
  EXPECT_EQ(cookie(target, "a=b; Path=/v1"), "a=b; Path=/%40api");
}

TEST(Location, that_is_relative_does_not_lead_out_of_what_becomes_https) {
  Target target = originated();
  target.resource = "/v1/x?/y/z";
  EXPECT_EQ(location(target, "../b"), "../b") << "all of the host becomes https";
  target.originated_below = "/v1";
  for (const char* there : {"a", "./a", "/v1/a", "?q", "", "#part", "../v1/a"})
    EXPECT_EQ(location(target, there), there);
  EXPECT_EQ(location(target, "../b"), "https://api.test/b");
  EXPECT_EQ(location(target, "/b"), "https://api.test/b");
  for (const char* there : {"https://api.test/v1/../b", "https://api.test/v1/%2e%2e/b", "https://api.test/v1/..;/b"})
    EXPECT_EQ(location(target, there), there) << "it would leave as plain http";
}

TEST(Trailers, of_an_answer_are_put_into_the_client_s_words_too) {
  Fields trailers;
  trailers.add("Content-Location", "/v1/a");
  trailers.add("Strict-Transport-Security", "max-age=1");
  trailers.add("Set-Cookie2", "a=b; Path=/");
  trailers.add("Set-Cookie", "a=b; Path=/");
  trailers.add("X-Sum", "1");
  const Fields said = response_trailers(trailers, behind(kVersioned));
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0].value, "/@api/a");
  EXPECT_EQ(said[1].name, "X-Sum");
  EXPECT_EQ(response_trailers(trailers, Target{.scheme = "https", .host = "api.test"}).size(), 4u);
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
  EXPECT_EQ(cookie(behind(kVersioned), "a=b; path=/; HttpOnly"), "a=b; HttpOnly; Path=/@api");
  EXPECT_EQ(cookie(behind(kBare), "a=b; Path=/"), "a=b; Path=/@api/");
  EXPECT_EQ(cookie(behind(kBare), "a=b; Path=; Domain=api.test"), "a=b");
  EXPECT_EQ(cookie(behind(kPlain), "a=b; Secure"), "a=b; Secure") << "its upstream knows what it does";
}

// RFC 6265 5.2: the last one counts, also where it says nothing; some jars take another, or take quotes off.
TEST(SetCookie, of_a_gateway_has_one_path_at_most_and_that_is_below_its_name) {
  const std::pair<const char*, const char*> kForms[] = {
      {"a=b; Path=/v1/x; Path=", "a=b"},
      {"a=b; Path=/v1/x; Path", "a=b"},
      {"a=b; Path=; Path=/v1/x", "a=b; Path=/@api/x"},
      {"a=b; Path=/v1/x; PATH=/v1/y", "a=b; Path=/@api/y"},
      {"a=b; Path=/v1/x; Path=x", "a=b"},
      {"a=b; Path=\"/\"", "a=b"},
      {"a=b; Path = / ", "a=b; Path=/@api"},
      {"a=b; Path=/@other", "a=b; Path=/@api"},
      {"a=b; Path=/v1/../../@other", "a=b; Path=/@api"},
      {"a=\"x; Path=/\"; HttpOnly", "a=\"x; HttpOnly; Path=/@api"},
      {"Path=/; Path=/", "Path=/; Path=/@api"},
      {"a=b; Domain=api.test; Domain=", "a=b"},
  };
  for (const auto& [said, comes] : kForms) EXPECT_EQ(cookie(behind(kVersioned), said), comes) << said;
  EXPECT_EQ(cookie(*behind_gateway(kVersioned, ""), "a=b; Path=/v1/x; Path="), "a=b; Path=/@api")
      << "its folder would be the root";
  EXPECT_EQ(client_gets(behind(kVersioned), "Set-Cookie2", "a=b; Path=\"/\"; Version=1"), "(dropped)");
  EXPECT_EQ(cookie(originated(), "a=b; Path=/x; Path="), "a=b; Path=/x; Path=");
}

TEST(SetCookie, without_a_path_is_for_its_gateway_alone_also_where_the_request_named_nothing_else) {
  for (const char* rest : {"", "/", "?q=/x"}) {
    EXPECT_EQ(cookie(*behind_gateway(kVersioned, rest), "a=b; HttpOnly"), "a=b; HttpOnly; Path=/@api") << rest;
    EXPECT_EQ(cookie(*behind_gateway(kBare, rest), "a=b"), "a=b; Path=/@api") << rest;
    EXPECT_EQ(cookie(*behind_gateway(kBare, rest), "a=b; Path=x"), "a=b; Path=/@api") << rest;
    EXPECT_EQ(cookie(*behind_gateway(kBare, rest), "a=b; Path=/"), "a=b; Path=/@api/") << rest;
  }
  EXPECT_EQ(cookie(*behind_gateway(kBare, "/x/y"), "a=b"), "a=b") << "its folder is below the name";
  EXPECT_EQ(cookie(originated(), "a=b"), "a=b");
}

TEST(Answers, of_targets_by_their_own_url_stay_as_they_are) {
  Target target = originated();
  target.front = Target::Front::none;
  EXPECT_EQ(location(target, "https://api.test/a"), "https://api.test/a");
  EXPECT_EQ(cookie(target, "a=b; Secure"), "a=b; Secure");
  EXPECT_EQ(client_gets(target, "Strict-Transport-Security", "max-age=1"), "max-age=1");
}

}  // namespace
}  // namespace penstock::http
