// SPDX-License-Identifier: Apache-2.0
// Settings that were filled in by hand are judged like those of a file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/validate.h"
#include "penstock/config.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> faults(const Config& config) {
  std::vector<std::string> all;
  for (const auto& error : validate(config)) all.push_back(to_string(error));
  return all;
}

TEST(Validation, finds_nothing_wrong_with_the_defaults) { EXPECT_THAT(faults(Config{}), ElementsAre()); }

TEST(Validation, names_the_setting_without_a_place) {
  Config config;
  config.unmatched.max_concurrent = 0;
  EXPECT_THAT(faults(config), ElementsAre("maxConcurrent in upstreams.* is 0; it must be between 1 and 100000"));
  EXPECT_EQ(validate(config).at(0).line, 0);
}

TEST(Lasting, is_what_was_bound_or_opened) {
  const Config in_force;
  Config next;
  next.access.deny = {"10.0.0.0/8"};
  next.log.level = LogLevel::off;
  next.proxy.via = "another";
  next.proxy.request_id = true;
  next.log.client = LogClient::off;
  next.admin.details = AdminDetails::all;
  next.admin.page = false;
  next.unmatched.redact = {"/bot{}/"};
  next.redis.emplace_back();
  EXPECT_TRUE(config::find_lasting(in_force, next).empty());
  next.proxy.listen.port = 1;
  next.admin.listen.port = 1;
  next.log.events = "off";
  next.dns.timeout = 1s;
  std::vector<std::string> paths;
  for (const auto& issue : config::find_lasting(in_force, next)) {
    paths.push_back(issue.path);
    EXPECT_THAT(issue.message, HasSubstr("cannot be changed by a reload"));
  }
  EXPECT_THAT(paths, ElementsAre("proxy.listen", "admin.listen", "log.events", "dns"));
}

TEST(Validation, takes_an_admin_port_that_is_not_wanted) {
  Config config;
  config.admin.listen = {};
  EXPECT_THAT(faults(config), ElementsAre());
}

TEST(Validation, judges_the_patterns_of_secret_paths) {
  Config config;
  config.unmatched.redact = {"/bot{}/", "/services/{}", "/{}", "/a{}b/c~{}.json", "/a:{}"};
  EXPECT_THAT(faults(config), ElementsAre());
  config.unmatched.redact = std::vector<std::string>(17, "/{}");
  EXPECT_THAT(faults(config), ElementsAre("redact in upstreams.* has more than 16 patterns"));
  config.unmatched.redact = {"/" + std::string(300, 'a') + "{}", "", "/a b{}"};
  EXPECT_THAT(faults(config), ElementsAre(HasSubstr("is longer than 256 characters"), HasSubstr("must begin with /"),
                                          HasSubstr("has a ' ', which is not of a path")));
}

TEST(Validation, takes_the_bounds_themselves) {
  Config config;
  config.unmatched.max_concurrent = 100'000;
  config.defaults.max_concurrent = 1;
  config.unmatched.queue.max_wait = 0s;
  config.unmatched.timeouts.total = 1ms;
  EXPECT_THAT(faults(config), ElementsAre());
  config.unmatched.max_concurrent = 100'001;
  config.unmatched.timeouts.total = 999us;
  config.unmatched.timeouts.idle = -1s;
  EXPECT_EQ(faults(config).size(), 3U);
}

TEST(Validation, refuses_addresses_that_are_none) {
  Config config;
  config.proxy.listen.address = "localhost";
  EXPECT_THAT(faults(config), ElementsAre("listen in proxy: 'localhost' is not an address"));
}

TEST(Validation, says_in_one_line_what_is_wrong_with_a_value_of_two) {
  Config config;
  config.access.deny = {"10.0.0.0/8\n10.0.0.1"};
  EXPECT_THAT(faults(config), ElementsAre(HasSubstr("'10.0.0.0/8\\n10.0.0.1'")));
}

TEST(Validation, refuses_a_via_that_is_not_a_token) {
  for (const auto* via : {"", "a b", "a,b", "a\r\nX: y", "ä", "pen/stock"}) {
    Config config;
    config.proxy.via = via;
    EXPECT_EQ(faults(config).size(), 1U) << via;
  }
}

TEST(Validation, refuses_caps_that_leave_no_room) {
  Config config;
  config.caps = {0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(faults(config).size(), 8U);
}

TEST(Validation, refuses_patterns_that_no_text_would_give) {
  Config config;
  config.upstreams = {{"a", {{"A.com", false, {}, ""}, {"b.com", false, {}, "/x/"}, {"", false, {}, ""}}, {}}};
  EXPECT_THAT(faults(config),
              ElementsAre(HasSubstr("'A.com' is not in its plain form"),
                          HasSubstr("'b.com/x/' is not in its plain form"), HasSubstr("match in upstreams.a")));
}

TEST(Validation, refuses_two_upstreams_of_one_name_and_two_equal_patterns) {
  Config config;
  const auto pattern = parse_match("a.com").value();
  config.upstreams = {{"a", {pattern}, {}}, {"a", {pattern}, {}}};
  EXPECT_THAT(faults(config), ElementsAre(HasSubstr("two upstreams named 'a'"), HasSubstr("is already a pattern of")));
}

TEST(Validation, refuses_an_upstream_named_star) {
  Config config;
  config.upstreams = {{"*", {parse_match("a.com").value()}, {}}};
  EXPECT_THAT(faults(config), ElementsAre(HasSubstr("the name '*'")));
}

TEST(Validation, refuses_an_event_log_without_a_name) {
  Config config;
  config.log.events = "";
  EXPECT_THAT(faults(config), ElementsAre(HasSubstr("events in log")));
}

}  // namespace
}  // namespace penstock
