// SPDX-License-Identifier: Apache-2.0
// Which paths a pattern fits, and which patterns another covers.
#include "base/path_pattern.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace penstock::base {
namespace {

std::string parts(std::string_view pattern, std::string_view path) {
  std::string all;
  const bool fits = PathPattern(pattern).visit(path, [&](std::string_view part) { all.append(part).append(";"); });
  return fits ? all : "no";
}

TEST(PathPattern, fits_whole_segments_and_what_follows) {
  const PathPattern search("/search");
  for (const char* path : {"/search", "/search/", "/search/code", "/search//x"}) EXPECT_TRUE(search.fits(path)) << path;
  for (const char* path : {"", "/", "search", "/searching", "/Search", "//search", "/x/search"})
    EXPECT_FALSE(search.fits(path)) << path;
}

TEST(PathPattern, that_is_empty_fits_every_path) {
  for (const char* path : {"", "/", "/x", "*"}) EXPECT_TRUE(PathPattern().fits(path)) << path;
}

TEST(PathPattern, has_open_parts_of_a_character_at_least) {
  EXPECT_EQ(parts("/v*/{a}/x{b}y", "/v1/left/xrighty/more"), "left;right;");
  EXPECT_EQ(parts("/v*/{a}", "/v/left"), "no");
  EXPECT_EQ(parts("/x{b}y", "/xy"), "no");
  EXPECT_EQ(parts("/*", "/anything"), "");
  EXPECT_EQ(PathPattern("/v*/{a}/x{b}y").named(), 2U);
}

TEST(PathPattern, covers_what_fits_fewer_paths) {
  const auto covers = [](std::string_view one, std::string_view other) {
    return PathPattern(one).covers(PathPattern(other));
  };
  using Pairs = std::vector<std::pair<const char*, const char*>>;
  for (const auto& [one, other] : Pairs{{"", "/a"},
                                        {"/a", "/a"},
                                        {"/a", "/a/b"},
                                        {"/*", "/a"},
                                        {"/{x}", "/*"},
                                        {"/a*", "/ab*"},
                                        {"/*z", "/a{x}yz"},
                                        {"/a*/b", "/ax/b/c"}}) {
    EXPECT_TRUE(covers(one, other)) << one << " " << other;
  }
  for (const auto& [one, other] : Pairs{{"/a", ""},
                                        {"/a/b", "/a"},
                                        {"/a", "/*"},
                                        {"/ab*", "/a*"},
                                        {"/a*a", "/aa"},
                                        {"/a*", "/a"},
                                        {"/*yz", "/a{x}z"}}) {
    EXPECT_FALSE(covers(one, other)) << one << " " << other;
  }
}

}  // namespace
}  // namespace penstock::base
