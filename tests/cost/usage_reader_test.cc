// SPDX-License-Identifier: Apache-2.0
// Usage in the shapes that OpenAI, Anthropic and Gemini document, as bodies and as streams, cut in five ways.
#include "cost/usage_reader.h"

#include "cost/scanning.h"

namespace penstock::cost {
namespace {

std::optional<double> cost_in(const std::string& body, BodyShape shape, const std::vector<std::string>& entries) {
  Amount amount;
  for (const auto& entry : entries) EXPECT_TRUE(amount.add(entry, Side::response)) << entry;
  const auto read = [&](std::size_t size) {
    UsageReader reader(amount, shape);
    in_pieces(body, size, [&](std::string_view piece) { reader.feed(piece); });
    return reader.found();
  };
  const auto whole = read(body.size() + 1);
  for (const std::size_t size : {1, 2, 3, 7}) EXPECT_EQ(read(size), whole) << body << " by " << size;
  return whole ? std::optional(whole->units) : std::nullopt;
}
std::optional<double> cost_of(const std::string& body, const std::string& entry) {
  return cost_in(body, BodyShape::json, {entry});
}
std::optional<double> cost_of_stream(const std::string& body, const std::string& entry) {
  return cost_in(body, BodyShape::events, {entry});
}

TEST(UsageReader, reads_a_chat_completion) {
  EXPECT_EQ(cost_of(R"({"id":"chatcmpl-1","object":"chat.completion","model":"m","choices":[{"index":0,"message":
    {"role":"assistant","content":"\"usage\":{\"total_tokens\":9999}"},"finish_reason":"stop"}],"usage":{"prompt_tokens":19,
    "completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":0}}})",
                    "openai"),
            29);
}

TEST(UsageReader, reads_a_stream_of_chat_completions) {
  const std::string stream =
      "data: {\"id\":\"c\",\"choices\":[{\"delta\":{\"content\":\"Hello\"}}],\"usage\":null}\n\n"
      "data: "
      "{\"id\":\"c\",\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":12,\"total_tokens\":21}}\n\n"
      "data: [DONE]\n\n";
  EXPECT_EQ(cost_of_stream(stream, "openai"), 21);
  EXPECT_EQ(cost_of_stream(stream.substr(0, stream.find("\n\n") + 2) + "data: [DONE]\n\n", "openai"), std::nullopt)
      << "without include_usage";
}

TEST(UsageReader, reads_the_responses_api) {
  EXPECT_EQ(cost_of(R"({"id":"resp_1","object":"response","output":[],"usage":{"input_tokens":36,
    "input_tokens_details":{"cached_tokens":0},"output_tokens":87,"total_tokens":123}})",
                    "openai"),
            123);
  EXPECT_EQ(
      cost_of_stream("event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"usage\":null}}\n\n"
                     "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"usage\":"
                     "{\"input_tokens\":37,\"output_tokens\":11,\"total_tokens\":48}}}\n\n",
                     "openai"),
      48);
}

TEST(UsageReader, reads_messages) {
  EXPECT_EQ(
      cost_of(R"({"id":"msg_1","type":"message","content":[{"type":"text","text":"Hi"}],"usage":{"input_tokens":2095,
    "cache_creation_input_tokens":100,"cache_read_input_tokens":5000,"output_tokens":503}})",
              "anthropic"),
      2698);
}

const std::string kMessages =
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"content\":[],\"usage\":"
    "{\"input_tokens\":25,\"output_tokens\":1}}}\n\n"
    "event: ping\ndata: {\"type\": \"ping\"}\n\n"
    "event: content_block_delta\ndata: "
    "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"text\":\"Hello\"}}\n\n"
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{},\"usage\":{\"output_tokens\":15}}\n\n"
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

TEST(UsageReader, reads_a_stream_of_messages) {
  EXPECT_EQ(cost_of_stream(kMessages, "anthropic"), 40) << "both count from the beginning";
  const auto delta = kMessages.find("event: message_delta");
  EXPECT_EQ(cost_of_stream(kMessages.substr(0, delta), "anthropic"), 26) << "what was counted so far";
}

TEST(UsageReader, reads_generated_content) {
  const std::string part = R"({"candidates":[{}],"usageMetadata":{"promptTokenCount":4,"totalTokenCount":)";
  EXPECT_EQ(cost_of(part + "17}}", "gemini"), 17);
  EXPECT_EQ(cost_of("[" + part + "5}}\n,\n" + part + "17}}]", "gemini"), 17);
  EXPECT_EQ(cost_of_stream("data: " + part + "5}}\r\n\r\ndata: " + part + "17}}\r\n\r\n", "gemini"), 17);
}

TEST(UsageReader, takes_the_first_entry_that_finds_something) {
  const std::string body = R"({"meta":{"cost":3.25},"usage":{"total_tokens":8}})";
  EXPECT_EQ(cost_in(body, BodyShape::json, {"json:cost", "json:meta.cost", "openai"}), 3.25);
  EXPECT_EQ(cost_in(body, BodyShape::json, {"json:cost", "anthropic", "openai"}), 8);
  EXPECT_EQ(cost_in(body, BodyShape::none, {"openai"}), std::nullopt);
  EXPECT_EQ(cost_in("", BodyShape::json, {"openai"}), std::nullopt);
}

TEST(UsageReader, tells_a_number_below_0) { EXPECT_EQ(cost_of(R"({"n":-4})", "json:n"), -4); }

TEST(BodyShape, is_what_the_type_says) {
  for (const char* type :
       {"application/json", "Application/JSON; charset=utf-8", "application/problem+json", "application/json ;x"})
    EXPECT_EQ(body_shape(type), BodyShape::json) << type;
  for (const char* type : {"text/event-stream", "TEXT/event-stream;charset=utf-8"})
    EXPECT_EQ(body_shape(type), BodyShape::events) << type;
  for (const char* type : {"", "text/plain", "application/jsonl", "+json", "application/x-ndjson"})
    EXPECT_EQ(body_shape(type), BodyShape::none) << type;
}

}  // namespace
}  // namespace penstock::cost
