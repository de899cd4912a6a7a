// SPDX-License-Identifier: Apache-2.0
// Groups: a lane for each, limits of their own, and what they share with the others of their upstream. What a header
// says may be a credential: nobody gets to see it.
#include <gmock/gmock.h>

#include <set>

#include "system/limited.h"

namespace penstock::trial {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

TEST(Group, of_a_path_is_held_to_a_limit_of_its_own) {
  Limited stage("group: \"path:/api/v*/teams/{team}\", limits: [ pacer: { qps: 4, per: group } ]");
  for (int i = 0; i < 4; ++i) {
    stage.send(1, "/api/v1/teams/red/" + std::to_string(i));
    stage.send(1, "/api/v2/teams/blue/" + std::to_string(i));
    stage.send(1, "/something/else/" + std::to_string(i));
  }
  stage.expect_all_served();
  const auto every = [](int k) { return k * 250ms; };
  for (const char* path : {"/api/v1/teams/red", "/api/v2/teams/blue", "/something/else"})
    stage.expect_arrivals(4, every, path);
  std::multiset<std::string> groups;
  for (const auto& event : stage.daemon.await_events(12, "dispatch")) groups.insert(event.at("group"));
  EXPECT_EQ(groups.count("red"), 4u);
  EXPECT_EQ(groups.count("blue"), 4u);
  EXPECT_EQ(groups.count("-"), 4u) << "what the rule does not fit";
}

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
    for (const auto& group : groups) EXPECT_THAT(body, Not(HasSubstr(group))) << "no label has a group";
  }
  EXPECT_THAT(stage.daemon.diagnostics(), Not(HasSubstr("c2VjcmV0")));
}

}  // namespace
}  // namespace penstock::trial
