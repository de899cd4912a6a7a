// SPDX-License-Identifier: Apache-2.0
// What asks for a permit, and what does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "http/permits.h"

namespace penstock::http {
namespace {

std::expected<Target, Refusal> permit_for(const std::string& resource, const std::string& method = "GET") {
  return permit_target({.method = method, .target = resource}, gateway_form(resource).value());
}

TEST(PermitTarget, is_a_name_and_dials_nothing) {
  const auto permit = permit_for("/@db");
  ASSERT_TRUE(permit);
  EXPECT_EQ(permit->permit, Target::Permit::held);
  EXPECT_EQ(permit->resource, "/@db");
  EXPECT_EQ(permit->host, "");
  EXPECT_EQ(permit->scheme, "");
  EXPECT_EQ(permit->port, 0);
  EXPECT_FALSE(has_front(*permit));
}

TEST(PermitTarget, is_for_a_moment_where_nothing_is_to_be_held) {
  EXPECT_EQ(permit_for("/@db?hold=no").value().permit, Target::Permit::momentary);
  EXPECT_EQ(permit_for("/@db?hold=no").value().path(), "/@db");
}

TEST(PermitTarget, is_spelled_in_one_way) {
  EXPECT_EQ(permit_for("/%40db").value().resource, "/@db");
  for (const std::string resource : {"/@db/", "/@db/x", "/@db?", "/@db?hold", "/@db?hold=yes", "/@db?hold=no&x",
                                     "/@db?weight=2", "/@db#x", "/@db?hold=no#x"}) {
    const auto permit = permit_for(resource);
    ASSERT_FALSE(permit) << resource;
    EXPECT_EQ(permit.error().why, Reason::malformed) << resource;
    EXPECT_EQ(permit.error().details, "a permit has neither a path nor a query, but for ?hold=no") << resource;
  }
}

TEST(PermitTarget, is_asked_for_by_get) {
  for (const std::string method : {"HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "get"}) {
    const auto permit = permit_for("/@db", method);
    ASSERT_FALSE(permit) << method;
    EXPECT_EQ(permit.error().status_code(), 405) << method;
    EXPECT_EQ(permit.error().allow, "GET") << method;
  }
}

TEST(PermitTarget, may_be_all_that_is_wanted) {
  Fields fields;
  fields.add("Penstock-Weight", "2");
  EXPECT_FALSE(wants_permit(fields));
  fields.add("penstock-permit", "hold");
  EXPECT_TRUE(wants_permit(fields));
}

TEST(PermitTarget, has_no_body) {
  RequestHead head{.method = "GET", .target = "/@db", .content_length = 0, .body = BodyKind::length};
  EXPECT_TRUE(permit_target(head, {.name = "db", .rest = ""})) << "Content-Length: 0 is none";
  head.content_length = 1;
  EXPECT_EQ(permit_target(head, {.name = "db", .rest = ""}).error().why, Reason::malformed);
  head.body = BodyKind::chunked;
  EXPECT_EQ(permit_target(head, {.name = "db", .rest = ""}).error().why, Reason::malformed);
}

}  // namespace
}  // namespace penstock::http
