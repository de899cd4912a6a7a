// SPDX-License-Identifier: Apache-2.0
// Which error a body names: words of vendors, and bodies that say nothing.
#include "http/error_codes.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock::http {
namespace {

const std::vector<std::string> kCodes{"insufficient_quota", "billing_hard_limit_reached"};

bool names(std::string_view body, const char* type = "application/json", const char* coding = nullptr) {
  Fields fields;
  if (type) fields.add("Content-Type", type);
  if (coding) fields.add("Content-Encoding", coding);
  return names_error(fields, body, kCodes);
}

TEST(ErrorCodes, are_found_as_code_and_as_type_at_any_depth) {
  EXPECT_TRUE(names(R"({"error":{"message":"m","type":"insufficient_quota","code":null}})"));
  EXPECT_TRUE(names(R"({"error":{"type":"x","code":"billing_hard_limit_reached"}})"));
  EXPECT_TRUE(names(R"([{"error_code":"insufficient_quota"}])", "Application/JSON; charset=utf-8"));
}

TEST(ErrorCodes, are_no_other_words) {
  EXPECT_FALSE(names(R"({"error":{"message":"insufficient_quota","code":"rate_limit_exceeded"}})"));
  EXPECT_FALSE(names(R"({"code":{"why":"insufficient_quota"}})"));
  EXPECT_FALSE(names(R"({"code":["insufficient_quota"]})"));
  EXPECT_FALSE(names(R"("insufficient_quota")"));
}

TEST(ErrorCodes, are_read_in_plain_json_alone) {
  const char* body = R"({"code":"insufficient_quota"})";
  EXPECT_TRUE(names(body));
  EXPECT_FALSE(names(body, "text/plain"));
  EXPECT_FALSE(names(body, nullptr));
  EXPECT_FALSE(names(body, "application/json", "gzip"));
  EXPECT_FALSE(names("{\"code"));
  EXPECT_FALSE(names(""));
}

TEST(ErrorCodes, of_a_deep_body_cost_no_stack) {
  const std::string deep(60'000, '[');
  EXPECT_FALSE(names(deep));
  EXPECT_TRUE(names(deep + R"({"code":"insufficient_quota"})"));
}

}  // namespace
}  // namespace penstock::http
