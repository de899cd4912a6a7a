// SPDX-License-Identifier: Apache-2.0
// What /ahead is asked, and the line that it answers with.
#include "observe/ahead_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace penstock::observe {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(AheadQuery, takes_what_is_there) {
  const auto query = ahead_query(
      "/ahead?url=http%3A%2F%2Fa.example%2Fx%3Fy%3D1&method=POST&weight=5&cost=900&header=X-Tenant%3A%20a&header=B:c");
  ASSERT_TRUE(query) << query.error();
  EXPECT_EQ(query->url, "http://a.example/x?y=1");
  EXPECT_EQ(query->method, "POST");
  EXPECT_EQ(query->weight, 5);
  EXPECT_EQ(query->cost, 900);
  EXPECT_EQ(query->fields, (std::vector<Field>{{"X-Tenant", "a"}, {"B", "c"}}));
}

TEST(AheadQuery, is_a_get_of_weight_one_unless_it_says_otherwise) {
  const auto query = ahead_query("/ahead?url=/@db");
  ASSERT_TRUE(query) << query.error();
  EXPECT_EQ(query->url, "/@db");
  EXPECT_EQ(query->method, "GET");
  EXPECT_EQ(query->weight, 1);
  EXPECT_EQ(query->cost, 1);
}

TEST(AheadQuery, says_what_is_wrong) {
  EXPECT_THAT(ahead_query("/ahead").error(), HasSubstr("url is missing"));
  EXPECT_THAT(ahead_query("/ahead?url=").error(), HasSubstr("url is missing"));
  for (const auto* weight : {"", "0", "-1", "1.5", "5x", "1000001", "99999999999"}) {
    const auto query = ahead_query(std::string("/ahead?url=http://a/&weight=") + weight);
    ASSERT_FALSE(query) << weight;
    EXPECT_EQ(query.error(), "weight is not one whole number from 1 to 1000000");
  }
  for (const auto* cost : {"", "0", "-5", "1000000001"}) {
    const auto query = ahead_query(std::string("/ahead?url=http://a/&cost=") + cost);
    ASSERT_FALSE(query) << cost;
    EXPECT_EQ(query.error(), "cost is not one whole number from 1 to 1000000000");
  }
  EXPECT_EQ(ahead_query("/ahead?url=http://a/&header=x").error(), "a header is not NAME:VALUE");
  EXPECT_EQ(ahead_query("/ahead?url=http://a/&url=http://b/").error(), "url stands twice");
  EXPECT_EQ(ahead_query("/ahead?url=http://a/?x=1&y=2").error(),
            "'y' is not known: there are url, method, weight, cost and header, and in a url & is %26");
  EXPECT_THAT(ahead_query("/ahead?url=http://a/&wieght=2").error(), HasSubstr("'wieght' is not known"));
}

TEST(AheadJson, has_each_field) {
  EXPECT_EQ(ahead_json({.upstream = "github",
                        .route = "/search",
                        .wait = 1'840'230us,
                        .limited_by = "pacer",
                        .refused = {},
                        .pending = 10}),
            R"({"upstream":"github","route":"/search","waitMs":1840.2,"limitedBy":"pacer","pending":10})"
            "\n");
}

TEST(AheadJson, says_that_a_permit_is_asked_for) {
  EXPECT_EQ(ahead_json({.upstream = "db", .permit = true, .wait = 0us, .refused = {}}),
            R"({"upstream":"db","route":null,"permit":true,"waitMs":0.0,"limitedBy":null,"pending":0})"
            "\n");
}

TEST(AheadJson, has_null_for_what_is_not_known_or_not_there) {
  EXPECT_EQ(ahead_json({.upstream = "a.example:80"}),
            R"({"upstream":"a.example:80","route":null,"waitMs":null,"limitedBy":null,"pending":0})"
            "\n");
  EXPECT_EQ(
      ahead_json({.upstream = "a", .wait = 0us, .refused = "a queue full, retry in 3s"}),
      R"({"upstream":"a","route":null,"waitMs":0.0,"limitedBy":null,"pending":0,"refused":"a queue full, retry in 3s"})"
      "\n");
}

}  // namespace
}  // namespace penstock::observe
