// SPDX-License-Identifier: Apache-2.0
// `penstock check`.
#include <gtest/gtest.h>

#include "app/program.h"

namespace penstock::app {
namespace {

TEST(Check, is_content_with_the_files_that_come_with_penstock) {
  for (const auto* name : {"minimal.yaml", "reference.yaml", "container.yaml", "vendors.yaml"}) {
    const std::string path = std::string(PENSTOCK_CONFIG_DIR "/") + name;
    const auto ended = penstock({"check", path});
    EXPECT_EQ(ended.code, 0) << name;
    EXPECT_EQ(ended.out, path + ": ok\n");
    EXPECT_EQ(ended.err, "");
  }
}

TEST(Check, says_everything_at_once_with_its_place) {
  const TemporaryFile file(
      "version: 1\nupstreams:\n  github:\n    match: api.github.com\n    maxConcurent: 20\nproxi: {}\n");
  const auto ended = penstock({"check", file.path()});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err, file.path() +
                           ":5:5: unknown key 'maxConcurent' in upstreams.github; did you mean 'maxConcurrent'?\n" +
                           file.path() + ":6:1: unknown key 'proxi'; did you mean 'proxy'?\n");
}

TEST(Check, says_that_a_file_cannot_be_read) {
  const auto ended = penstock({"check", "/nowhere.yaml"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.err, "/nowhere.yaml: cannot be read: No such file or directory\n");
}

TEST(Check, fills_in_variables_as_run_would) {
  const TemporaryFile file("version: 1\nproxy: { listen: '${PENSTOCK_TEST_LISTEN}' }\n");
  EXPECT_EQ(penstock({"check", file.path()}, {"PENSTOCK_TEST_LISTEN=127.0.0.1:1"}).code, 0);
  EXPECT_EQ(penstock({"check", file.path()}).code, 1);
}

TEST(Check, warns_of_rules_that_https_passes_by) {
  const TemporaryFile file(
      "version: 1\nupstreams:\n  search: { match: [a.example/search, a.example:80/x, b.example] }\n"
      "  teams: { match: c.example, group: \"header:X-Team\" }\n  hosts: { match: \"*.d.example\", group: host }\n");
  const auto ended = penstock({"check", file.path()});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out, file.path() + ": ok\n");
  EXPECT_EQ(ended.err, file.path() +
                           ": warning: upstreams.search: https:// goes through tunnels, which show no path: "
                           "a.example/search is for http:// only; see https: originate and baseUrl\n" +
                           file.path() +
                           ": warning: upstreams.teams: https:// goes through tunnels, which show neither path nor "
                           "fields: they are all in group '-' of header:X-Team; see https: originate and baseUrl\n");
}

TEST(Check, does_not_warn_of_tunnels_where_https_is_originated_or_comes_by_the_gateway) {
  const TemporaryFile file(
      "version: 1\nupstreams:\n  search: { match: [a.example/search], group: \"header:X\", https: originate }\n"
      "  models: { baseUrl: \"https://b.example\", match: [], group: \"header:X\" }\n"
      "  \"*\": { group: \"header:X\", https: originate }\n");
  const auto ended = penstock({"check", file.path()});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.err, "");
}

TEST(Check, warns_of_a_pattern_that_no_originated_request_fits) {
  const TemporaryFile file("version: 1\nupstreams:\n  a: { match: [\"a.example:443\"], https: originate }\n");
  EXPECT_EQ(penstock({"check", file.path()}).err,
            file.path() +
                ": warning: upstreams.a: a.example:443 does not fit http://a.example, whose port becomes 443 "
                "only behind it; write a.example\n");
}

TEST(Check, warns_of_plain_ports_where_no_connect_may_go) {
  const TemporaryFile file("version: 1\naccess: { plainPorts: [80, 8080] }\n");
  EXPECT_EQ(penstock({"check", file.path()}).err,
            file.path() + ": warning: access.plainPorts: 8080 does nothing, as it is not in connectPorts\n");
  const TemporaryFile by_default("version: 1\naccess: { connectPorts: [443] }\n");
  EXPECT_EQ(penstock({"check", by_default.path()}).err, "");
}

}  // namespace
}  // namespace penstock::app
