// SPDX-License-Identifier: Apache-2.0
// What a sound file sets.
#include <gtest/gtest.h>

#include <unistd.h>
#include <cstdlib>
#include <filesystem>

#include <fstream>

#include "penstock/config.h"

namespace penstock {
namespace {

Config read_file(std::string_view yaml, const Environment& environment = process_environment) {
  const auto config = read_config(yaml, "test.yaml", environment);
  if (config) return *config;
  for (const auto& error : config.error()) ADD_FAILURE() << to_string(error);
  return {};
}

TEST(ConfigFile, with_nothing_but_its_version_is_the_defaults) { EXPECT_EQ(read_file("version: 1\n"), Config{}); }

TEST(ConfigFile, sets_every_key) {
  const auto config = read_file(R"(
version: 1
proxy: { listen: "[::1]:8080", via: gate-7, grace: 5s }
admin: { listen: 127.0.0.2:0 }
log: { level: debug, events: /var/log/penstock.jsonl }
dns: { servers: [9.9.9.9, 127.0.0.1:5353, "[2620:fe::fe]:53", 2620:fe::9], timeout: 500ms }
defaults:
  maxConcurrent: 5
  maxTunnels: 90
  maxWeight: 70000
  queue: { maxPending: 0, maxWait: 2m }
  timeouts: { connect: 1s, firstByte: 2s, idle: 3s, total: 4s, body: 5s, tunnelIdle: 6s, tunnelRest: 7s,
              header: 7s, keepAlive: 8s }
  retry: { refusals: false, failures: idempotent, attempts: 3, budget: 50%, except: [insufficient_quota] }
  https: originate
caps: { headerBytes: 1KiB, headerCount: 50, targetBytes: 512B, trailerBytes: 2KiB, chunkLineBytes: 100B, pipelined: 4,
        pendingBodyBytes: 3KiB, pendingMemory: 1.5MiB, connections: 30, connectionsPerClient: 20, replayBody: 4KiB }
unmatched: deny
access: { clients: [private, 203.0.113.7], steering: [loopback], allow: [10.0.0.0/8], deny: ["::1", 192.0.2.0/24],
          connectPorts: [443, 8443], plainPorts: [8080] }
)");
  Config wanted;
  wanted.proxy = {{"::1", 8080}, "gate-7", 5s};
  wanted.admin = {{"127.0.0.2", 0}};
  wanted.log = {LogLevel::debug, "/var/log/penstock.jsonl"};
  wanted.dns = {{"9.9.9.9", "127.0.0.1:5353", "[2620:fe::fe]:53", "2620:fe::9"}, 500ms};
  wanted.defaults = {5, 90, 70'000, {0, 2min}, {1s, 2s, 3s, 4s, 5s, 6s, 7s}, Https::originate};
  wanted.defaults.retry = {false, RetryConfig::Failures::idempotent, 3, 50, {"insufficient_quota"}};
  wanted.connection = {7s, 8s};
  wanted.unmatched = unmatched_from(wanted.defaults);
  wanted.caps = {1024, 50, 512, 2048, 100, 4, 3072, 1572864, 30, 20, 4096};
  wanted.pass_unmatched = false;
  wanted.access.clients = {"private", "203.0.113.7"};
  wanted.access.hints = std::vector<std::string>{"loopback"};
  wanted.access.allow = std::vector<std::string>{"10.0.0.0/8"};
  wanted.access.deny = {"::1", "192.0.2.0/24"};
  wanted.access.connect_ports = {443, 8443};
  wanted.access.plain_ports = {8080};
  EXPECT_EQ(config, wanted);
}

TEST(ConfigFile, gives_upstreams_in_the_order_of_the_text) {
  const auto config = read_file("version: 1\nupstreams:\n  b: { match: b.com }\n  a: { match: [a.com, '*.a.com'] }\n");
  ASSERT_EQ(config.upstreams.size(), 2U);
  EXPECT_EQ(config.upstreams[0].name, "b");
  EXPECT_EQ(config.upstreams[1].name, "a");
  ASSERT_EQ(config.upstreams[1].match.size(), 2U);
  EXPECT_EQ(to_string(config.upstreams[1].match[1]), "*.a.com");
}

TEST(ConfigFile, starts_every_upstream_from_defaults_wherever_they_stand) {
  const auto config = read_file(R"(
upstreams:
  slow: { match: slow.com, maxConcurrent: 2, timeouts: { idle: 9s } }
  plain: { match: plain.com }
  "*": { queue: { maxPending: 7 } }
defaults: { maxConcurrent: 30, timeouts: { connect: 8s } }
version: 1
)");
  const auto& slow = config.upstreams.at(0).settings;
  EXPECT_EQ(slow.max_concurrent, 2);
  EXPECT_EQ(slow.timeouts.connect, 8s);
  EXPECT_EQ(slow.timeouts.idle, 9s);
  EXPECT_EQ(slow.timeouts.first_byte, 60s);
  EXPECT_EQ(config.upstreams.at(1).settings, config.defaults);
  EXPECT_EQ(config.unmatched.max_concurrent, 30);
  EXPECT_EQ(config.unmatched.queue.max_pending, 7U);
  EXPECT_EQ(config.unmatched.timeouts.connect, 8s);
}

TEST(ConfigFile, keeps_the_entry_star_out_of_the_named_upstreams) {
  const auto config = read_file("version: 1\nupstreams:\n  '*': { maxConcurrent: 3 }\n");
  EXPECT_TRUE(config.upstreams.empty());
  EXPECT_EQ(config.unmatched.max_concurrent, 3);
  EXPECT_EQ(config.defaults.max_concurrent, 64);
}

TEST(ConfigFile, may_leave_a_section_empty) {
  EXPECT_EQ(read_file("version: 1\nproxy:\nupstreams:\n"), Config{});
  EXPECT_EQ(read_file("version: 1\nupstreams:\n  '*':\n"), Config{});
}

TEST(ConfigFile, takes_an_empty_allow_for_an_answer) {
  const auto config = read_file("version: 1\naccess: { allow: [] }\n");
  EXPECT_EQ(config.access.allow, std::vector<std::string>{});
}

TEST(ConfigFile, fills_in_environment_variables) {
  const Environment environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "HOST") return "api.example.com";
    if (name == "N") return "12";
    if (name == "EMPTY") return "";
    return std::nullopt;
  };
  const auto config = read_file(R"(
version: 1
log: { events: "/tmp/${EMPTY}x$y{z}-${N}.jsonl" }
upstreams:
  api: { match: [ "${HOST}:${N}" ], maxConcurrent: "${N}" }
)",
                                environment);
  EXPECT_EQ(config.log.events, "/tmp/x$y{z}-12.jsonl");
  ASSERT_EQ(config.upstreams.size(), 1U);
  EXPECT_EQ(to_string(config.upstreams[0].match.at(0)), "api.example.com:12");
  EXPECT_EQ(config.upstreams[0].settings.max_concurrent, 12);
}

