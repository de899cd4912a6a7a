// SPDX-License-Identifier: Apache-2.0
// Which entries there are, and what is said of others.
#include "cost/amount.h"

#include <gtest/gtest.h>

namespace penstock::cost {
namespace {

std::string complaint(std::string_view entry, Side side) {
  const auto added = Amount().add(entry, side);
  return added ? "" : added.error();
}

TEST(Amount, knows_its_entries) {
  for (const char* entry : {"json:a", "json:a.b.c", "json:[].a", "openai", "anthropic", "gemini"}) {
    EXPECT_EQ(complaint(entry, Side::request), "") << entry;
    EXPECT_EQ(complaint(entry, Side::response), "") << entry;
  }
  for (const char* entry : {"bytes/4", "bytes/0.25", "bytes/1000"})
    EXPECT_EQ(complaint(entry, Side::request), "") << entry;
}

TEST(Amount, says_what_is_wrong_with_others) {
  for (const char* entry : {"", "json", "tokens", "OpenAI", "bytes", "4"}) {
    EXPECT_EQ(complaint(entry, Side::request), "is not one of json:PATH, bytes/4, openai, anthropic, gemini") << entry;
    EXPECT_EQ(complaint(entry, Side::response), "is not one of json:PATH, openai, anthropic, gemini") << entry;
  }
  for (const char* entry : {"json:", "json:a..b", "json:.a", "json:a.b.c.d.e.f.g.h.i"})
    EXPECT_TRUE(complaint(entry, Side::request).starts_with("is not a path of 1 to 8 keys")) << entry;
  for (const char* entry :
       {"bytes/", "bytes/0", "bytes/-1", "bytes/x", "bytes/4x", "bytes/nan", "bytes/inf", "bytes/1e3"})
    EXPECT_TRUE(complaint(entry, Side::request).starts_with("is not bytes divided by")) << entry;
  EXPECT_EQ(complaint("bytes/4", Side::response), "is of requests, and stands under estimate");
}

TEST(Amount, has_16_paths_at_most) {
  Amount amount;
  EXPECT_TRUE(amount.empty());
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(amount.add("json:n" + std::to_string(i), Side::request));
  EXPECT_TRUE(amount.add("json:n3", Side::request)) << "the same path is no other one";
  EXPECT_FALSE(amount.add("json:n16", Side::request));
  EXPECT_FALSE(amount.empty());
}

TEST(Amount, all_presets_fit_together) {
  for (const Side side : {Side::request, Side::response}) {
    Amount amount;
    for (const char* preset : {"openai", "anthropic", "gemini"}) EXPECT_TRUE(amount.add(preset, side)) << preset;
  }
}

}  // namespace
}  // namespace penstock::cost
