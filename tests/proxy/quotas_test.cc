// SPDX-License-Identifier: Apache-2.0
// Upstreams that draw on one quota: one queue and one set of limits, while each keeps what is about its host.
#include <gmock/gmock.h>

#include <chrono>

#include "proxy/dispatcher_fixture.h"
#include "support/held_port.h"

namespace penstock::proxy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// The upstreams `api` and `uploads` draw on the quota `github`.
class QuotasTest : public DispatcherTest {
 protected:
  QuotasTest() : api_(busy_or_silent()), uploads_(busy_or_silent()) {
    config_.access.connect_anywhere = true;
    config_.quotas.push_back({"github", {}});
    quota().queue.max_wait = 3h;  // until a counter is reset: what waits for one is not refused at once
    add("api", api_.port(), "github");
    add("uploads", uploads_.port(), "github");
  }

  void add(const std::string& name, std::uint16_t port, const std::string& quota) {
    config_.upstreams.push_back({.name = name, .match = {{.host = "127.0.0.1", .port = port}}, .quota = quota});
  }
  UpstreamSettings& quota() { return config_.quotas[0].settings; }
  UpstreamSettings& settings(std::size_t upstream) { return config_.upstreams[upstream].settings; }
  static LimitConfig counter(int most, const std::string& route = "") {
    return {.kind = CounterConfig{.max = most, .period = std::chrono::hours{1}},
            .name = (route.empty() ? "" : route + ":") + "counter",
            .route = route};
  }
  /// So many in an hour, of all.
  void count(int most) { quota().limits = {counter(most)}; }
  /// And of the requests below that path of an upstream.
  void count(int most, std::size_t upstream, const std::string& route) {
    settings(upstream).routes.push_back({.name = route, .match = {.path = "/" + route}});
    settings(upstream).limits.push_back(counter(most, route));
  }
  void change() {
    pools_->change(config_);
    dispatcher_->change();
  }
  void get_api(Asker& asker, const std::string& path = "/") { get(asker, api_.host(), path); }
  void get_uploads(Asker& asker, const std::string& path = "/") { get(asker, uploads_.host(), path); }
  static bool is_pending(const Asker& asker) {
    return asker.exchange && asker.exchange->stage == Exchange::Stage::pending;
  }
  bool takes_off(const Asker& asker) {
    return run_.run_until([&] { return asker.exchange && asker.exchange->stage == Exchange::Stage::in_flight; });
  }
  /// The upstreams of the requests that have taken off, in their order.
  std::vector<std::string> departed() const {
    std::vector<std::string> all;
    for (const auto& one : told_) {
      if (one.kind == EventKind::dispatch) all.push_back(one.upstream);
    }
    return all;
  }
  static std::vector<std::string> names_of(const std::vector<LimitSnapshot>& limits) {
    std::vector<std::string> names;
    for (const auto& limit : limits) names.push_back(limit.name);
    return names;
  }

  test::Origin api_, uploads_;
};

// One queue.

TEST_F(QuotasTest, count_in_one_set_of_limits) {
  count(2);
  Asker first, second, third;
  get_api(first), get_uploads(second), get_api(third);
  ASSERT_TRUE(finish(first) && finish(second));
  EXPECT_TRUE(is_pending(third));
  EXPECT_EQ(upstream("uploads").limits.at(0).used, 2);
  leave(third);
  EXPECT_EQ(told_.back().limited_by, "counter");
  expect_at_rest();
}

TEST_F(QuotasTest, are_foretold_by_all_that_waits_for_them) {
  count(2);
  Asker first, second, waiting, behind;
  get_api(first), get_uploads(second);
  ASSERT_TRUE(finish(first) && finish(second));
  const auto foretold = [&] {
    const auto seen = dispatcher_->ahead({.url = "http://" + uploads_.host() + "/"});
    EXPECT_TRUE(seen && seen->limiter == "github");
    return seen ? seen->ahead : Ahead{};
  };
  get_api(waiting);
  const auto next = foretold();
  ASSERT_TRUE(next.wait);
  EXPECT_EQ(next.upstream, "uploads");
  EXPECT_EQ(next.limited_by, "counter");
  EXPECT_EQ(next.pending, 1u);
  EXPECT_GT(*next.wait, 59min);
  EXPECT_LE(*next.wait, 1h + 1s);
  get_api(behind);
  const auto later = foretold();
  ASSERT_TRUE(later.wait);
  EXPECT_GT(*later.wait, 119min);
  leave(waiting), leave(behind);
  expect_at_rest();
}

