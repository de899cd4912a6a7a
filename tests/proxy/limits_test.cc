// SPDX-License-Identifier: Apache-2.0
// What the proxy does for the limits of an upstream: it names the one in the way, gives back what nobody takes, ends
// flights whose permits are lost, and heeds answers that ask for a pause.
#include <gmock/gmock.h>

#include <chrono>

#include "proxy/dispatcher_fixture.h"
#include "proxy/recording_limiter.h"

namespace penstock::proxy {
namespace {

using namespace std::chrono_literals;
using flow::Booking;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Answers as the path says, or not at all.
test::Origin::Script as_the_path_says() {
  return [](test::Origin& origin, test::Socket& peer, int) {
    for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
      origin.note(head.substr(0, head.find(" HTTP")));
      if (head.starts_with("GET /half")) peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
      if (head.starts_with("GET /half") || head.starts_with("GET /silent")) return void(peer.read_to_end());
      const auto busy = head.find("/busy/"), spent = head.find("/spent/");
      if (spent != std::string::npos) {
        peer.send("HTTP/1.1 " + head.substr(spent + 7, 3) +
                  " Spent\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 7\r\nContent-Length: 2\r\n\r\nno");
      } else if (busy == std::string::npos) {
        peer.send(kOk);
      } else {
        peer.send("HTTP/1.1 " + head.substr(busy + 6, 3) + " Busy\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\nno");
      }
    }
  };
}

class LimitsTest : public DispatcherTest {
 protected:
  LimitsTest() : origin_(as_the_path_says()) {
    make_limiter_ = recording_limiters(run_.loop, record_);
    config_.upstreams.push_back({.name = "api", .match = {{.host = "127.0.0.1"}}});
  }

  UpstreamSettings& settings() { return config_.upstreams[0].settings; }
  void limit(LimitConfig::Kind kind, const std::string& name = "") { settings().limits.push_back({kind, name}); }
  void get(Asker& asker, const std::string& path = "/") { DispatcherTest::get(asker, origin_.host(), path); }
  void get_in_haste(Asker& asker, const std::string& max_wait) {
    auto what = head("GET", "http://" + origin_.host() + "/");
    what.fields.add("Penstock-Max-Wait", max_wait);
    ask(asker, std::move(what));
  }
  std::vector<std::string> limited_by(EventKind kind) const {
    std::vector<std::string> names;
    for (const auto& one : told_) {
      if (one.kind == kind) names.push_back(one.limited_by);
    }
    return names;
  }

