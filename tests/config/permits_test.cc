// SPDX-License-Identifier: Apache-2.0
// Upstreams of permits: what they may have, and what is said of keys that are about hosts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "penstock/config.h"

namespace penstock {
namespace {

using testing::ElementsAre;

/// The errors of an upstream `db` with these keys, which stand from line 4 on.
std::vector<std::string> errors_of(const std::string& keys) {
  const auto config = read_config("version: 1\nupstreams:\n  db:\n" + keys, "f");
  std::vector<std::string> told;
  if (config) return told;
  for (const auto& error : config.error()) told.push_back(to_string(error));
  return told;
}

TEST(PermitsKey, needs_no_host_beside_it) {
  const auto config = read_config(
      "version: 1\nupstreams:\n  db: { permits: true, maxConcurrent: 8, maxWeight: 4, queue: { maxPending: 20 },\n"
      "        rate: 50/s, group: header:Penstock-Group, limits: [ { semaphore: { capacity: 5 } } ] }\n",
      "f");
  ASSERT_TRUE(config) << to_string(config.error()[0]);
  const auto& db = config->upstreams.at(0);
  EXPECT_TRUE(db.permits);
  EXPECT_TRUE(db.match.empty());
  EXPECT_FALSE(db.base_url);
  EXPECT_EQ(db.settings.max_concurrent, 8);
  EXPECT_EQ(db.settings.limits.size(), 3U) << "rate is two, and the semaphore";
}

TEST(PermitsKey, that_is_false_is_as_if_it_were_not_there) {
  EXPECT_THAT(errors_of("    permits: false\n    match: a.com\n    timeouts: { idle: 3s }\n"), ElementsAre());
  EXPECT_THAT(
      errors_of("    permits: false\n"),
      ElementsAre("f:3:3: upstreams.db has no match: say which hosts are its own, as in match: api.example.com"));
}

TEST(PermitsKey, leads_to_no_host_so_none_stands_beside_it) {
  const std::string beside = " in upstreams.db stands beside permits: true, which leads to no host";
  EXPECT_THAT(errors_of("    permits: true\n    match: a.com\n"), ElementsAre("f:5:12: match" + beside));
  EXPECT_THAT(errors_of("    match: []\n    permits: true\n"), ElementsAre("f:4:12: match" + beside));
  EXPECT_THAT(errors_of("    permits: true\n    baseUrl: https://a.com\n"), ElementsAre("f:5:14: baseUrl" + beside));
  EXPECT_THAT(errors_of("    permits: true\n    preset: github\n"), ElementsAre("f:5:13: preset" + beside));
}

TEST(PermitsKey, has_no_settings_of_hosts_and_answers_beside_it) {
  for (const std::string key :
       {"maxTunnels: 3", "timeouts: { total: 3s }", "retry: off", "https: originate", "tls: { ca: a.pem }", "obey: off",
        "maxPause: 3s", "pauseOn: [429]", "pauseScope: upstream", "learn: on", "breaker: off", "redact: []"}) {
    const auto name = key.substr(0, key.find(':'));
    EXPECT_THAT(errors_of("    permits: true\n    " + key + "\n"),
                ElementsAre("f:5:" + std::to_string(name.size() + 7) + ": " + name +
                            " in upstreams.db stands beside permits: true, which leads to no host"));
  }
  EXPECT_TRUE(
      read_config("version: 1\ndefaults: { retry: off, timeouts: { total: 3s } }\n"
                  "upstreams: { db: { permits: true } }\n",
                  "f"))
      << "what defaults say is for others";
}

TEST(PermitsKey, has_groups_by_header_alone) {
  for (const std::string rule : {"host", "path:/a/{b}"}) {
    EXPECT_THAT(errors_of("    permits: true\n    group: " + rule + "\n"),
                ElementsAre("f:5:12: group in upstreams.db must be header:NAME, as in header:Penstock-Group: a permit "
                            "has neither path nor host"));
  }
}

TEST(PermitsKey, has_no_limit_that_learns_from_refusals) {
  EXPECT_THAT(errors_of("    permits: true\n    limits: [ adaptive: { min: 1/s, max: 9/s } ]\n"),
              ElementsAre("f:5:25: adaptive in upstreams.db.limits learns from what an API refuses; permits are not "
                          "answered by one"));
}

TEST(PermitsKey, is_no_key_of_the_entry_star_nor_of_the_top) {
  const auto star = read_config("version: 1\nupstreams: { '*': { permits: true } }\n", "f");
  ASSERT_FALSE(star);
  EXPECT_EQ(to_string(star.error()[0]), "f:2:21: upstreams.* takes no permits: it has no name to be asked for by");
  const auto top = read_config("version: 1\npermits: true\n", "f");
  ASSERT_FALSE(top);
  EXPECT_EQ(to_string(top.error()[0]),
            "f:2:1: unknown key 'permits'; it belongs to an upstream, as in upstreams: { NAME: { permits: true, … } }");
}

TEST(PermitsKey, is_judged_in_settings_made_by_hand_too) {
  Config config;
  config.upstreams.push_back({.name = "db", .permits = true});
  EXPECT_TRUE(validate(config).empty());
  config.upstreams[0].match.push_back({.host = "a.com"});
  ASSERT_EQ(validate(config).size(), 1U);
  EXPECT_EQ(validate(config)[0].message, "match in upstreams.db stands beside permits: true, which leads to no host");
}

}  // namespace
}  // namespace penstock