TEST_F(QuotasTest, go_in_the_order_in_which_they_came) {
  quota().max_concurrent = 1;
  Asker flying, first, second, third;
  get_api(flying, "/silent");
  get_uploads(first), get_api(second), get_uploads(third);
  ASSERT_TRUE(takes_off(flying));
  leave(flying);
  ASSERT_TRUE(finish(first) && finish(second) && finish(third));
  EXPECT_THAT(departed(), ElementsAre("api", "uploads", "api", "uploads"));
}

TEST_F(QuotasTest, fill_one_queue) {
  quota().max_concurrent = 1;
  quota().queue.max_pending = 1;
  Asker flying, waiting, refused;
  get_api(flying, "/silent");
  get_uploads(waiting);
  get_api(refused);
  ASSERT_EQ(refused.refusals.size(), 1u);
  EXPECT_EQ(refused.refusals[0].why, http::Reason::queue_full);
  EXPECT_THAT(refused.refusals[0].details, HasSubstr("api queue full"));
  leave(waiting), leave(flying);
  expect_at_rest();
}

TEST_F(QuotasTest, have_a_group_in_common) {
  quota().group = GroupRule{.by = GroupRule::By::header, .pattern = "X-Org"};
  count(1);
  quota().limits[0].per = LimitConfig::Per::group;
  Asker first, same, other;
  const auto ask_for = [&](Asker& asker, const test::Origin& origin, const std::string& org) {
    auto what = head("GET", "http://" + origin.host() + "/");
    what.fields.add("X-Org", org);
    ask(asker, std::move(what));
  };
  ask_for(first, api_, "a");
  ask_for(same, uploads_, "a");
  ask_for(other, uploads_, "b");
  ASSERT_TRUE(finish(first) && finish(other));
  EXPECT_TRUE(is_pending(same));
  leave(same);
  EXPECT_EQ(told_.front().group, told_.back().group) << "a group is called the same whatever the upstream";
}

TEST_F(QuotasTest, are_stopped_by_one_pause_which_the_name_of_the_quota_ends) {
  settings(0).retry = RetryConfig::off();
  Asker refused, waiting;
  get_api(refused, "/busy");
  ASSERT_TRUE(finish(refused));
  get_uploads(waiting);
  EXPECT_TRUE(is_pending(waiting));
  EXPECT_EQ(upstream("uploads").pauses, 1u);
  EXPECT_EQ(dispatcher().end_pauses("gitlab"), std::nullopt);
  EXPECT_EQ(dispatcher().end_pauses("github"), true);
  EXPECT_TRUE(finish(waiting));
}

// Routes.

TEST_F(QuotasTest, have_routes_of_their_own_though_these_have_one_name) {
  count(9);
  count(1, 0, "search");
  count(1, 1, "search");
  Asker first, second, third, fourth, other;
  get_api(first, "/search"), get_uploads(second, "/search");
  ASSERT_TRUE(finish(first) && finish(second)) << "each has its own";
  get_api(third, "/search"), get_uploads(fourth, "/search");
  get_uploads(other);
  ASSERT_TRUE(finish(other));
  EXPECT_TRUE(is_pending(third) && is_pending(fourth));
  const auto shown = upstream("api");
  EXPECT_THAT(names_of(shown.limits), ElementsAre("counter", "search:counter"));
  EXPECT_EQ(shown.limits[1].route, "search");
  EXPECT_EQ(shown.limits[0].used, 3);
  EXPECT_EQ(shown.head.value().limited_by, "search:counter");
  leave(third);
  EXPECT_EQ(told_.back().limited_by, "search:counter");
  EXPECT_EQ(told_.back().route, "search");
  leave(fourth);
}

TEST_F(QuotasTest, name_a_limit_in_shadow_mode_as_the_file_does) {
  count(1, 0, "search");
  settings(0).limits[0].mode = LimitConfig::Mode::shadow;
  Asker first, second;
  get_api(first, "/search"), get_api(second, "/search");
  ASSERT_TRUE(finish(first) && finish(second));
  std::vector<std::string> would;
  for (const auto& one : told_) {
    if (!one.would_wait_for.empty()) would.push_back(one.would_wait_for);
  }
  EXPECT_THAT(would, ElementsAre("search:counter"));
}

