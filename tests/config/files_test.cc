// SPDX-License-Identifier: Apache-2.0
// The files in config/ are sound, and reference.yaml tells every key and its true default.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "config/keys.h"
#include "config/presets.h"
#include "config/schema_check.h"
#include "penstock/config.h"

namespace penstock::config {
namespace {

Config shipped(const std::string& name) {
  const auto config = read_config(file_text(name), name);
  if (config) return *config;
  for (const auto& error : config.error()) ADD_FAILURE() << to_string(error);
  return {};
}

// The reference with its settings that are not in force put in force: `#key` has no blank, prose has.
std::string reference_in_full() {
  return std::regex_replace(file_text("reference.yaml"), std::regex("(\n *)#([a-z-])"), "$1$2");
}

void collect(const Json& json, const std::string& path, std::vector<std::string>& keys) {
  for (const auto& [key, value] : json.items()) {
    keys.push_back(path + key);
    if (value.is_object()) collect(value, path + key + ".", keys);
    if (!value.is_array()) continue;
    for (const auto& item : value) {
      if (item.is_object()) collect(item, path + key + ".", keys);
    }
  }
}

std::vector<std::string> keys_in(const std::string& text) {
  std::vector<std::string> keys;
  collect(to_json(parse_document(text).value().root), "", keys);
  return keys;
}

TEST(ReferenceFile, is_the_defaults) { EXPECT_EQ(shipped("reference.yaml"), Config{}); }

// What is not among the defaults is shown by an example; what all limits have in common by the first of them.
TEST(ReferenceFile, shows_every_key) {
  auto wanted = known_keys();
  const std::set<std::string> known(wanted.begin(), wanted.end());
  const std::regex repeated(R"(.*\.limits\.(?!pacer).*\.(per|shared|mode|name|unit))");
  const std::regex of_routes(R"(.*\.routes\.(limits|timeouts|retry)\..*)");  // as those of an upstream
  const std::regex of_quotas(R"(quotas\.NAME\.limits\..*)");                 // likewise
  std::erase_if(wanted, [&](const std::string& key) {
    return std::regex_match(key, repeated) || std::regex_match(key, of_routes) || std::regex_match(key, of_quotas);
  });
  for (auto& key : wanted) {
    key = std::regex_replace(key, std::regex("quotas\\.NAME"), "quotas.account");
    if (key == "upstreams.NAME.quota") key = "upstreams.uploads.quota";  // github has limits of its own
    const bool has_default = known.contains(std::regex_replace(key, std::regex("upstreams\\.NAME"), "defaults"));
    key = std::regex_replace(key, std::regex("NAME"), has_default ? "*" : "github");
  }
  EXPECT_THAT(keys_in(reference_in_full()), testing::IsSupersetOf(wanted));
}

TEST(ReferenceFile, is_sound_with_its_examples_in_force) {
  const auto config = read_config(reference_in_full(), "reference.yaml");
  ASSERT_TRUE(config) << to_string(config.error().at(0));
  ASSERT_EQ(config->upstreams.size(), 2U) << "github, which `presets` names too, and one that draws on a quota";
  EXPECT_EQ(config->upstreams[1].quota, config->quotas.at(0).name);
  EXPECT_EQ(config->upstreams[0].settings.max_concurrent, 20);
  EXPECT_EQ(config->upstreams[0].settings.limits.size(), 13U) << "nine of its own, four of its route";
  RedisConfig redis;
  redis.secret = config->redis.front().secret;  // there is none by default, and that of the example is nobody's
  redis.user = "penstock", redis.password = "put-it-here", redis.tls = RedisTlsConfig{};
  EXPECT_GE(redis.secret.size(), 16U);
  EXPECT_EQ(config->redis, std::vector{redis});
  EXPECT_EQ(config->access.allow, std::vector<std::string>{"loopback"});
}

TEST(MinimalFile, limits_one_upstream) {
  const auto config = shipped("minimal.yaml");
  ASSERT_EQ(config.upstreams.size(), 1U);
  EXPECT_EQ(config.upstreams[0].settings.max_concurrent, 4);
}

TEST(ContainerFile, listens_everywhere_for_private_clients) {
  const auto config = shipped("container.yaml");
  EXPECT_EQ(config.proxy.listen, (Endpoint{"0.0.0.0", 3128}));
  EXPECT_EQ(config.admin.listen, (Endpoint{"0.0.0.0", 9128}));
  EXPECT_THAT(config.access.clients, testing::ElementsAre("private"));
  EXPECT_EQ(config.log.events, "stdout");
  EXPECT_EQ(config.access.allow, std::nullopt);
}

TEST(LimitsFile, has_an_entry_for_each_kind) {
  std::set<std::string_view> kinds;
  for (const auto& upstream : shipped("limits.yaml").upstreams) {
    for (const auto& limit : upstream.settings.limits) kinds.insert(limit_key(limit.kind));
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<LimitConfig::Kind>);
}

/// What script/presets wrote there, key by key, is what the preset itself comes to.
TEST(VendorsFile, has_each_preset_with_its_lowest_plan) {
  const auto vendors = shipped("vendors.yaml").upstreams;
  ASSERT_EQ(vendors.size(), presets().size());
  for (std::size_t i = 0; i < vendors.size(); ++i) {
    const auto& name = presets()[i].name;
    const auto config = read_config("version: 1\npresets: [" + name + "]\n", "f");
    ASSERT_TRUE(config) << to_string(config.error()[0]);
    EXPECT_EQ(vendors[i].name, name);
    EXPECT_EQ(vendors[i].match, config->upstreams[0].match) << name;
    EXPECT_EQ(vendors[i].base_url, config->upstreams[0].base_url) << name;
    EXPECT_EQ(vendors[i].settings, config->upstreams[0].settings) << name;
  }
}

}  // namespace
}  // namespace penstock::config