TEST(ConfigFile, does_not_read_what_a_variable_holds_as_yaml_or_as_another_variable) {
  const Environment environment = [](const std::string&) { return "${X}: [a]"; };
  EXPECT_EQ(read_file("version: 1\nlog: { events: \"${X}\" }\n", environment).log.events, "${X}: [a]");
}

TEST(ConfigFile, reads_the_environment_of_the_process_by_default) {
  ASSERT_EQ(setenv("PENSTOCK_TEST_VIA", "from-outside", 1), 0);
  EXPECT_EQ(read_file("version: 1\nproxy: { via: \"${PENSTOCK_TEST_VIA}\" }\n").proxy.via, "from-outside");
  unsetenv("PENSTOCK_TEST_VIA");
}

TEST(ConfigFile, is_loaded_from_disk) {
  const auto path =
      std::filesystem::path(testing::TempDir()) / ("penstock-reader-" + std::to_string(getpid()) + ".yaml");
  std::ofstream(path) << "version: 1\nunmatched: deny\n";
  const auto config = load_config(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(config);
  EXPECT_FALSE(config->pass_unmatched);
}

TEST(ConfigFile, that_cannot_be_read_is_said_to_be_so) {
  const auto missing = load_config("/nowhere/penstock.yaml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(to_string(missing.error().at(0)), "/nowhere/penstock.yaml: cannot be read: No such file or directory");
  EXPECT_FALSE(load_config("/"));
}

TEST(ConfigFile, that_is_empty_is_told_what_to_begin_with) {
  const auto empty = load_config("/dev/null");
  ASSERT_FALSE(empty);
  EXPECT_EQ(to_string(empty.error().at(0)), "/dev/null:1:1: the key 'version' is missing; write version: 1");
}

}  // namespace
}  // namespace penstock
