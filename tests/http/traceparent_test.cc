// SPDX-License-Identifier: Apache-2.0
// Which values of `traceparent` name a trace.
#include "http/traceparent.h"

#include <gtest/gtest.h>

#include <string>

namespace penstock::http {
namespace {

std::string trace_of(std::string_view value, int lines = 1) {
  Fields fields;
  fields.add("Host", "a.test");
  for (int i = 0; i < lines; ++i) fields.add("TraceParent", value);
  return std::string(trace_id_of(fields));
}

const std::string kTrace = "0af7651916cd43dd8448eb211c80319c", kRest = "-b7ad6b7169203331-01";

TEST(TraceId, is_that_of_a_valid_traceparent) {
  EXPECT_EQ(trace_of("00-" + kTrace + kRest), kTrace);
  EXPECT_EQ(trace_of("00-" + kTrace + "-b7ad6b7169203331-00"), kTrace) << "not sampled";
}

TEST(TraceId, is_found_in_versions_to_come) {
  EXPECT_EQ(trace_of("01-" + kTrace + kRest), kTrace);
  EXPECT_EQ(trace_of("cc-" + kTrace + kRest + "-what-will-come"), kTrace);
  EXPECT_EQ(trace_of("cc-" + kTrace + kRest + "."), "");
}

TEST(TraceId, is_that_of_nothing_else) {
  for (const std::string& value :
       {std::string(), std::string("00"), "00-" + kTrace, "ff-" + kTrace + kRest, "0-" + kTrace + kRest,
        "00-" + kTrace + kRest + "-x", "00-" + kTrace + kRest + "0", "00-" + std::string(32, '0') + kRest,
        "00-" + kTrace + "-0000000000000000-01", "00-0AF7651916CD43DD8448EB211C80319C" + kRest, "0g-" + kTrace + kRest,
        "00-" + kTrace + "-b7ad6b716920333g-01", "00-" + kTrace + "-b7ad6b7169203331-0x", "00_" + kTrace + kRest,
        "00-" + kTrace + "_b7ad6b7169203331-01", "00-" + kTrace + "-b7ad6b7169203331_01"}) {
    EXPECT_EQ(trace_of(value), "") << value;
  }
}

TEST(TraceId, is_none_where_there_are_several) { EXPECT_EQ(trace_of("00-" + kTrace + kRest, 2), ""); }

TEST(TraceId, is_none_without_the_field) { EXPECT_EQ(trace_id_of(Fields{}), ""); }

}  // namespace
}  // namespace penstock::http
