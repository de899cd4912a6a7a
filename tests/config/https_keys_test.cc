// SPDX-License-Identifier: Apache-2.0
// The keys of https: `https`, `tls`, `baseUrl`, `access.plainPorts`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/texts.h"
#include "penstock/config.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Config read_keys(const std::string& yaml) { return config_in("version: 1\n" + yaml); }

std::vector<std::string> https_errors(const std::string& yaml) {
  const auto config = read_config("version: 1\n" + yaml, "p.yaml");
  std::vector<std::string> all;
  if (config) return all;
  for (const auto& error : config.error()) all.push_back(to_string(error));
  return all;
}

std::vector<std::string> patterns(const UpstreamConfig& upstream) {
  std::vector<std::string> all;
  for (const auto& match : upstream.match) all.push_back(to_string(match));
  return all;
}

TEST(HttpsKeys, say_for_each_upstream_how_https_travels) {
  const auto config = read_keys(R"(defaults: { https: originate }
upstreams:
  first: { match: a.com }
  second: { match: b.com, https: tunnel }
  "*": { https: tunnel, tls: { ca: /etc/ca.pem } }
)");
  EXPECT_EQ(config.upstreams.at(0).settings.https, Https::originate);
  EXPECT_EQ(config.upstreams.at(1).settings.https, Https::tunnel);
  EXPECT_EQ(config.unmatched.https, Https::tunnel);
  EXPECT_EQ(config.unmatched.tls, (TlsConfig{.ca = "/etc/ca.pem"}));
}

TEST(HttpsKeys, refuse_another_word_with_those_that_there_are) {
  EXPECT_THAT(https_errors("upstreams: { a: { match: a.com, https: yes } }\n"),
              ElementsAre("p.yaml:2:40: https in upstreams.a must be tunnel, originate or intercept"));
  EXPECT_THAT(https_errors("defaults: { https: mitm }\n"),
              ElementsAre(HasSubstr("must be tunnel, originate or intercept")));
}

TEST(HttpsKeys, open_the_ports_of_intercepted_patterns_unless_there_is_a_list) {
  const std::string upstreams =
      "upstreams: { a: { match: ['a.com:8443', b.com, 'c.com:443'], https: intercept }, d: { match: 'd.com:9' } }\n";
  EXPECT_THAT(read_keys(upstreams).access.connect_ports, ElementsAre(80, 443, 8443));
  EXPECT_THAT(read_keys("access: { connectPorts: [443] }\n" + upstreams).access.connect_ports, ElementsAre(443));
}

TEST(HttpsKeys, have_interception_said_where_hosts_are_named) {
  EXPECT_EQ(read_keys("upstreams: { a: { match: a.com, https: intercept } }\n").upstreams.at(0).settings.https,
            Https::intercept);
  EXPECT_THAT(https_errors("defaults: { https: intercept }\n"),
              ElementsAre("p.yaml:2:20: https in defaults cannot be intercept: say it in the upstreams whose hosts are "
                          "meant"));
  EXPECT_THAT(https_errors("upstreams: { \"*\": { https: intercept } }\n"),
              ElementsAre(HasSubstr("https in upstreams.* cannot be intercept")));
}

TEST(InterceptKeys, name_an_authority_by_two_files) {
  const auto config = read_keys("intercept: { ca: /etc/ca.pem, key: /etc/ca-key.pem, bypassOnPin: true }\n");
  EXPECT_EQ(config.intercept, (InterceptConfig{.ca = "/etc/ca.pem", .key = "/etc/ca-key.pem", .bypass_on_pin = true}));
  EXPECT_THAT(https_errors("intercept: { ca: /etc/ca.pem }\n"),
              ElementsAre(HasSubstr("ca in intercept has no key beside it")));
  EXPECT_THAT(https_errors("intercept: { key: /etc/k.pem }\n"),
              ElementsAre(HasSubstr("key in intercept has no ca beside it")));
}

TEST(InterceptKeys, say_what_becomes_of_clients_that_speak_http_2_alone) {
  EXPECT_EQ(read_keys("").intercept.h2_only, H2Only::tunnel);
  EXPECT_EQ(read_keys("intercept: { h2Only: tunnel }\n").intercept.h2_only, H2Only::tunnel);
  EXPECT_EQ(read_keys("intercept: { h2Only: refuse }\n").intercept.h2_only, H2Only::refuse);
  EXPECT_THAT(https_errors("intercept: { h2Only: pass }\n"), ElementsAre(HasSubstr("h2Only in intercept")));
}

TEST(HttpsKeys, are_alike_for_all_paths_of_a_host) {
  EXPECT_THAT(
      https_errors(R"(upstreams:
  all: { match: [b.com, a.com], https: originate }
  search: { match: a.com/search }
)"),
      ElementsAre("p.yaml:4:3: upstreams.search.https must be that of upstreams.all, which has paths of a.com too"));
  EXPECT_THAT(
      https_errors(
          "upstreams: { x: { match: \"*.a.com/1\", https: originate }, y: { match: \"*.a.com/2\", https: tunnel } }\n"),
      ElementsAre(HasSubstr("upstreams.y.https must be that of upstreams.x")));
  const auto config = read_keys(R"(upstreams:
  all: { match: a.com, https: originate }
  search: { match: a.com/search, https: originate }
  other_port: { match: "a.com:8080/x" }
  below: { match: "*.a.com" }
)");
  EXPECT_EQ(config.upstreams.at(2).settings.https, Https::tunnel);
}

