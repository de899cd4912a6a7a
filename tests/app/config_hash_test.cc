// SPDX-License-Identifier: Apache-2.0
// The name of the settings in force.
#include "app/config_hash.h"

#include <gtest/gtest.h>

#include <set>

namespace penstock::app {
namespace {

using namespace std::chrono_literals;

Config some() {
  Config config;
  config.redis.emplace_back();
  config.upstreams.push_back({.name = "api", .match = {{.host = "api.example"}}});
  config.upstreams[0].settings.limits = {{.kind = PacerConfig{.qps = 15}}};
  return config;
}

TEST(ConfigHash, is_twelve_digits_and_the_same_for_the_same_settings) {
  EXPECT_EQ(config_hash(some()).size(), 12u);
  EXPECT_EQ(config_hash(some()).find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(config_hash(some()), config_hash(some()));
}

TEST(ConfigHash, has_neither_secrets_nor_what_processes_of_one_configuration_do_not_share) {
  Config config = some();
  config.proxy.listen.port = 4711;
  config.admin.listen = {"10.0.0.7", 1};
  config.redis.front().user = config.redis.front().password = config.redis.front().secret = "s3cret";
  config.intercept.key_text = "s3cret";
  config.upstreams[0].preset = "github";
  EXPECT_EQ(config_hash(config), config_hash(some()));
}

TEST(ConfigHash, changes_with_each_setting) {
  std::set<std::string> hashes{config_hash(some())};
  const auto with = [&](auto change) {
    Config config = some();
    change(config);
    EXPECT_TRUE(hashes.insert(config_hash(config)).second);
  };
  with([](Config& config) { config.proxy.grace = 31s; });
  with([](Config& config) { config.proxy.names = {"a.example", "b.example"}; });
  with([](Config& config) { config.proxy.names = {"a.exampleb.example"}; });
  with([](Config& config) { config.admin.details = AdminDetails::all; });
  with([](Config& config) { config.log.client = LogClient::off; });
  with([](Config& config) { config.caps.replay_body = 1; });
  with([](Config& config) { config.access.hints.emplace(); });
  with([](Config& config) { config.redis.front().when_down = WhenDown::wait; });
  with([](Config& config) { config.redis.front().sentinel = {.hosts = {{"s1"}}, .master = "main"}; });
  with([](Config& config) { config.redis.front().sentinel = {.hosts = {{"s1"}}, .master = "other"}; });
  with([](Config& config) { config.redis.clear(); });
  with([](Config& config) { config.pass_unmatched = false; });
  with([](Config& config) { config.unmatched.max_concurrent = 3; });
  with([](Config& config) { config.upstreams[0].name = "other"; });
  with([](Config& config) { config.upstreams[0].quota = "account"; });
  with([](Config& config) { config.quotas.push_back({.name = "account"}); });
  with([](Config& config) { config.quotas.push_back({"account", {.max_concurrent = 3}}); });
  with([](Config& config) { config.upstreams[0].match[0].suffix = true; });
  with([](Config& config) { config.upstreams[0].settings.redact = {"/bot{}/"}; });
  with([](Config& config) { config.upstreams[0].settings.retry.attempts = 2; });
  with([](Config& config) { config.upstreams[0].settings.limits[0].shared = false; });
  with([](Config& config) { config.upstreams[0].settings.limits[0].route = "search"; });
  with([](Config& config) { config.upstreams[0].settings.routes = {{.name = "search"}}; });
  with([](Config& config) { config.upstreams[0].settings.routes = {{.match = {.methods = {"GET"}, .path = "/x"}}}; });
  with([](Config& config) { config.upstreams[0].settings.routes = {{.weight = 5, .max_wait = 2s}}; });
  with([](Config& config) { config.upstreams[0].settings.limits[0].kind = PacerConfig{.qps = 15.5}; });
  with([](Config& config) { config.upstreams[0].settings.limits[0].kind = WindowConfig{.reservoir = 15}; });
  with([](Config& config) { config.upstreams[0].settings.limits.clear(); });
}

}  // namespace
}  // namespace penstock::app
