// SPDX-License-Identifier: Apache-2.0
// The keys that say what follows a refusal or a failure.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "penstock/config.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using Failures = RetryConfig::Failures;

Config read_refusal_keys(const std::string& yaml) {
  const auto config = read_config("version: 1\n" + yaml, "r.yaml");
  if (config) return *config;
  for (const auto& error : config.error()) ADD_FAILURE() << to_string(error);
  return {};
}

UpstreamSettings settings_with(const std::string& keys) {
  const auto config = read_refusal_keys("upstreams:\n  a: { match: a.test, " + keys + " }\n");
  return config.upstreams.empty() ? UpstreamSettings{} : config.upstreams[0].settings;
}

TEST(RefusalKeys, say_which_dialects_count) {
  EXPECT_EQ(settings_with("obey: auto").obey, Obey::automatic);
  EXPECT_EQ(settings_with("obey: [retryAfter, openai]").obey, Obey::retry_after | Obey::only(Dialect::openai));
  EXPECT_EQ(settings_with("obey: [retryAfter]").obey, Obey::retry_after);
  Obey all;
  for (const auto name : kDialectNames) all = all | settings_with("obey: [" + std::string(name) + "]").obey;
  EXPECT_EQ(all, Obey::automatic);
}

TEST(RefusalKeys, are_written_as_they_are_read) {
  for (const auto* text : {"off", "auto", "retryAfter", "[retryAfter, openai]", "[shopify]"})
    EXPECT_EQ(to_string(settings_with("obey: " + std::string(text)).obey), text);
}

TEST(RefusalKeys, replace_the_statuses_that_refuse) {
  EXPECT_THAT(settings_with("obey: auto").pause_on, ElementsAre(429, 503, 529, 403));
  EXPECT_THAT(settings_with("pauseOn: [429, 477]").pause_on, ElementsAre(429, 477));
  EXPECT_THAT(settings_with("pauseOn: []").pause_on, ElementsAre());
}

TEST(RefusalKeys, pause_the_credentials_alone_where_hosts_are_not_named) {
  const auto config = read_refusal_keys("defaults: { maxConcurrent: 5 }\nupstreams: { a: { match: a.test } }\n");
  EXPECT_EQ(config.upstreams.at(0).settings.pause_scope, PauseScope::upstream);
  EXPECT_EQ(config.unmatched.pause_scope, PauseScope::credentials);
  EXPECT_EQ(settings_with("pauseScope: credentials").pause_scope, PauseScope::credentials);
  const auto star = read_refusal_keys("upstreams: { '*': { pauseScope: upstream } }\n");
  EXPECT_EQ(star.unmatched.pause_scope, PauseScope::upstream);
}

TEST(RefusalKeys, say_what_is_sent_again) {
  EXPECT_EQ(settings_with("retry: off").retry, RetryConfig::off());
  EXPECT_EQ(settings_with("retry: { failures: safe, budget: 0% }").retry,
            (RetryConfig{.failures = Failures::safe, .budget = 0}));
  EXPECT_EQ(settings_with("retry: { failures: off, except: [a, b.c] }").retry.except,
            (std::vector<std::string>{"a", "b.c"}));
}

TEST(RefusalKeys, come_from_the_defaults_key_by_key) {
  const auto config = read_refusal_keys(R"(defaults: { retry: { refusals: false, attempts: 3 } }
upstreams:
  a: { match: a.test, retry: { failures: idempotent } }
  "*": { retry: { attempts: 2 } }
)");
  EXPECT_EQ(config.upstreams.at(0).settings.retry,
            (RetryConfig{.refusals = false, .failures = Failures::idempotent, .attempts = 3}));
  EXPECT_EQ(config.unmatched.retry, (RetryConfig{.refusals = false, .attempts = 2}));
}

TEST(RefusalKeys, turn_on_what_was_off) {
  const auto config = read_refusal_keys(R"(defaults: { retry: off }
upstreams:
  a: { match: a.test, retry: { attempts: 2 } }
  b: { match: b.test }
  "*": { breaker: { maxPause: 5s } }
)");
  EXPECT_EQ(config.upstreams.at(0).settings.retry, (RetryConfig{.attempts = 2}));
  EXPECT_EQ(config.upstreams.at(1).settings.retry, RetryConfig::off());
  EXPECT_EQ(config.unmatched.breaker, (BreakerConfig{.max_pause = 5s}));
}

TEST(RefusalKeys, of_a_preset_turn_nothing_on) {
  const auto config = read_refusal_keys("defaults: { retry: off }\npresets: [openai]\n");
  const auto& retry = config.upstreams.at(0).settings.retry;
  EXPECT_FALSE(retry.refusals);
  EXPECT_THAT(retry.except, testing::Contains("insufficient_quota"));
}

TEST(RefusalKeys, turn_sending_off_and_on_and_leave_what_no_waiting_cures) {
  const auto retry_of = [](const std::string& defaults, const std::string& retry) {
    return read_refusal_keys("defaults: { " + defaults +
                             " }\nupstreams: { a: { match: a.test, preset: openai, retry: " + retry + " } }\n")
        .upstreams.at(0)
        .settings.retry;
  };
  const RetryConfig off = retry_of("", "off");
  EXPECT_FALSE(off.refusals);
  EXPECT_THAT(off.except, testing::Contains("insufficient_quota"));
  const RetryConfig on = retry_of("retry: off", "{ attempts: 2 }");
  EXPECT_TRUE(on.refusals);
  EXPECT_THAT(on.except, testing::Contains("insufficient_quota"));
}

TEST(RefusalKeys, have_a_breaker_for_named_upstreams_alone) {
  EXPECT_EQ(settings_with("obey: auto").breaker, BreakerConfig{});
  EXPECT_EQ(settings_with("breaker: off").breaker, BreakerConfig::off());
  EXPECT_EQ(settings_with("breaker: { failures: 0 }").breaker, BreakerConfig::off());
  EXPECT_EQ(settings_with("breaker: { failures: 2, maxPause: 1m }").breaker, (BreakerConfig{2, 1min}));
  EXPECT_EQ(read_refusal_keys("upstreams: { a: { match: a.test } }\n").unmatched.breaker, BreakerConfig::off());
}

TEST(RefusalKeys, may_be_a_variable) {
  const auto config =
      read_config("version: 1\ndefaults: { retry: '${RETRY}' }\n", "r.yaml", [](const std::string&) { return "off"; });
  ASSERT_TRUE(config) << to_string(config.error().at(0));
  EXPECT_EQ(config->defaults.retry, RetryConfig::off());
}

}  // namespace
}  // namespace penstock
