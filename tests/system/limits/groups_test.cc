// SPDX-License-Identifier: Apache-2.0
// Groups by a header: what it says may be a credential, and nobody gets to see it.
#include <gmock/gmock.h>

#include <set>

#include "system/limited.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

TEST(HeaderValue, that_makes_a_group_is_forwarded_and_shown_to_nobody) {
  Limited stage("group: header:Authorization, limits: [ counter: { max: 1, period: 1m, per: group, mode: refuse } ]");
  const std::string secret = "Bearer c2VjcmV0LXRva2Vu", line = "Authorization: " + secret + "\r\n";
  EXPECT_EQ(stage.fetch("/", line).status, 200);
  const Reply refused = stage.fetch("/", line);
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(stage.fetch("/", "Authorization: another\r\n").status, 200);
  EXPECT_EQ(stage.origin.seen()[0].fields.find("authorization"), secret);

  const auto events = stage.daemon.await_events(5, [](const Json&) { return true; });
  ASSERT_EQ(events.size(), 5u);
  std::set<std::string> groups;
  for (const auto& event : events) {
    EXPECT_THAT(event.dump(), Not(HasSubstr("c2VjcmV0")));
    groups.insert(event.at("group"));
  }
  EXPECT_EQ(groups.size(), 2u) << "the same key, the same digits";
  for (const auto& group : groups) EXPECT_THAT(group, MatchesRegex("[0-9a-f]{12}"));
  EXPECT_THAT(refused.head + refused.body, Not(HasSubstr("c2VjcmV0")));
  for (const char* page : {"/status", "/metrics"}) {
    const std::string body = stage.daemon.admin(page).body;
    EXPECT_THAT(body, Not(HasSubstr("c2VjcmV0")));
    const bool in_detail = std::string_view(page) == "/status";  // which this machine may see
    for (const auto& group : groups) EXPECT_EQ(body.contains(group), in_detail) << page;
  }
  EXPECT_THAT(stage.daemon.diagnostics(), Not(HasSubstr("c2VjcmV0")));
}

}  // namespace
}  // namespace penstock::trial
