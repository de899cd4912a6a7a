// SPDX-License-Identifier: Apache-2.0
// Permits: asked for as any request, and held by what the client does rather than by what an upstream answers.
#include <gmock/gmock.h>

#include "proxy/dispatcher_fixture.h"

namespace penstock::proxy {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class PermitsTest : public DispatcherTest {
 protected:
  PermitsTest() {
    own_ = {{"127.0.0.1", 3128}};
    auto& upstream = config_.upstreams.emplace_back();
    upstream.name = "db";
    upstream.permits = true;
  }

  UpstreamSettings& db() { return config_.upstreams.front().settings; }
  /// Each line is a name and a value.
  void ask_permit(Asker& asker, const std::vector<std::pair<std::string, std::string>>& lines = {},
                  const std::string& target = "/@db", const std::string& method = "GET") {
    auto request = head(method, target);
    for (const auto& [name, value] : lines) request.fields.add(name, value);
    ask(asker, std::move(request));
  }
  http::Refusal refusal_of(const std::string& target, const std::string& method = "GET",
                           const std::vector<std::pair<std::string, std::string>>& lines = {}) {
    Asker asker;
    ask_permit(asker, lines, target, method);
    return asker.refusals.empty() ? http::Refusal{} : asker.refusals[0];
  }
  static bool granted(const Asker& asker) { return asker.status == 200 && asker.refusals.empty(); }
};

TEST_F(PermitsTest, is_granted_at_its_turn_and_held_until_the_client_leaves) {
  Asker client;
  client.address = "10.0.0.7:41234";
  ask_permit(client);
  EXPECT_TRUE(granted(client));
  EXPECT_FALSE(client.over()) << "its body does not end";
  EXPECT_EQ(client.length, std::nullopt);
  const std::string id = told_.at(0).id;
  EXPECT_THAT(client.fields, StartsWith("Penstock-Permit: " + id + "\n"));
  EXPECT_EQ(client.body, id + "\n");
  EXPECT_EQ(upstream("db").in_flight, 1u);

  leave(client);
  EXPECT_EQ(course(), "dispatch complete");
  const Told& end = told_.back();
  EXPECT_EQ(end.outcome, Outcome::success);
  EXPECT_EQ(end.status, 200);
  EXPECT_TRUE(end.permit);
  EXPECT_EQ(end.upstream, "db");
  EXPECT_EQ(end.host, "");
  EXPECT_EQ(end.path, "/@db");
  EXPECT_EQ(end.client, "10.0.0.7");
  EXPECT_EQ(end.in_flight, 0u);
  EXPECT_EQ(upstream("db").totals.success, 1u);
  expect_at_rest();
}

TEST_F(PermitsTest, the_next_waits_for_a_slot_and_gets_it_when_one_is_free) {
  db().max_concurrent = 1;
  Asker first, second, third;
  ask_permit(first);
  ask_permit(second);
  ask_permit(third);
  EXPECT_FALSE(granted(second));
  leave(first);
  EXPECT_TRUE(granted(second));
  EXPECT_FALSE(granted(third));
  leave(third);
  leave(second);
  EXPECT_EQ(course(), "dispatch complete dispatch gone complete");
  expect_at_rest();
}

TEST_F(PermitsTest, what_is_not_to_be_held_is_answered_whole) {
  Asker client;
  ask_permit(client, {}, "/@db?hold=no");
  EXPECT_EQ(client.ends, 1);
  EXPECT_EQ(client.length, client.body.size());
  EXPECT_EQ(client.body, told_.at(0).id + "\n");
  EXPECT_EQ(course(), "dispatch complete");
  expect_at_rest();
}

TEST_F(PermitsTest, what_is_not_to_be_held_waits_for_its_turn) {
  db().limits = {{.kind = PacerConfig{.qps = 1}, .name = "pacer"}};
  Asker first, second;
  ask_permit(first, {}, "/@db?hold=no");
  ask_permit(second, {}, "/@db?hold=no");
  EXPECT_TRUE(first.over());
  EXPECT_FALSE(second.over());
  EXPECT_TRUE(finish(second));
  EXPECT_TRUE(granted(second));
  EXPECT_EQ(told_.back().limited_by, "pacer");
}

TEST_F(PermitsTest, weighs_what_its_field_says_where_a_limit_counts_units) {
  db().limits = {{.kind = SlidingWindowConfig{.max = 3, .interval = 1h}, .name = "window"}};
  db().queue.max_wait = 2h;
  Asker heavy, light, third;
  ask_permit(heavy, {{"Penstock-Weight", "2"}});
  ask_permit(light);
  ask_permit(third);
  EXPECT_TRUE(granted(heavy) && granted(light));
  EXPECT_FALSE(granted(third)) << "2 and 1 are all three";
  leave(heavy);
  EXPECT_FALSE(granted(third)) << "a window counts what was granted, not what is held";
  EXPECT_EQ(upstream("db").pending, 1u);
}

TEST_F(PermitsTest, is_one_of_a_semaphore_whatever_it_weighs) {
  db().limits = {{.kind = SemaphoreConfig{.capacity = 2}, .name = "semaphore"}};
  Asker heavy, light, third;
  ask_permit(heavy, {{"Penstock-Weight", "2"}});
  ask_permit(light);
  ask_permit(third);
  EXPECT_TRUE(granted(heavy) && granted(light));
  EXPECT_FALSE(granted(third));
  leave(heavy);
  EXPECT_TRUE(granted(third));
}

TEST_F(PermitsTest, is_not_sent_to_a_host_where_it_alone_is_wanted) {
  auto& api = config_.upstreams.emplace_back();
  api.name = "api";
  api.base_url = BaseUrl{false, "127.0.0.1", 1, ""};
  const auto refusal = refusal_of("/@api", "GET", {{"Penstock-Permit", "hold"}});
  EXPECT_EQ(refusal.why, http::Reason::gateway_unknown);
  EXPECT_EQ(refusal.details, "no permits of api: it has a baseUrl, and leads to a host");
  EXPECT_EQ(upstream("api").totals.dispatched, 0u);
  Asker client;
  ask_permit(client, {{"Penstock-Permit", "hold"}});
  EXPECT_TRUE(granted(client));
}

TEST_F(PermitsTest, is_of_the_group_that_its_field_says) {
  db().group = GroupRule{GroupRule::By::header, "Penstock-Group"};
  db().limits = {{.kind = SemaphoreConfig{.capacity = 1}, .name = "semaphore", .per = LimitConfig::Per::group}};
  Asker of_a, also_of_a, of_b;
  ask_permit(of_a, {{"Penstock-Group", "a"}});
  ask_permit(also_of_a, {{"Penstock-Group", "a"}});
  ask_permit(of_b, {{"Penstock-Group", "b"}});
  EXPECT_TRUE(granted(of_a) && granted(of_b));
  EXPECT_FALSE(granted(also_of_a));
}

TEST_F(PermitsTest, is_refused_as_any_request_is) {
  db().max_concurrent = 1;
  db().queue.max_pending = 0;
  Asker first, second;
  ask_permit(first);
  ask_permit(second);
  ASSERT_EQ(second.refusals.size(), 1u);
  EXPECT_EQ(second.refusals[0].why, http::Reason::queue_full);
  EXPECT_TRUE(told_.back().permit);
  EXPECT_EQ(refusal_of("/@db", "GET", {{"Penstock-Weight", "0"}}).why, http::Reason::malformed);
  EXPECT_EQ(refusal_of("/@db", "GET", {{"Penstock-Weight", "1001"}}).why, http::Reason::limit_too_heavy);
  EXPECT_EQ(refusal_of("/@db", "GET", {{"Expect", "a-miracle"}}).why, http::Reason::expectation_unknown);
  EXPECT_EQ(refusal_of("/@nope").details,
            "no upstream of this name has a baseUrl or permits; those that have one: /@db");
}

TEST_F(PermitsTest, no_longer_waits_than_its_field_says) {
  db().max_concurrent = 1;
  Asker first, second;
  ask_permit(first);
  ask_permit(second, {{"Penstock-Max-Wait", "20ms"}});
  EXPECT_TRUE(finish(second));
  ASSERT_EQ(second.refusals.size(), 1u);
  EXPECT_EQ(second.refusals[0].why, http::Reason::wait_over);
}

TEST_F(PermitsTest, is_got_by_get_alone_and_by_no_page) {
  for (const std::string method : {"HEAD", "POST", "OPTIONS"}) {
    EXPECT_EQ(refusal_of("/@db", method).why, http::Reason::permit_method) << method;
  }
  EXPECT_EQ(refusal_of("/@db", "GET", {{"Origin", "https://evil.example"}}).why, http::Reason::page_denied);
  EXPECT_EQ(refusal_of("/@db", "GET", {{"Host", "rebound.example"}}).why, http::Reason::page_denied);
  EXPECT_EQ(upstream("db").totals.dispatched, 0u);
}

TEST_F(PermitsTest, is_got_by_a_client_for_which_this_is_its_proxy_too) {
  Asker client;
  ask_permit(client, {}, "http://127.0.0.1:3128/@db");
  EXPECT_TRUE(granted(client));
}

TEST_F(PermitsTest, stays_one_where_its_client_wants_another_protocol) {
  auto request = head("GET", "/@db");
  request.upgrade = "websocket";
  Asker client;
  ask(client, std::move(request));
  EXPECT_TRUE(granted(client));
  EXPECT_TRUE(told_.back().permit);
}

TEST_F(PermitsTest, held_at_the_end_of_the_proxy_are_broken_off) {
  db().max_concurrent = 1;
  Asker first, second;
  ask_permit(first);
  ask_permit(second);
  dispatcher().end_all();
  EXPECT_EQ(first.breaks, 1);
  ASSERT_EQ(second.refusals.size(), 1u);
  EXPECT_EQ(second.refusals[0].why, http::Reason::draining);
  EXPECT_EQ(course(), "dispatch refused error");
  EXPECT_EQ(told_.back().status, 200);
  EXPECT_THAT(told_.back().detail, HasSubstr("shutting down"));
  expect_at_rest();
}

TEST_F(PermitsTest, whose_lease_is_lost_end_the_youngest_first) {
  flow::LimiterEvents* limiter = nullptr;
  make_limiter_ = [&](const LimiterOf& of, flow::LimiterEvents& events, std::unique_ptr<flow::Limiter> former) {
    limiter = &events;
    return local_limiters(run_.loop)(of, events, std::move(former));
  };
  Asker older, younger;
  ask_permit(older);
  run_.run_until([&, since = run_.loop.now()] { return run_.loop.now() > since; });
  ask_permit(younger);
  limiter->cut(flow::Booking::Scope::upstream, "", 1);
  EXPECT_FALSE(older.over());
  EXPECT_EQ(younger.breaks, 1);
  EXPECT_EQ(told_.back().kind, EventKind::error);
  EXPECT_THAT(told_.back().detail, HasSubstr("db lease_lost"));
  leave(older);
  expect_at_rest();
}

TEST_F(PermitsTest, outlive_their_upstream_in_the_file) {
  Asker first;
  ask_permit(first);
  const auto before = std::exchange(config_.upstreams, {});
  dispatcher().change();
  EXPECT_FALSE(first.over());
  EXPECT_EQ(refusal_of("/@db").why, http::Reason::gateway_unknown);
  config_.upstreams = before;
  db().max_concurrent = 1;
  dispatcher().change();
  Asker second;
  ask_permit(second);
  EXPECT_FALSE(granted(second)) << "it is the same upstream again, and its one slot is taken";
  leave(first);
  EXPECT_TRUE(granted(second));
}

TEST_F(PermitsTest, more_of_them_after_a_reload_are_for_those_that_wait) {
  db().max_concurrent = 1;
  Asker first, second;
  ask_permit(first);
  ask_permit(second);
  db().max_concurrent = 2;
  dispatcher().change();
  EXPECT_TRUE(granted(second));
}

}  // namespace
}  // namespace penstock::proxy
