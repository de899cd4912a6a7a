// SPDX-License-Identifier: Apache-2.0
// The command line itself: help, version, and what makes no sense.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "app/program.h"

namespace penstock::app {
namespace {

using testing::HasSubstr;

TEST(CommandLine, tells_its_version_and_its_commit) {
  const auto ended = penstock({"--version"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, testing::MatchesRegex("penstock " PENSTOCK_VERSION " \\(commit [0-9a-z]+\\)\n"));
}

TEST(CommandLine, lists_every_command_in_its_help) {
  const auto ended = penstock({"--help"});
  EXPECT_EQ(ended.code, 0);
  for (const auto* command : {"run", "check", "explain", "env", "exec", "permit", "healthcheck", "ca", "doctor",
                              "presets", "init", "schema", "reload", "resume", "ahead", "top", "simulate", "help"}) {
    EXPECT_THAT(ended.out, HasSubstr(std::string("\n  ") + command + " "));
    EXPECT_EQ(penstock({command, "--help"}).code, 0) << command;
  }
}

TEST(CommandLine, has_a_command_for_the_help_of_others) {
  EXPECT_EQ(penstock({"help"}).out, penstock({"--help"}).out);
  EXPECT_EQ(penstock({"help", "run"}).out, penstock({"run", "--help"}).out);
  EXPECT_THAT(penstock({"help", "ca", "init"}).out, HasSubstr("Usage: penstock ca init [OPTIONS]\n"));
  const auto unknown = penstock({"help", "rnu"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_EQ(unknown.err, "penstock: unknown command 'rnu'; see penstock help\n");
}

TEST(CommandLine, asks_which_option_was_meant) {
  const auto ended = penstock({"run", "--confg=x"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err, "penstock: run does not take '--confg=x'; did you mean '--config'?\n");
  EXPECT_EQ(penstock({"check", "a", "b"}).err, "penstock: check does not take 'b'; see penstock help check\n");
}

TEST(CommandLine, prints_the_schema_that_editors_read) {
  std::ifstream file(PENSTOCK_CONFIG_DIR "/penstock.schema.json");
  EXPECT_EQ(penstock({"schema"}).out, std::string(std::istreambuf_iterator<char>(file), {}));
}

TEST(CommandLine, lists_and_shows_presets) {
  EXPECT_THAT(penstock({"presets"}).out, testing::ContainsRegex("\nopenai +OpenAI .limits not verified.\n"));
  const auto shown = penstock({"presets", "notion"}).out;
  EXPECT_THAT(shown, HasSubstr("notion: Notion\n  baseUrl: \"https://api.notion.com\"\n"));
  EXPECT_THAT(shown,
              HasSubstr("  any: rate: 3/s\n    \"The rate limit for incoming requests per integration is an average "
                        "of three requests per second.\"\n    https://developers.notion.com/"));
  EXPECT_THAT(penstock({"presets", "openai"}).out, HasSubstr("limits not verified"));
  const auto unknown = penstock({"presets", "opnai"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_EQ(unknown.err, "penstock: there is no preset 'opnai'; did you mean 'openai'?\n");
}

TEST(CommandLine, writes_a_file_with_presets_that_is_sound) {
  const auto all = penstock({"presets"}).out;
  Texts words{"init"};
  for (std::size_t at = 0; at < all.size(); at = all.find('\n', at) + 1)
    words.push_back(all.substr(at, all.find(' ', at) - at));
  ASSERT_GE(words.size(), 20u);
  const TemporaryFile file(penstock(words).out);
  const auto checked = penstock({"check", file.path()});
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_EQ(checked.err, "");
  EXPECT_EQ(penstock({"init"}).code, 2);
  EXPECT_EQ(penstock({"init", "githb"}).code, 1);
}

TEST(CommandLine, without_a_command_shows_its_help) {
  const auto ended = penstock({});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("healthcheck"));
}

TEST(CommandLine, asks_which_command_was_meant) {
  const auto ended = penstock({"chekc", "x.yaml"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.err, "penstock: unknown command 'chekc'; did you mean 'check'?\n");
}

TEST(CommandLine, refuses_what_makes_no_sense_with_2) {
  EXPECT_EQ(penstock({"florble"}).code, 2);
  EXPECT_EQ(penstock({"check"}).code, 2);
  EXPECT_EQ(penstock({"check", "a", "b"}).code, 2);
  EXPECT_EQ(penstock({"run", "--confg", "x"}).code, 2);
  EXPECT_EQ(penstock({"explain"}).code, 2);
  EXPECT_EQ(penstock({"exec"}).code, 2);
  EXPECT_EQ(penstock({"exec", "--"}).code, 2);
  EXPECT_EQ(penstock({"exec", "--confg", "x", "true"}).code, 2);
  EXPECT_EQ(penstock({"exec", "--config", "--", "true"}).code, 2);
}

}  // namespace
}  // namespace penstock::app
