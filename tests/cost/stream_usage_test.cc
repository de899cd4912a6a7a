// SPDX-License-Identifier: Apache-2.0
// Which bodies are to ask for the usage of their stream, and where.
#include "cost/stream_usage.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::cost {
namespace {

std::string with_options(std::string body) {
  const auto place = place_of_stream_options(body);
  if (place) body.insert(*place, kStreamOptions);
  return body;
}

TEST(StreamUsage, is_asked_for_where_a_body_asks_for_a_stream) {
  EXPECT_EQ(with_options(R"({"stream":true})"), R"({"stream_options":{"include_usage":true},"stream":true})");
  EXPECT_EQ(with_options(" \n{ \"a\":{\"stream\":false}, \"stream\" : true } "),
            " \n{\"stream_options\":{\"include_usage\":true}, \"a\":{\"stream\":false}, \"stream\" : true } ");
}

TEST(StreamUsage, is_not_asked_for_elsewhere) {
  for (const std::string body : {R"({"stream":false})", R"({"a":{"stream":true}})", R"({})", R"([true])", "true",
                                 R"({"stream":true,"stream_options":{"include_usage":false}})",
                                 R"({"messages":["stream_options"],"stream":true})", R"({"stream":true)",
                                 R"({"stream":true}})", R"({"stream":1})", ""}) {
    EXPECT_EQ(with_options(body), body);
  }
}

}  // namespace
}  // namespace penstock::cost
