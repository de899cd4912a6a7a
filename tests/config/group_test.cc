// SPDX-License-Identifier: Apache-2.0
// What `group` takes, and why not.
#include <gtest/gtest.h>

#include "penstock/config.h"

namespace penstock {
namespace {

std::string group_refusal(std::string_view text) {
  const auto rule = parse_group(text);
  return rule ? "taken as " + to_string(*rule) : rule.error();
}

TEST(Group, is_a_path_a_header_or_the_host) {
  EXPECT_EQ(parse_group("host").value(), (GroupRule{GroupRule::By::host, ""}));
  EXPECT_EQ(parse_group("header:X-Tenant").value(), (GroupRule{GroupRule::By::header, "X-Tenant"}));
  EXPECT_EQ(parse_group("path:/api/v*/guilds/{guild}").value(),
            (GroupRule{GroupRule::By::path, "/api/v*/guilds/{guild}"}));
  EXPECT_EQ(group_refusal("guild"), "it must be path:/a/{name}, header:NAME, json:PATH or host");
  EXPECT_EQ(group_refusal(""), "it must be path:/a/{name}, header:NAME, json:PATH or host");
}

TEST(Group, is_written_as_it_is_read) {
  for (const char* text : {"host", "header:X-Tenant", "path:/{a}/x{b}y/*"})
    EXPECT_EQ(to_string(*parse_group(text)), text);
  EXPECT_EQ(to_string(*parse_group("path:/{a}/")), "path:/{a}");
}

TEST(Group, of_a_path_has_a_part_in_braces) {
  EXPECT_EQ(group_refusal("path:/api/*"), "no part is braced; mark what makes the group, as in /guilds/{guild}");
  EXPECT_EQ(group_refusal("path:/api/{a}/{a}"), "two parts are named {a}");
  EXPECT_EQ(group_refusal("path:/api/{}"), "'{}': a name in braces has letters, digits and _ only");
  EXPECT_EQ(group_refusal("path:/api/{a b}"), "'{a b}': a name in braces has letters, digits and _ only");
  EXPECT_EQ(group_refusal("path:/api/{a"), "'{a' has a { that is not closed");
  EXPECT_EQ(group_refusal("path:/api/a}/{b}"), "'a}' is not a segment of a path");
}

TEST(Group, of_a_path_has_one_open_part_in_a_segment) {
  EXPECT_EQ(group_refusal("path:/{a}-{b}"), "'{a}-{b}' has more than one * or {name}");
  EXPECT_EQ(group_refusal("path:/*{b}"), "'*{b}' has more than one * or {name}");
  EXPECT_EQ(group_refusal("path:/**/{b}"), "'**' has more than one * or {name}");
}

TEST(Group, of_a_path_is_a_path) {
  EXPECT_EQ(group_refusal("path:api/{a}"), "a path begins with /");
  EXPECT_EQ(group_refusal("path:"), "a path begins with /");
  EXPECT_EQ(group_refusal("path:/"), "the pattern has an empty segment");
  EXPECT_EQ(group_refusal("path:/api//{a}"), "the pattern has an empty segment");
  EXPECT_EQ(group_refusal("path:/a?b/{a}"), "'a?b' is not a segment of a path");
  EXPECT_EQ(group_refusal("path:/{a}#x"), "'{a}#x' is not a segment of a path");
}

TEST(Group, of_a_header_has_its_name) {
  EXPECT_EQ(group_refusal("header:"), "'' is not a header's name");
  EXPECT_EQ(group_refusal("header:X Tenant"), "'X Tenant' is not a header's name");
}

}  // namespace
}  // namespace penstock