TEST_F(QuotasTest, are_refused_in_the_words_of_their_own_file) {
  count(9);
  count(1, 0, "search");
  settings(0).limits[0].mode = LimitConfig::Mode::refuse;
  Asker first, second;
  get_api(first, "/search"), get_api(second, "/search");
  ASSERT_TRUE(finish(first));
  ASSERT_EQ(second.refusals.size(), 1u);
  EXPECT_EQ(second.refusals[0].details, "api limited by search:counter, retry in 1h");
}

TEST_F(QuotasTest, take_the_weight_that_the_limits_of_the_quota_let_pass) {
  quota().limits = {{.kind = PacerConfig{.qps = 0.001}}};
  quota().queue.max_wait = 30s;
  auto what = head("GET", "http://" + uploads_.host() + "/");
  what.fields.add("Penstock-Weight", "5");
  Asker heavy;
  ask(heavy, std::move(what));
  ASSERT_EQ(heavy.refusals.size(), 1u);
  EXPECT_THAT(heavy.refusals[0].details, HasSubstr("uploads takes no Penstock-Weight of 5: the limit pacer"));
}

// What each is shown as.

TEST_F(QuotasTest, show_their_own_requests_and_what_they_have_in_common) {
  quota().max_concurrent = 2;
  Asker flying, also_flying, waiting, also_waiting;
  get_api(flying, "/silent"), get_uploads(also_flying, "/silent");
  get_uploads(waiting), get_uploads(also_waiting);
  const auto api = upstream("api"), uploads = upstream("uploads");
  EXPECT_EQ(api.quota, "github");
  EXPECT_EQ(api.in_flight, 1u);
  EXPECT_EQ(uploads.in_flight, 1u);
  EXPECT_EQ(api.pending, 0u);
  EXPECT_EQ(uploads.pending, 2u);
  EXPECT_EQ(api.pending_in_quota, 2u);
  EXPECT_EQ(api.head, std::nullopt) << "nothing of its own waits";
  EXPECT_EQ(uploads.head.value().limited_by, "maxConcurrent");
  EXPECT_EQ(uploads.max_concurrent, 2);
  EXPECT_EQ(told_.back().pending, 0u) << "of the queue, when the second took off";
  EXPECT_EQ(told_.back().in_flight, 2u);
  EXPECT_EQ(dispatcher().details("uploads").value().waiting.size(), 2u);
  EXPECT_THAT(dispatcher().details("api").value().waiting, IsEmpty());
  for (auto* asker : {&waiting, &also_waiting, &flying, &also_flying}) leave(*asker);
  expect_at_rest();
}

// A host that is gone.

class QuotasOfALostHost : public QuotasTest {
 protected:
  QuotasOfALostHost() {
    add("gone", closed_.number(), "github");
    settings(2).breaker = {.failures = 1, .max_pause = 1h};
  }
  void get_gone(Asker& asker) { get(asker, "127.0.0.1:" + std::to_string(closed_.number())); }

  test::HeldPort closed_;  // where connections are refused
};

TEST_F(QuotasOfALostHost, stops_no_other_and_costs_the_quota_nothing) {
  count(3);
  quota().max_concurrent = 1;
  Asker flying, tries, waits, waits_too, other;
  get_api(flying, "/silent");
  get_gone(tries), get_gone(waits), get_gone(waits_too);
  get_uploads(other);
  ASSERT_TRUE(takes_off(flying));
  leave(flying);
  ASSERT_TRUE(finish(other)) << "it had the third departure of the hour";
  ASSERT_TRUE(tries.over() && waits.over() && waits_too.over());
  for (const auto* turned_away : {&waits, &waits_too}) {
    ASSERT_EQ(turned_away->refusals.size(), 1u);
    EXPECT_EQ(turned_away->refusals[0].why, http::Reason::unreachable);
    EXPECT_EQ(turned_away->refusals[0].details, "gone cannot be reached, retry in 1s");
  }
  EXPECT_THAT(departed(), ElementsAre("api", "gone", "uploads"));
  EXPECT_TRUE(upstream("gone").unreachable);
  EXPECT_GT(upstream("gone").next_try, Duration{0});
  EXPECT_FALSE(upstream("uploads").unreachable);
  EXPECT_EQ(upstream("uploads").pause, std::nullopt);
  expect_at_rest();
}