  test::Origin origin_;
  Record record_;
};

// ---- what people see of them -------------------------------------------------------------------------------------

TEST_F(LimitsTest, are_in_the_snapshot_with_what_is_used_of_them) {
  make_limiter_ = local_limiters(run_.loop);
  limit(CounterConfig{.max = 9, .period = 1h});
  Asker asker;
  get(asker);
  ASSERT_TRUE(finish(asker));
  Snapshot now;
  dispatcher().snapshot(now);
  ASSERT_EQ(now.upstreams.size(), 1u);
  ASSERT_EQ(now.upstreams[0].limits.size(), 1u);
  EXPECT_EQ(now.upstreams[0].limits[0].used, 1);
  EXPECT_EQ(now.upstreams[0].limits[0].units, 1u);
}

// ---- the limit in the way -------------------------------------------------------------------------------------------

TEST_F(LimitsTest, without_a_name_are_called_by_their_kind) {
  limit(PacerConfig{.qps = 2});
  Asker first, second, hasty;
  get(first);
  get(second);
  get_in_haste(hasty, "1ms");
  ASSERT_EQ(hasty.refusals.size(), 1u);
  EXPECT_THAT(hasty.refusals[0].details, HasSubstr("limited by pacer"));
  ASSERT_TRUE(finish(second));
  EXPECT_THAT(limited_by(EventKind::refused), ElementsAre("pacer"));
  EXPECT_THAT(limited_by(EventKind::dispatch), ElementsAre("", "pacer"));
  EXPECT_THAT(limited_by(EventKind::complete), ElementsAre("", "pacer"));
}

TEST_F(LimitsTest, are_named_by_whoever_leaves_while_they_wait) {
  limit(PacerConfig{.qps = 1}, "slow");
  Asker first, hangup_watcher[3];
  get(first);
  for (auto& leaver : hangup_watcher) get(leaver);
  run_.run_for(2'000);
  for (auto& leaver : hangup_watcher) leave(leaver);
  EXPECT_THAT(limited_by(EventKind::gone), ElementsAre("slow", "slow", "slow"));
}

TEST_F(LimitsTest, are_named_by_all_whose_wait_for_a_permit_is_over) {
  limit(SemaphoreConfig{.capacity = 1}, "seats");
  settings().queue.max_wait = 30ms;
  Asker holder, waiting[3];
  get(holder, "/silent");
  for (auto& one : waiting) get(one);
  ASSERT_TRUE(finish(waiting[2]));
  EXPECT_THAT(limited_by(EventKind::refused), ElementsAre("seats", "seats", "seats"));
  for (auto& one : waiting) {
    ASSERT_EQ(one.refusals.size(), 1u);
    EXPECT_THAT(one.refusals[0].details, HasSubstr("queue wait over (limited by seats)"));
  }
  leave(holder);
}

TEST_F(LimitsTest, are_not_named_by_those_who_wait_for_a_slot_which_is_named_itself) {
  settings().max_concurrent = 1;
  limit(PacerConfig{.qps = 1});
  Asker one, two, holder, waiting, hasty;
  get(one);
  get(two);
  ASSERT_TRUE(finish(two));
  run_.run_for(1'000'000);  // the pacer is free again
  get(holder, "/silent");
  get(waiting);
  run_.run_for(2'000);
  get_in_haste(hasty, "0s");
  leave(waiting);
  EXPECT_THAT(limited_by(EventKind::dispatch), ElementsAre("", "pacer", ""));
  EXPECT_THAT(limited_by(EventKind::gone), ElementsAre("maxConcurrent"));
  EXPECT_THAT(limited_by(EventKind::refused), ElementsAre("maxConcurrent"));
  ASSERT_EQ(hasty.refusals.size(), 1u);
  EXPECT_THAT(hasty.refusals[0].details, HasSubstr("queue wait over (limited by slots)"));
  leave(holder);
}

TEST_F(LimitsTest, are_named_by_those_whom_the_end_of_the_proxy_finds_waiting) {
  limit(CounterConfig{.max = 1, .period = 20s});
  Asker first, waiting;
  get(first);
  ASSERT_TRUE(finish(first));
  get(waiting);
  dispatcher_->end_all();
  EXPECT_EQ(waiting.refusals.size(), 1u);
  EXPECT_THAT(limited_by(EventKind::refused), ElementsAre("counter"));
}

// ---- what nobody takes ----------------------------------------------------------------------------------------------

TEST_F(LimitsTest, get_back_the_departure_of_one_who_leaves_before_it) {
  limit(PacerConfig{.qps = 0.05});
  record_.backdated = -10'000'000;  // booked ahead of time, as Redis does
  Asker leaver, stayer;
  get(leaver);
  ASSERT_EQ(record_.departures.size(), 1u);
  leave(leaver);
  get(stayer);
  ASSERT_EQ(record_.departures.size(), 2u);
  EXPECT_LT(record_.departures[1], record_.departures[0] + 20'000'000);
  leave(stayer);
}

/// Its first connection is dead when it is used again.
void keep_then_drop(test::Origin&, test::Socket& peer, int number) {
  for (int request = 1; !peer.read_until("\r\n\r\n").empty(); ++request) {
    if (request > 1 && number == 1) return;
    peer.send(kOk);
  }
}

TEST_F(LimitsTest, count_a_request_that_is_sent_again_as_two_departures) {
  limit(PacerConfig{.qps = 20});
  test::Origin dying(keep_then_drop);
  Asker warm, again;
  DispatcherTest::get(warm, dying.host(), "/warm");
  ASSERT_TRUE(finish(warm));
  DispatcherTest::get(again, dying.host(), "/again");
  ASSERT_TRUE(finish(again));
  EXPECT_EQ(again.status, 200);
  ASSERT_EQ(record_.departures.size(), 3u);
  EXPECT_GE(record_.departures[2], record_.departures[1] + 50'000);
  EXPECT_EQ(course(), "dispatch complete dispatch complete");
}

// ---- who leaves late ------------------------------------------------------------------------------------------------

TEST_F(LimitsTest, hear_of_who_leaves_later_than_booked_and_when) {
  settings().group = parse_group("path:/{kind}").value();
  record_.backdated = 10'000;
  Asker asker;
  get(asker, "/late");
  ASSERT_TRUE(finish(asker));
  ASSERT_EQ(record_.late.size(), 1u);
  EXPECT_EQ(record_.late[0].lane.group, "late");
  EXPECT_EQ(record_.late[0].booked, record_.departures.at(0));
  EXPECT_GE(record_.late[0].left, record_.departures[0] + record_.backdated);
  EXPECT_LE(record_.late[0].left, run_.loop.now());
}

TEST_F(LimitsTest, hear_of_which_route_it_is) {
  settings().group = parse_group("path:/{kind}").value();
  settings().routes.push_back({.name = "late", .match = {.path = "/late"}});
  limit(PacerConfig{.qps = 1'000});
  settings().limits.back().route = "late";
  record_.backdated = 10'000;
  for (const char* path : {"/late", "/other"}) {
    Asker asker;
    get(asker, path);
    ASSERT_TRUE(finish(asker));
  }
  ASSERT_EQ(record_.late.size(), 2u);
  EXPECT_EQ(record_.late[0].lane, flow::LaneName(flow::LaneKey("late", "late")));
  EXPECT_EQ(record_.late[1].lane, flow::LaneName(flow::LaneKey("other")));
}

TEST_F(LimitsTest, hear_of_both_departures_of_a_request_that_is_sent_again) {
  test::Origin dying(keep_then_drop);
  Asker warm, again;
  DispatcherTest::get(warm, dying.host(), "/warm");
  ASSERT_TRUE(finish(warm));
  record_.late.clear();
  record_.backdated = 10'000;
  DispatcherTest::get(again, dying.host(), "/again");
  ASSERT_TRUE(finish(again));
  ASSERT_EQ(record_.late.size(), 2u);
  EXPECT_EQ(record_.late[0].booked, record_.departures.at(1));
  EXPECT_EQ(record_.late[1].booked, record_.departures.at(2));
}

TEST_F(LimitsTest, do_not_hear_of_who_is_on_time) {
  for (int i = 0; i < 20; ++i) {
    Asker asker;
    get(asker);
    ASSERT_TRUE(finish(asker));
  }
  for (const auto& late : record_.late) EXPECT_GT(late.left, late.booked + flow::kOnTime);
  EXPECT_LT(record_.late.size(), record_.departures.size());
}

// ---- permits that are lost ------------------------------------------------------------------------------------------

class CutTest : public LimitsTest {
 protected:
  void fly(Asker& asker, const std::string& path) {
    const auto before = origin_.notes().size();
    get(asker, path);
    ASSERT_TRUE(run_.run_until([&] { return origin_.notes().size() > before; }));
  }
  void expect_cut(const Asker& asker) {
    ASSERT_EQ(asker.refusals.size(), 1u);
    EXPECT_EQ(asker.refusals[0].why, http::Reason::lease_lost);
    EXPECT_EQ(asker.refusals[0].status_code(), 503);
    EXPECT_EQ(asker.outcomes(), 1);
  }
};

TEST_F(CutTest, ends_the_youngest_flights) {
  Asker oldest, middle, youngest;
  fly(oldest, "/silent/1");
  fly(middle, "/silent/2");
  fly(youngest, "/silent/3");
  record_.events->cut(Booking::Scope::upstream, "", 2);
  EXPECT_FALSE(oldest.over());
  expect_cut(middle);
  expect_cut(youngest);
  ASSERT_EQ(course(), "dispatch dispatch dispatch error error");
  EXPECT_EQ(told_[3].path, "/silent/3") << "the youngest first";
  EXPECT_EQ(told_[4].path, "/silent/2");
  EXPECT_EQ(told_[4].outcome, Outcome::upstream_error);
  EXPECT_EQ(told_[4].status, 503);
  EXPECT_EQ(told_[4].error, "destination_unavailable");
  EXPECT_THAT(told_[4].detail, HasSubstr("api lease_lost: its permit could not be renewed"));
  EXPECT_EQ(upstream("api").in_flight, 1u);
  leave(oldest);
  expect_at_rest();
}

TEST_F(CutTest, of_a_group_ends_flights_of_this_group_alone) {
  settings().group = parse_group("path:/{kind}/{team}").value();
  Asker red, blue, another_red;
  fly(red, "/silent/red");
  fly(another_red, "/silent/red");
  fly(blue, "/silent/blue");
  record_.events->cut(Booking::Scope::group, "silent/red", 9);
  expect_cut(red);
  expect_cut(another_red);
  EXPECT_FALSE(blue.over());
  leave(blue);
}

TEST_F(CutTest, of_one_upstream_leaves_the_others_alone) {
  Asker other, mine;
  DispatcherTest::get(other, "localhost:" + std::to_string(origin_.port()), "/silent/other");
  flow::LimiterEvents* const unmatched = record_.events;
  ASSERT_TRUE(run_.run_until([&] { return origin_.notes().size() == 1; }));
  fly(mine, "/silent/mine");
  unmatched->cut(Booking::Scope::upstream, "", 9);
  expect_cut(other);
  EXPECT_FALSE(mine.over());
  leave(mine);
}

TEST_F(CutTest, breaks_off_an_answer_that_has_begun) {
  Asker asker;
  get(asker, "/half");
  ASSERT_TRUE(run_.run_until([&] { return asker.body == "hello"; }));
  record_.events->cut(Booking::Scope::upstream, "", 1);
  EXPECT_EQ(asker.breaks, 1);
  EXPECT_THAT(asker.refusals, IsEmpty());
  EXPECT_EQ(told_.back().kind, EventKind::error);
  EXPECT_EQ(told_.back().status, 200);
  expect_at_rest();
}

TEST_F(CutTest, spares_who_is_pending_and_gives_them_the_slot) {
  settings().max_concurrent = 1;
  Asker flying, pending;
  fly(flying, "/silent");
  get(pending, "/next");
  record_.events->cut(Booking::Scope::upstream, "", 2);
  expect_cut(flying);
  EXPECT_FALSE(pending.over());
  ASSERT_TRUE(finish(pending));
  EXPECT_EQ(pending.status, 200);
}

TEST_F(CutTest, of_nothing_under_way_does_nothing) {
  Asker done;
  get(done);
  ASSERT_TRUE(finish(done));
  record_.events->cut(Booking::Scope::upstream, "", 3);
  EXPECT_EQ(course(), "dispatch complete");
}

// ---- pauses that answers ask for ------------------------------------------------------------------------------------

class PauseTest : public LimitsTest {
 protected:
  PauseTest() { settings().retry = RetryConfig::off(); }
  using Pause = Record::Pause;
  /// Of everybody, after a request with credentials.
  std::vector<Pause> after(const std::string& path, const char* field = "Authorization") {
    Asker asker;
    auto what = head("GET", "http://" + origin_.host() + path);
    what.fields.add(field, std::string("Bearer of-") + field);
    ask(asker, std::move(what));
    EXPECT_TRUE(finish(asker));
    const char* said = path.starts_with("/busy")    ? "Retry-After: 7\nVia"
                       : path.starts_with("/spent") ? "-Reset: 7"
                                                    : "ok";
    EXPECT_THAT(asker.fields + asker.body, HasSubstr(said));
    return record_.pauses;
  }
};

TEST_F(PauseTest, is_as_long_as_the_answer_says) { EXPECT_THAT(after("/busy/429"), ElementsAre(Pause{"", 7'000'000})); }

TEST_F(PauseTest, is_made_of_a_503_too) { EXPECT_THAT(after("/busy/503"), ElementsAre(Pause{"", 7'000'000})); }

TEST_F(PauseTest, is_made_of_no_other_status) {
  for (const char* path : {"/busy/200", "/busy/404", "/busy/500", "/busy/502", "/fine"}) {
    EXPECT_THAT(after(path), IsEmpty()) << path;
  }
}

TEST_F(PauseTest, is_made_of_a_refusal_that_says_when_a_spent_limit_is_filled_again) {
  for (const char* path : {"/spent/403", "/spent/429", "/spent/503", "/spent/529"}) {
    record_.pauses.clear();
    EXPECT_THAT(after(path), ElementsAre(Pause{"", 7'000'000})) << path;
  }
  record_.pauses.clear();
}

TEST_F(PauseTest, is_made_of_an_answer_that_serves_and_says_that_nothing_remains) {
  EXPECT_THAT(after("/spent/200"), ElementsAre(Pause{"", 7'000'000}));
}

TEST_F(PauseTest, is_made_of_retry_after_alone_where_the_file_says_so) {
  settings().obey = Obey::retry_after;
  EXPECT_THAT(after("/spent/429"), ElementsAre(Pause{"", 1'000'000})) << "it names no time that counts";
  record_.pauses.clear();
  EXPECT_THAT(after("/busy/429"), ElementsAre(Pause{"", 7'000'000}));
}

TEST_F(PauseTest, is_never_longer_than_the_file_allows) {
  settings().max_pause = 3s;
  EXPECT_THAT(after("/busy/429"), ElementsAre(Pause{"", 3'000'000}));
}

TEST_F(PauseTest, is_not_made_where_the_file_says_so) {
  settings().obey = Obey::off;
  EXPECT_THAT(after("/busy/429"), IsEmpty());
}

TEST_F(PauseTest, is_of_the_group_where_there_are_groups) {
  settings().group = parse_group("path:/{kind}").value();
  EXPECT_THAT(after("/busy/429"), ElementsAre(Pause{"busy", 7'000'000}));
}

TEST_F(PauseTest, is_of_everybody_where_it_cannot_be_seen_whose_the_credentials_are) {
  settings().pause_scope = PauseScope::credentials;
  EXPECT_THAT(after("/busy/429", "Cookie"), ElementsAre(Pause{"", 7'000'000}));
}

TEST_F(PauseTest, is_of_requests_with_the_same_credentials_where_pauses_go_by_these) {
  settings().pause_scope = PauseScope::credentials;
  for (const char* field : {"authorization", "X-API-Key", "Api-Key", "X-Goog-Api-Key", "Private-Token"}) {
    EXPECT_THAT(after("/busy/429", field), IsEmpty()) << field << ": the limiter knows nothing of it";
    settings().max_pause = 7s;
    EXPECT_THAT(after("/fine", "X-Other"), IsEmpty()) << "others pass";
  }
  Snapshot snapshot;
  dispatcher_->snapshot(snapshot);
  EXPECT_EQ(snapshot.upstreams[0].pauses, 5u);
  ASSERT_TRUE(snapshot.upstreams[0].pause);
  EXPECT_FALSE(snapshot.upstreams[0].pause->of_all);
}

TEST_F(PauseTest, is_shown_with_the_status_that_drew_it_until_it_is_over) {
  settings().max_pause = 1s;  // no busy machine takes as long to look
  after("/busy/429");
  const auto shown = [&] {
    Snapshot snapshot;
    dispatcher_->snapshot(snapshot);
    return snapshot.upstreams.at(0).pause;
  };
  const auto pause = shown();
  ASSERT_TRUE(pause);
  EXPECT_EQ(pause->status, 429);
  EXPECT_TRUE(pause->of_all);
  EXPECT_GT(pause->left, 0ms);
  EXPECT_LE(pause->left, 1s);
  EXPECT_TRUE(run_.run_until([&] { return !shown(); }));
}

TEST_F(PauseTest, is_of_requests_without_credentials_alone_where_one_of_these_drew_it) {
  settings().pause_scope = PauseScope::credentials;
  EXPECT_THAT(after("/busy/429", "X-Request-Id"), IsEmpty()) << "the limiter knows nothing of it";
  Asker hasty, mine;
  get_in_haste(hasty, "1s");
  ASSERT_EQ(hasty.refusals.size(), 1u);
  EXPECT_THAT(hasty.refusals[0].details, HasSubstr("queue wait over (limited by pause)"));
  EXPECT_EQ(http::retry_after_seconds(hasty.refusals[0].retry_after.value()), "7");
  EXPECT_EQ(after("/fine").size(), 0u) << "one that has some passes";
  Snapshot snapshot;
  dispatcher_->snapshot(snapshot);
  EXPECT_EQ(snapshot.upstreams[0].pauses, 1u);
}

TEST_F(PauseTest, is_in_force_before_the_answer_has_ended) {
  settings().max_concurrent = 2;
  test::Origin slow([](test::Origin&, test::Socket& peer, int) {
    peer.read_until("\r\n\r\n");
    peer.send("HTTP/1.1 429 Busy\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\n");
    peer.read_to_end();
  });
  Asker busy, next;
  DispatcherTest::get(busy, slow.host());
  ASSERT_TRUE(run_.run_until([&] { return busy.status == 429; }));
  get_in_haste(next, "1s");
  ASSERT_EQ(next.refusals.size(), 1u);
  EXPECT_THAT(next.refusals[0].details, HasSubstr("limited by pause"));
  EXPECT_EQ(http::retry_after_seconds(next.refusals[0].retry_after.value()), "7");
  leave(busy);
}

// ---- groups that are too many ---------------------------------------------------------------------------------------

TEST_F(LimitsTest, of_groups_without_room_are_those_of_one_group_which_is_told_once) {
  settings().group = parse_group("header:X-Team").value();
  limit(CounterConfig{.max = 1, .period = 20s});
  settings().limits.back().per = LimitConfig::Per::group;
  settings().limits.back().mode = LimitConfig::Mode::refuse;
  record_.room = false;
  Asker asker[3];
  for (int i = 0; i < 3; ++i) {
    auto what = head("GET", "http://" + origin_.host() + "/");
    what.fields.add("X-Team", std::to_string(i));
    ask(asker[i], std::move(what));
    ASSERT_TRUE(finish(asker[i]));
  }
  EXPECT_EQ(asker[0].status, 200);
  EXPECT_EQ(asker[1].refusals.size() + asker[2].refusals.size(), 2u) << "they share what is spent";
  for (const auto& one : told_) EXPECT_EQ(one.group, "*:others") << "nothing to hide";
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_THAT(notices_[0], HasSubstr("api has 100000 groups to remember"));
}

}  // namespace
}  // namespace penstock::proxy
