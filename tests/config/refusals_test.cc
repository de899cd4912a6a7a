// SPDX-License-Identifier: Apache-2.0
// What a faulty file is told: every fault at once, each at its place, each with what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "penstock/config.h"

namespace penstock {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::vector<std::string> errors(const std::string& yaml) {
  const Environment nothing = [](const std::string&) { return std::nullopt; };
  const auto config = read_config(yaml, "p.yaml", nothing);
  std::vector<std::string> all;
  if (config) return all;
  for (const auto& error : config.error()) all.push_back(to_string(error));
  return all;
}

std::vector<std::string> errors_below_version(const std::string& yaml) { return errors("version: 1\n" + yaml); }

TEST(FaultyFile, with_an_unknown_key_is_asked_which_was_meant) {
  EXPECT_THAT(errors_below_version("upstreams:\n  github:\n    match: api.github.com\n    maxConcurent: 20\n"),
              ElementsAre("p.yaml:5:5: unknown key 'maxConcurent' in upstreams.github; did you mean 'maxConcurrent'?"));
  EXPECT_THAT(errors_below_version("prox: {}\n"), ElementsAre("p.yaml:2:1: unknown key 'prox'; did you mean 'proxy'?"));
}

TEST(FaultyFile, with_a_key_that_is_near_to_none_is_told_which_there_are) {
  EXPECT_THAT(errors_below_version("admin: { password: x }\n"),
              ElementsAre("p.yaml:2:10: unknown key 'password' in admin; known here: listen, details, page"));
}

TEST(FaultyFile, is_told_everything_at_once_in_the_order_of_the_text) {
  EXPECT_THAT(
      errors(R"(proxy: { via: "a b" }
upstreams:
  one: { match: a.com, maxConcurrent: none }
  two: { match: A.com, queue: { maxWait: 5 } }
caps: { pipelined: 0 }
defaults: { nope: 1 }
)"),
      ElementsAre(
          StartsWith("p.yaml:1:1: the key 'version' is missing"), StartsWith("p.yaml:1:15: via in proxy"),
          StartsWith("p.yaml:3:39: maxConcurrent in upstreams.one"), StartsWith("p.yaml:4:17: match in upstreams.two"),
          StartsWith("p.yaml:4:42: maxWait in upstreams.two.queue"), StartsWith("p.yaml:5:20: pipelined in caps"),
          StartsWith("p.yaml:6:13: unknown key 'nope' in defaults")));
}

TEST(FaultyFile, with_a_syntax_error_is_told_that_alone) {
  EXPECT_THAT(errors("proxy: { nope: 1 }\nadmin: [\n"), ElementsAre("p.yaml:2:8: not YAML: this [ is never closed"));
}

TEST(FaultyFile, with_a_key_twice_is_told_where_the_first_is) {
  EXPECT_THAT(errors_below_version("caps:\n  pipelined: 2\n  pipelined: 3\n"),
              ElementsAre("p.yaml:4:3: duplicate key 'pipelined' in caps; the first is in line 3"));
  EXPECT_THAT(errors("version: 1\nversion: 1\n"),
              ElementsAre("p.yaml:2:1: duplicate key 'version'; the first is in line 1"));
  EXPECT_THAT(errors_below_version("upstreams:\n  a: { match: a.com }\n  a: { match: b.com }\n"),
              ElementsAre("p.yaml:4:3: duplicate key 'a' in upstreams; the first is in line 3"));
}

TEST(FaultyFile, with_anchors_aliases_or_merge_keys_is_told_so_and_read_on) {
  EXPECT_THAT(
      errors_below_version("defaults: &d { maxConcurrent: 3 }\nupstreams:\n  a: { <<: *d, match: a.com, x: 1 }\n"),
      ElementsAre("p.yaml:2:11: anchors and aliases are not supported", "p.yaml:4:8: merge keys are not supported",
                  "p.yaml:4:12: anchors and aliases are not supported",
                  StartsWith("p.yaml:4:30: unknown key 'x' in upstreams.a")));
}

TEST(FaultyFile, of_another_version_is_refused) {
  EXPECT_THAT(errors("version: 2\n"), ElementsAre("p.yaml:1:10: version must be 1, the only one there is"));
  EXPECT_THAT(errors("version: '1.0'\n"), ElementsAre(StartsWith("p.yaml:1:10: version: '1.0' is not a plain number")));
}

TEST(FaultyFile, with_a_value_of_the_wrong_kind_is_told_what_belongs_there) {
  EXPECT_THAT(errors_below_version("proxy: [1]\n"),
              ElementsAre("p.yaml:2:8: proxy must hold keys, as in 'key: value'"));
  EXPECT_THAT(errors_below_version("proxy: { grace: [1s] }\n"),
              ElementsAre("p.yaml:2:17: grace in proxy must be a duration such as 30s"));
  EXPECT_THAT(errors_below_version("proxy:\n  grace:\n  via: x\n"),
              ElementsAre("p.yaml:3:3: grace in proxy has no value; it takes a duration such as 30s"));
  EXPECT_THAT(errors_below_version("access: { deny: 10.0.0.1 }\n"),
              ElementsAre("p.yaml:2:17: deny in access must be a list; write [] for an empty one"));
  EXPECT_THAT(errors("- 1\n"), ElementsAre("p.yaml:1:1: the file must hold keys, as in 'key: value'"));
}

TEST(FaultyFile, with_numbers_that_yaml_would_guess_at_is_refused) {
  for (const auto* number : {"010", "0x10", "1_000", "1e3", "-1", "1.5", "yes", "~", "''"}) {
    EXPECT_EQ(errors_below_version("caps: { pipelined: " + std::string(number) + " }\n").size(), 1U) << number;
  }
}

TEST(FaultyFile, with_a_unit_missing_is_told_which_there_are) {
  EXPECT_THAT(errors_below_version("proxy: { grace: 30 }\n"), ElementsAre(HasSubstr("'30' needs a unit, as in 250ms")));
  EXPECT_THAT(errors_below_version("proxy: { grace: 0 }\n"), ElementsAre(HasSubstr("'0' needs a unit; write 0s")));
  EXPECT_THAT(errors_below_version("caps: { headerBytes: 64KB }\n"), ElementsAre(HasSubstr("(B KiB MiB GiB)")));
}

TEST(FaultyFile, with_values_out_of_range_is_told_the_range) {
  EXPECT_THAT(errors_below_version("defaults: { maxConcurrent: 0 }\n"),
              ElementsAre("p.yaml:2:28: maxConcurrent in defaults is 0; it must be between 1 and 100000"));
  EXPECT_THAT(errors_below_version("upstreams: { '*': { maxConcurrent: 100001 } }\n"),
              ElementsAre(HasSubstr("maxConcurrent in upstreams.* is 100001; it must be between 1 and 100000")));
  EXPECT_THAT(errors_below_version("caps: { headerCount: 99999999999999999999 }\n").size(), 1U);
  EXPECT_THAT(errors_below_version("dns: { timeout: 0s }\n"), ElementsAre(HasSubstr("between 1ms and 5m")));
}

TEST(FaultyFile, with_a_faulty_default_is_told_once_and_not_for_each_upstream) {
  EXPECT_THAT(errors_below_version("defaults: { maxConcurrent: 0 }\nupstreams: { a: { match: a.com } }\n"),
              ElementsAre(StartsWith("p.yaml:2:28:")));
  EXPECT_THAT(
      errors_below_version("defaults: { maxConcurrent: 0 }\nupstreams: { a: { match: a.com, maxConcurrent: 0 } }\n"),
      ElementsAre(StartsWith("p.yaml:2:28:"), StartsWith("p.yaml:3:48:")));
}

TEST(FaultyFile, with_a_time_out_of_the_connection_in_an_upstream_is_told_where_it_belongs) {
  EXPECT_THAT(errors_below_version("upstreams:\n  a: { match: a.com, timeouts: { header: 5s, body: 5s } }\n"),
              ElementsAre("p.yaml:3:34: 'header' in upstreams.a.timeouts is of the connection, where no upstream is "
                          "known yet; set it in defaults"));
  EXPECT_THAT(errors_below_version("upstreams: { '*': { timeouts: { keepAlive: 5s } } }\n"),
              ElementsAre(HasSubstr("'keepAlive' in upstreams.*.timeouts is of the connection")));
  EXPECT_THAT(
      errors_below_version("defaults: { timeouts: { header: 1us, keepAlive: 31d } }\n"),
      ElementsAre(HasSubstr("header in defaults.timeouts is 1us"), HasSubstr("keepAlive in defaults.timeouts is 31d")));
}

TEST(FaultyFile, with_two_equal_patterns_is_told_whose_the_first_is) {
  EXPECT_THAT(errors_below_version("upstreams:\n  a: { match: a.com/v1 }\n  b: { match: [b.com, A.com./v1/] }\n"),
              ElementsAre("p.yaml:4:23: match in upstreams.b: 'a.com/v1' is already a pattern of upstreams.a"));
  EXPECT_THAT(errors_below_version("upstreams:\n  a: { match: [a.com, a.com] }\n").size(), 1U);
  EXPECT_TRUE(errors_below_version("upstreams:\n  a: { match: [a.com, 'a.com:80', '*.a.com', a.com/x] }\n").empty());
}

TEST(FaultyFile, with_a_faulty_pattern_is_told_what_is_wrong_with_it) {
  EXPECT_THAT(
      errors_below_version("upstreams:\n  a: { match: [ok.com, 'http://a.com'] }\n"),
      ElementsAre(StartsWith("p.yaml:3:24: match in upstreams.a: 'http://a.com': write it without the scheme")));
}

TEST(FaultyFile, with_an_upstream_without_pattern_or_with_an_odd_name_is_refused) {
  EXPECT_THAT(errors_below_version("upstreams:\n  api.a.com: { maxConcurrent: 3 }\n"),
              ElementsAre(StartsWith("p.yaml:3:3: upstreams.api.a.com has no match")));
  EXPECT_THAT(errors_below_version("upstreams:\n  a: { match: [] }\n"), ElementsAre(StartsWith("p.yaml:3:15: ")));
  EXPECT_THAT(errors_below_version("upstreams:\n  'a b': { match: a.com }\n"),
              ElementsAre("p.yaml:3:3: the name 'a b' may have only letters, digits and _.-"));
  EXPECT_THAT(errors_below_version("upstreams:\n  a:\n"),
              ElementsAre(StartsWith("p.yaml:3:3: upstreams.a has no match")));
}

TEST(FaultyFile, with_a_match_for_the_entry_star_is_refused) {
  EXPECT_THAT(errors_below_version("upstreams:\n  '*': { match: a.com, maxConcurrent: 0 }\n"),
              ElementsAre(StartsWith("p.yaml:3:10: upstreams.* takes no match"), StartsWith("p.yaml:3:39: ")));
}

TEST(FaultyFile, with_faulty_networks_or_servers_is_told_which) {
  EXPECT_THAT(
      errors_below_version("access: { clients: [loopback, 10.0.0.1/8], allow: [a b], deny: [127.0.0.1:0] }\n"),
      ElementsAre(HasSubstr("p.yaml:2:31: clients in access: '10.0.0.1/8' has bits beyond its prefix"),
                  StartsWith("p.yaml:2:52: allow in access: 'a b'"), StartsWith("p.yaml:2:65: deny in access")));
  EXPECT_THAT(errors_below_version("access: { clients: [example.com], deny: [privat] }\n"),
              ElementsAre(HasSubstr("clients in access: 'example.com' is neither"),
                          HasSubstr("deny in access: 'privat' is no network; did you mean 'private'?")));
  EXPECT_THAT(errors_below_version("proxy: { names: [a.example, 10.0.0.1, a.example:80] }\n"),
              ElementsAre(HasSubstr("names in proxy: '10.0.0.1' is not a name"),
                          HasSubstr("names in proxy: 'a.example:80' is not a name")));
  EXPECT_THAT(errors_below_version("dns: { servers: [9.9.9.9, dns.example, 9.9.9.9:0] }\n"),
              ElementsAre(StartsWith("p.yaml:2:27: servers in dns: 'dns.example'"), StartsWith("p.yaml:2:40: ")));
}

TEST(FaultyFile, with_both_listeners_on_one_port_is_refused) {
  EXPECT_THAT(errors_below_version("proxy: { listen: 127.0.0.1:9128 }\n"),
              ElementsAre(HasSubstr("listen in admin is the same as proxy.listen")));
  EXPECT_TRUE(errors_below_version("proxy: { listen: 127.0.0.1:0 }\nadmin: { listen: 127.0.0.1:0 }\n").empty());
}

TEST(FaultyFile, with_a_variable_that_is_not_set_is_told_its_name) {
  EXPECT_THAT(errors_below_version("proxy: { via: '${NOPE}' }\n"),
              ElementsAre("p.yaml:2:15: via in proxy: the environment variable NOPE is not set"));
  EXPECT_THAT(errors_below_version("proxy: { via: '${}' }\n"), ElementsAre(HasSubstr("has a ${ without NAME}")));
  EXPECT_THAT(errors_below_version("proxy: { via: '${X' }\n"), ElementsAre(HasSubstr("has a ${ without NAME}")));
}

/// A file of the test's own, which is deleted with this.
struct ValueFile {
  explicit ValueFile(const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
  ~ValueFile() { std::filesystem::remove(path); }

  const std::string path =
      (std::filesystem::temp_directory_path() / ("penstock-value-" + std::to_string(::getpid()))).string();
};

TEST(ValueFromFile, is_its_line_of_text_without_the_newline) {
  for (const std::string text : {"s3cret", "s3cret\n", "s3cret\r\n"}) {
    const ValueFile file(text);
    const auto config = read_config("version: 1\nproxy: { via: \"a-${file:" + file.path + "}-b\" }\n", "p.yaml");
    ASSERT_TRUE(config) << to_string(config.error()[0]);
    EXPECT_EQ(config->proxy.via, "a-s3cret-b");
  }
}

TEST(ValueFromFile, that_cannot_be_had_is_told_without_what_stands_in_it) {
  const auto fault = [](const std::string& path) {
    return errors_below_version("proxy: { via: \"${file:" + path + "}\" }\n");
  };
  EXPECT_THAT(fault("/no/such"),
              ElementsAre("p.yaml:2:15: via in proxy: the file /no/such cannot be read: No such file or "
                          "directory"));
  EXPECT_THAT(fault("/tmp"), ElementsAre(HasSubstr("the file /tmp cannot be read: Is a directory")));
  EXPECT_THAT(fault(""), ElementsAre(HasSubstr("has a ${ without NAME}")));
  for (const auto& text : {"s3cret\ns3cret\n"s,
                           "s3\x01"
                           "cret"s,
                           "s3cret\xff"s, std::string(64 * 1024 + 1, 's')}) {
    const ValueFile file(text);
    EXPECT_THAT(fault(file.path),
                ElementsAre(testing::AllOf(HasSubstr("the file " + file.path + " is "), testing::Not(HasSubstr("s3")))))
        << text.substr(0, 9);
  }
}

TEST(FaultyFile, with_a_faulty_listener_from_a_variable_is_shown_the_text_of_the_file) {
  const Environment secret = [](const std::string&) { return "hunter2"; };
  const auto config = read_config("version: 1\nproxy: { listen: \"${PASSWORD}\" }\n", "p.yaml", secret);
  ASSERT_FALSE(config);
  EXPECT_THAT(to_string(config.error().at(0)),
              testing::AllOf(HasSubstr("${PASSWORD}"), testing::Not(HasSubstr("hunter2"))));
}

TEST(FaultyFile, is_told_each_fault_in_one_line_whatever_the_value_holds) {
  EXPECT_THAT(errors_below_version("admin:\n  listen: |\n    127.0.0.1:1\n"),
              ElementsAre(StartsWith("p.yaml:3:11: listen in admin: '127.0.0.1:1\\n' is not address:port")));
  EXPECT_THAT(errors_below_version("\"a\\e[2K\\tb\": 1\n"), ElementsAre(HasSubstr("unknown key 'a\\x1b[2K\\x09b';")));
}

TEST(FaultyFile, with_ports_that_are_none_is_told_which) {
  EXPECT_THAT(errors_below_version("access: { connectPorts: [443, 0, 65536, https] }\n"),
              ElementsAre(HasSubstr("p.yaml:2:31: connectPorts in access is 0; it must be"),
                          StartsWith("p.yaml:2:34: connectPorts in access: '65536' is too large"),
                          StartsWith("p.yaml:2:41: connectPorts in access: 'https' is not a plain number")));
  EXPECT_THAT(errors_below_version("access: { connectPorts: 443 }\n"),
              ElementsAre(HasSubstr("connectPorts in access must be a list")));
}

}  // namespace
}  // namespace penstock