TEST_F(QuotasOfALostHost, is_not_asked_for_by_newcomers_until_the_next_try) {
  Asker tries, comes, tries_again;
  get_gone(tries);
  ASSERT_TRUE(finish(tries));
  get_gone(comes);
  ASSERT_EQ(comes.refusals.size(), 1u);
  EXPECT_EQ(comes.refusals[0].why, http::Reason::unreachable);
  ASSERT_TRUE(run_.run_until([&] { return upstream("gone").next_try == Duration{0}; }));
  get_gone(tries_again);
  ASSERT_TRUE(finish(tries_again));
  EXPECT_EQ(tries_again.refusals.at(0).why, http::Reason::connection_refused) << "a second later it was let go";
  EXPECT_GT(upstream("gone").next_try, 1s) << "and the next pause is longer";
}

// Another configuration.

TEST_F(QuotasTest, have_what_waits_leave_by_new_limits) {
  count(1);
  Asker first, second;
  get_api(first), get_uploads(second);
  ASSERT_TRUE(finish(first));
  count(2);
  change();
  EXPECT_TRUE(finish(second));
}

TEST_F(QuotasTest, keep_what_waits_in_its_place_when_one_leaves) {
  count(1);
  Asker first, of_leaving, of_staying, after;
  get_api(first);
  ASSERT_TRUE(finish(first));
  get_uploads(of_leaving), get_api(of_staying);
  config_.upstreams[1].quota.clear();
  change();
  get_uploads(after);
  ASSERT_TRUE(finish(after)) << "it has no limits any more";
  EXPECT_TRUE(is_pending(of_leaving) && is_pending(of_staying));
  EXPECT_EQ(upstream("uploads").quota, "");
  EXPECT_EQ(upstream("uploads").pending, 1u) << "though it waits in the queue of the quota";
  EXPECT_EQ(upstream("api").pending, 1u);
  count(2);
  change();
  ASSERT_TRUE(finish(of_leaving)) << "it came first";
  EXPECT_TRUE(is_pending(of_staying));
  leave(of_staying);
  expect_at_rest();
}

TEST_F(QuotasTest, let_one_join_whose_requests_wait_where_they_are) {
  config_.upstreams[1].quota.clear();
  settings(1).limits = {counter(2)};
  settings(1).queue.max_wait = 3h;
  count(1);
  Asker of_api, of_uploads, waiting, flying, after;
  get_api(of_api), get_uploads(of_uploads), get_uploads(flying, "/silent");
  ASSERT_TRUE(finish(of_api) && finish(of_uploads) && takes_off(flying));
  get_uploads(waiting);
  config_.upstreams[1].quota = "github";
  settings(1).limits.clear();
  count(2);
  change();
  get_uploads(after);
  ASSERT_TRUE(finish(after)) << "it took what the quota had left";
  EXPECT_TRUE(is_pending(waiting)) << "by the limits under which it came";
  leave(waiting), leave(flying);
  expect_at_rest();
}

TEST_F(QuotasTest, go_on_one_by_one_without_it) {
  count(1);
  Asker first, flying, waiting, after;
  quota().max_concurrent = 5;
  get_api(flying, "/silent");
  get_uploads(waiting);
  ASSERT_TRUE(takes_off(flying));
  config_.quotas.clear();
  for (auto& upstream : config_.upstreams) upstream.quota.clear();
  change();
  get_uploads(first), get_api(after);
  ASSERT_TRUE(finish(first) && finish(after));
  EXPECT_TRUE(is_pending(waiting)) << "in the queue that is left over";
  leave(waiting);
  EXPECT_EQ(told_.back().limited_by, "counter");
  EXPECT_EQ(told_.back().upstream, "uploads");
  leave(flying);
  expect_at_rest();
}

TEST_F(QuotasTest, remember_what_left_when_an_upstream_becomes_a_quota_of_its_name) {
  config_.quotas.clear();
  config_.upstreams.clear();
  add("github", api_.port(), "");
  settings(0).limits = {counter(1)};
  settings(0).queue.max_wait = 3h;
  Asker first, waiting, other;
  get_api(first), get_api(waiting);
  ASSERT_TRUE(finish(first));
  config_.quotas.push_back({"github", std::exchange(settings(0), {})});
  config_.upstreams[0].quota = "github";
  add("uploads", uploads_.port(), "github");
  change();
  get_uploads(other);
  EXPECT_TRUE(is_pending(waiting) && is_pending(other));
  count(2);
  change();
  ASSERT_TRUE(finish(waiting));
  EXPECT_TRUE(is_pending(other));
  leave(other);
  expect_at_rest();
}

}  // namespace
}  // namespace penstock::proxy
