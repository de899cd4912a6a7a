// SPDX-License-Identifier: Apache-2.0
// `penstock env`, as a shell takes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "app/program.h"

namespace penstock::app {
namespace {

std::string shell(const std::string& script) {
  std::string out;
  std::array<char, 512> bytes{};
  FILE* pipe = popen(script.c_str(), "r");
  while (std::fgets(bytes.data(), bytes.size(), pipe)) out += bytes.data();
  pclose(pipe);
  return out;
}

TEST(Env, gives_a_shell_the_variables_in_both_cases) {
  EXPECT_EQ(shell("eval \"$(" PENSTOCK_BINARY " env)\"; echo $http_proxy $HTTP_PROXY $no_proxy $NO_PROXY"),
            "http://127.0.0.1:3128 http://127.0.0.1:3128 127.0.0.1 127.0.0.1\n");
}

TEST(Env, names_the_proxy_for_https_too) {
  EXPECT_EQ(shell("eval \"$(" PENSTOCK_BINARY " env)\"; echo $https_proxy $HTTPS_PROXY"),
            "http://127.0.0.1:3128 http://127.0.0.1:3128\n");
}

TEST(Env, writes_other_formats_than_the_shell_s) {
  const Texts odd{"JAVA_TOOL_OPTIONS=-Da=it's \"$x\" \\"};
  const auto last_line = [&](const std::string& format) {
    const auto out = penstock({"env", "--format", format}, odd).out;
    return out.substr(out.find("JAVA_TOOL_OPTIONS"));
  };
  EXPECT_THAT(last_line("sh"), testing::StartsWith("JAVA_TOOL_OPTIONS='-Da=it'\\''s \"$x\" \\ "));
  EXPECT_THAT(last_line("fish"), testing::StartsWith("JAVA_TOOL_OPTIONS '-Da=it\\'s \"$x\" \\\\ "));
  EXPECT_THAT(last_line("dotenv"), testing::StartsWith("JAVA_TOOL_OPTIONS=\"-Da=it's \\\"\\$x\\\" \\\\ "));
  EXPECT_THAT(last_line("docker"), testing::StartsWith("JAVA_TOOL_OPTIONS=-Da=it's \"$x\" \\ "));
  EXPECT_THAT(penstock({"env", "--format", "fish"}).out,
              testing::StartsWith("set -gx http_proxy 'http://127.0.0.1:3128'\n"));
  EXPECT_EQ(penstock({"env", "--format", "tcsh"}).code, 2);
}

TEST(Env, uses_the_address_of_the_configuration) {
  const TemporaryFile file("version: 1\nproxy: { listen: '[::1]:8080' }\n");
  const auto ended = penstock({"env", "--config", file.path()}, {"JAVA_TOOL_OPTIONS="});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out,
            "export http_proxy='http://[::1]:8080'\nexport HTTP_PROXY='http://[::1]:8080'\n"
            "export https_proxy='http://[::1]:8080'\nexport HTTPS_PROXY='http://[::1]:8080'\n"
            "export no_proxy='::1'\nexport NO_PROXY='::1'\nexport NODE_USE_ENV_PROXY='1'\n"
            "export JAVA_TOOL_OPTIONS='-Dhttp.proxyHost=::1 -Dhttp.proxyPort=8080 -Dhttps.proxyHost=::1 "
            "-Dhttps.proxyPort=8080 -Dhttp.nonProxyHosts=[::1]'\n");
}

TEST(Env, finds_a_listener_on_all_addresses_on_loopback) {
  const auto ended = penstock({"env", "--config", PENSTOCK_CONFIG_DIR "/container.yaml"});
  EXPECT_THAT(ended.out, testing::HasSubstr("http_proxy='http://127.0.0.1:3128'\n"));
}

TEST(Env, cannot_know_a_port_that_is_yet_to_be_chosen) {
  const TemporaryFile file("version: 1\nproxy: { listen: 127.0.0.1:0 }\n");
  const auto ended = penstock({"env", "--config", file.path()});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.out, "");
  EXPECT_THAT(ended.err, testing::HasSubstr("port 0"));
}

TEST(Env, prints_nothing_to_evaluate_where_the_configuration_is_faulty) {
  const TemporaryFile file("version: 3\n");
  const auto ended = penstock({"env", "--config", file.path()});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.out, "");
}

}  // namespace
}  // namespace penstock::app
