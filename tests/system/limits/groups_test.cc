// SPDX-License-Identifier: Apache-2.0
// Groups: a lane for each, limits of their own, and what they share with the others of their upstream. What a header
// says may be a credential: nobody gets to see it.
#include <gmock/gmock.h>

#include <map>
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

TEST(HeaderValue, that_makes_a_group_cannot_be_guessed_from_what_another_process_shows) {
  const auto shown = [] {
    Limited stage("group: header:Authorization");
    EXPECT_EQ(stage.fetch("/", "Authorization: the same\r\n").status, 200);
    EXPECT_EQ(stage.fetch("/", "Authorization: the same\r\n").status, 200);
    const auto events = stage.daemon.await_events(2, "dispatch");
    EXPECT_EQ(events.at(0).at("group"), events.at(1).at("group"));
    return events.at(0).at("group").get<std::string>();
  };
  EXPECT_NE(shown(), shown());
}

TEST(BusyGroup, does_not_starve_a_quiet_one_of_what_they_share) {
  Limited stage("group: \"path:/{team}\", rate: 10/s");
  for (int i = 0; i < 15; ++i) stage.send(1, "/busy");
  stage.send(3, "/quiet");
  stage.expect_all_served();
  stage.expect_arrivals(18, [](int k) { return k * 100ms; });
  std::vector<std::ptrdiff_t> quiet;
  const auto order = stage.daemon.await_events(18, "dispatch");
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i].at("group") == "quiet") quiet.push_back(static_cast<std::ptrdiff_t>(i));
  }
  ASSERT_EQ(quiet.size(), 3u);
  EXPECT_LE(quiet[2] - quiet[0], 5) << "in turn with the busy ones";
  EXPECT_LT(quiet[2], 17) << "who came last does not leave last";
}

// So many are remembered for their limits' sake; all further ones are held to one limit. Nobody listens where they go.
TEST(Group, beyond_a_hundred_thousand_shares_one_with_all_others) {
  constexpr int kMost = 100'000, kAtOnce = 1'000;
  Limited stage("group: header:X-Team, limits: [ counter: { max: 1, period: 1h, mode: refuse, per: group } ]");
  const Closed closed;
  const auto of_team = [&](int team) {
    return get("http://" + closed.host() + "/", "X-Team: " + std::to_string(team) + "\r\n");
  };
  Client client(stage.daemon.port());
  for (int done = 0; done < kMost; done += kAtOnce) {
    std::string requests;
    for (int team = done; team < done + kAtOnce; ++team) requests += of_team(team);
    ASSERT_TRUE(client.send(requests));
    for (int i = 0; i < kAtOnce; ++i) ASSERT_EQ(client.reply().status, 502);
  }
  std::vector<int> statuses;
  for (const int team : {kMost, kMost + 1, 0, kMost - 1}) statuses.push_back(stage.ask(of_team(team)).status);
  EXPECT_THAT(statuses, testing::ElementsAre(502, 429, 429, 429)) << "the second shares what the first has spent";
  const auto tellings = [&] {
    const std::string said = stage.daemon.diagnostics();
    int times = 0;
    for (auto at = said.find("*:others"); at != said.npos; at = said.find("*:others", at + 1)) ++times;
    return times;
  };
  EXPECT_TRUE(eventually([&] { return tellings() > 0; }));
  EXPECT_EQ(tellings(), 1);
}

// Over the wire: a busy group fills the queue, and a quiet one is served all the same.
TEST(Group, that_fills_the_queue_makes_room_for_the_others) {
  Limited stage("group: \"path:/{team}\", maxConcurrent: 1, queue: { maxPending: 20 }");
  stage.origin.on("/busy/held", scripts::held());
  stage.send_one("/busy/held");
  for (int i = 0; i < 20; ++i) stage.send_one("/busy/" + std::to_string(i));
  EXPECT_EQ(stage.fetch("/busy/beyond").status, 503);
  for (int i = 0; i < 3; ++i) stage.send_one("/quiet/" + std::to_string(i));
  const auto refused = stage.daemon.await_events(4, "refused");
  ASSERT_EQ(refused.size(), 4u);
  for (int i = 0; i < 3; ++i) {
    const Json& event = refused[static_cast<std::size_t>(i) + 1];
    EXPECT_EQ(event.at("path"), "/busy/" + std::to_string(19 - i)) << "the newest of the longest lane";
    EXPECT_EQ(event.at("error"), "connection_limit_reached");
    EXPECT_THAT(event.at("detail"), HasSubstr("api queue full (limited by slots)"));
    EXPECT_GT(event.at("waitMs").get<double>(), 0);
  }
  stage.origin.release();
  std::map<int, int> statuses;
  for (auto& client : stage.clients) ++statuses[client.reply().status];
  EXPECT_EQ(statuses, (std::map<int, int>{{200, 21}, {503, 3}}));
  EXPECT_EQ(stage.arrivals("/quiet").size(), 3u);
}

}  // namespace
}  // namespace penstock::trial
