// SPDX-License-Identifier: Apache-2.0
// What a request is expected to cost, and which actual costs may be counted.
#include "cost/estimate.h"

#include <limits>

#include "cost/scanning.h"

namespace penstock::cost {
namespace {

Estimate estimate(const std::string& body, const std::vector<std::string>& entries,
                  std::optional<std::uint64_t> size = {}, BodyShape shape = BodyShape::json) {
  Amount amount;
  for (const auto& entry : entries) EXPECT_TRUE(amount.add(entry, Side::request)) << entry;
  const auto read = [&](std::size_t each) {
    EstimateReader reader(amount, shape);
    in_pieces(body, each, [&](std::string_view piece) { reader.feed(piece); });
    return reader.estimate(size);
  };
  const auto whole = read(body.size() + 1);
  for (const std::size_t each : {1, 2, 3, 7}) EXPECT_EQ(read(each), whole) << body << " by " << each;
  return whole;
}

TEST(Estimate, is_what_the_first_entry_finds) {
  const std::vector<std::string> entries{"json:max_completion_tokens", "json:max_tokens", "bytes/4"};
  EXPECT_EQ(estimate(R"({"max_tokens":7,"max_completion_tokens":5})", entries), (Estimate{5, 0}));
  EXPECT_EQ(estimate(R"({"max_tokens":7})", entries), (Estimate{7, 1}));
  EXPECT_EQ(estimate(R"({"max_tokens":"7"})", entries), (Estimate{5, 2}));
}

TEST(Estimate, is_rounded_up_and_between_1_and_the_most) {
  EXPECT_EQ(estimate(R"({"n":1.01})", {"json:n"}).units, 2);
  EXPECT_EQ(estimate(R"({"n":0})", {"json:n"}), (Estimate{1, 0}));
  EXPECT_EQ(estimate(R"({"n":1e300})", {"json:n"}).units, kMostUnits);
  EXPECT_EQ(estimate("", {"json:n"}), (Estimate{1, std::nullopt}));
}

TEST(Estimate, takes_a_number_below_0_for_none) {
  EXPECT_EQ(estimate(R"({"max_tokens":-1})", {"json:max_tokens", "bytes/1"}), (Estimate{17, 1}));
}

TEST(Estimate, counts_bytes) {
  EXPECT_EQ(estimate("12345", {"bytes/4"}).units, 2);
  EXPECT_EQ(estimate("12345", {"bytes/4"}, 4000).units, 1000) << "of the whole body";
  EXPECT_EQ(estimate("12345", {"bytes/0.5"}).units, 10);
  EXPECT_EQ(estimate(R"({"max_tokens":7})", {"json:max_tokens", "bytes/4"}, {}, BodyShape::none), (Estimate{4, 1}));
}

TEST(Estimate, knows_what_vendors_call_it) {
  EXPECT_EQ(estimate(R"({"model":"m","max_completion_tokens":500})", {"openai"}, 400).units, 600);
  EXPECT_EQ(estimate(R"({"model":"m","max_output_tokens":500})", {"openai"}, 400).units, 600);
  EXPECT_EQ(estimate(R"({"model":"m","max_tokens":400,"max_completion_tokens":500})", {"openai"}, 400).units, 600);
  EXPECT_EQ(estimate(R"({"model":"m"})", {"openai"}, 400).units, 100);
  EXPECT_EQ(estimate(R"({"model":"m","max_tokens":1024})", {"anthropic"}, 40).units, 1034);
  EXPECT_EQ(estimate(R"({"generationConfig":{"maxOutputTokens":800}})", {"gemini"}, 40).units, 810);
  EXPECT_EQ(estimate(R"({"generation_config":{"max_output_tokens":800}})", {"gemini"}, 40).units, 810);
}

TEST(Estimate, finds_the_text_of_a_group_beside_it) {
  Amount amount;
  ASSERT_TRUE(amount.add("openai", Side::request));
  ASSERT_TRUE(amount.keep_text("model"));
  EXPECT_FALSE(amount.keep_text("other"));
  EstimateReader reader(amount, BodyShape::json);
  reader.feed(R"({"model":"a","max_tokens":8,"mod)");
  reader.feed(R"(el":"b"}  )");
  EXPECT_EQ(reader.text(), "b");
  EXPECT_EQ(reader.estimate(8).units, 10);
}

TEST(PlausibleCost, is_from_0_to_the_most) {
  EXPECT_EQ(plausible_cost(0, 100), 0);
  EXPECT_EQ(plausible_cost(0.5, 100), 1);
  EXPECT_EQ(plausible_cost(100, 100), 100);
  for (const double units : {-1.0, -0.001, 100.001, 1e300, std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(plausible_cost(units, 100), std::nullopt) << units;
}

}  // namespace
}  // namespace penstock::cost