TEST(TlsKeys, name_three_files) {
  const auto config =
      read_keys("upstreams: { a: { match: a.com, tls: { ca: ca.pem, clientCert: c.pem, clientKey: k.pem } } }\n");
  EXPECT_EQ(config.upstreams.at(0).settings.tls, (TlsConfig{"ca.pem", "c.pem", "k.pem"}));
}

TEST(TlsKeys, take_a_certificate_and_its_key_together_or_neither) {
  EXPECT_THAT(https_errors("upstreams: { a: { match: a.com, tls: { clientCert: c.pem } } }\n"),
              ElementsAre(StartsWith("p.yaml:2:52: clientCert in upstreams.a.tls has no clientKey beside it")));
  EXPECT_THAT(https_errors("upstreams: { '*': { tls: { clientKey: k.pem } } }\n"),
              ElementsAre(StartsWith("p.yaml:2:39: clientKey in upstreams.*.tls has no clientCert beside it")));
}

TEST(TlsKeys, do_not_stand_in_defaults) {
  EXPECT_THAT(https_errors("defaults: { tls: { ca: ca.pem } }\n"),
              ElementsAre(HasSubstr("unknown key 'tls' in defaults")));
}

TEST(BaseUrlKey, gives_its_host_as_the_pattern_where_there_is_none) {
  const auto config = read_keys(R"(upstreams:
  openai: { baseUrl: "https://API.openai.com/v1/" }
  local: { baseUrl: "http://127.0.0.1:9000" }
  odd: { baseUrl: "http://b.com:443" }
)");
  EXPECT_EQ(config.upstreams.at(0).base_url, (BaseUrl{true, "api.openai.com", 443, "/v1"}));
  EXPECT_THAT(patterns(config.upstreams[0]), ElementsAre("api.openai.com"));
  EXPECT_THAT(patterns(config.upstreams.at(1)), ElementsAre("127.0.0.1:9000"));
  EXPECT_THAT(patterns(config.upstreams.at(2)), ElementsAre("b.com:443"));
}

TEST(BaseUrlKey, leaves_patterns_as_they_are_even_none) {
  const auto config = read_keys(R"(upstreams:
  one: { match: "*.a.com", baseUrl: "https://a.com" }
  two: { baseUrl: "https://a.com/v1", match: [] }
  three: { match: a.com, baseUrl: "https://a.com/v2" }
)");
  EXPECT_THAT(patterns(config.upstreams.at(0)), ElementsAre("*.a.com"));
  EXPECT_THAT(patterns(config.upstreams.at(1)), ElementsAre());
  EXPECT_THAT(patterns(config.upstreams.at(2)), ElementsAre("a.com"));
}

TEST(BaseUrlKey, of_a_host_that_another_upstream_has_is_told_how_to_keep_both) {
  EXPECT_THAT(https_errors("upstreams:\n  one: { match: a.com }\n  two: { baseUrl: 'https://a.com/v1' }\n"),
              ElementsAre("p.yaml:4:3: match in upstreams.two: 'a.com' is already a pattern of upstreams.one; write "
                          "match: [] where only /@two leads here"));
}

TEST(BaseUrlKey, that_is_faulty_is_told_once_and_not_shown) {
  EXPECT_THAT(https_errors("upstreams:\n  one: { baseUrl: 'https://me:hunter2@a.com' }\n"),
              ElementsAre("p.yaml:3:19: baseUrl in upstreams.one: it has no user name: the application sends its own "
                          "Authorization"));
  EXPECT_THAT(https_errors("upstreams: { one: { baseUrl: [a] } }\n"), ElementsAre(HasSubstr("must be a URL such as")));
  EXPECT_THAT(https_errors("upstreams:\n  one:\n    baseUrl:\n"), ElementsAre(HasSubstr("it takes a URL such as")));
}

TEST(BaseUrlKey, is_not_for_the_entry_star) {
  EXPECT_THAT(https_errors("upstreams: { '*': { baseUrl: 'https://a.com' } }\n"),
              ElementsAre(StartsWith("p.yaml:2:21: upstreams.* takes no baseUrl")));
}

TEST(BaseUrlKey, filled_in_by_hand_is_judged_too) {
  Config config;
  config.upstreams = {{"a", {}, {}, BaseUrl{true, "A.com", 443, "/v1/"}}, {"b", {}, {}, BaseUrl{true, "", 443, ""}}};
  std::vector<std::string> faults;
  for (const auto& error : validate(config)) faults.push_back(error.message);
  EXPECT_THAT(faults, ElementsAre(HasSubstr("'https://A.com/v1/' is not in its plain form"),
                                  HasSubstr("baseUrl in upstreams.b: the host is missing")));
  config.upstreams = {{"a", {}, {}, BaseUrl{true, "a.com", 443, "/v1"}}};
  EXPECT_TRUE(validate(config).empty());
}

TEST(PlainPorts, are_ports) {
  EXPECT_THAT(read_keys("access: { plainPorts: [80, 8080] }\n").access.plain_ports, ElementsAre(80, 8080));
  EXPECT_THAT(read_keys("access: { plainPorts: [] }\n").access.plain_ports, ElementsAre());
  EXPECT_THAT(https_errors("access: { plainPorts: [0] }\n"),
              ElementsAre(HasSubstr("plainPorts in access is 0; it must be")));
}

}  // namespace
}  // namespace penstock
