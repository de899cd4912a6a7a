// SPDX-License-Identifier: Apache-2.0
// What becomes of the pauses that answers have asked for: which are told to a new limiter, and what a full table of
// them means.
#include <gmock/gmock.h>

#include <chrono>

#include "proxy/dispatcher_fixture.h"
#include "proxy/recording_limiter.h"

namespace penstock::proxy {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using What = flow::PauseNews::What;

constexpr flow::Time kOneSecond = 1'000'000;

class PausesTest : public DispatcherTest {
 protected:
  PausesTest()
      : origin_([](test::Origin& origin, test::Socket& peer, int) {
          for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
            origin.note(head.substr(0, head.find(" HTTP")));
            const bool busy = head.starts_with("GET /busy"), limited = head.starts_with("GET /all");
            if (busy) peer.send("HTTP/1.1 429 Busy\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\nno");
            if (limited) {
              peer.send(
                  "HTTP/1.1 429 Busy\r\nRetry-After: 7\r\nX-RateLimit-Global: true\r\nContent-Length: 2\r\n\r\nno");
            }
            const bool down = head.starts_with("GET /down");
            if (down) peer.send("HTTP/1.1 503 Down\r\nRetry-After: 60\r\nContent-Length: 2\r\n\r\nno");
            if (!busy && !limited && !down) peer.send(kOk);
          }
        }) {
    make_limiter_ = recording_limiters(run_.loop, record_);
    config_.upstreams.push_back({.name = "api", .match = {{.host = "127.0.0.1"}}});
    settings().retry = RetryConfig::off();
    settings().pause_scope = PauseScope::credentials;
  }
  UpstreamSettings& settings() { return config_.upstreams[0].settings; }
  void get(Asker& asker, const std::string& path, const std::string& token) {
    auto what = head("GET", "http://" + origin_.host() + path);
    what.fields.add("Authorization", "Bearer " + token);
    ask(asker, std::move(what));
  }
  void change() {
    pools_->change(config_);
    dispatcher_->change();
  }

  test::Origin origin_;
  Record record_;
};

TEST_F(PausesTest, of_the_whole_upstream_are_told_to_a_new_limiter_and_those_of_credentials_are_not) {
  fits_limiter_ = [](const auto&, const auto&) { return false; };
  Asker mine, all;
  get(mine, "/busy", "mine");
  ASSERT_TRUE(finish(mine));
  get(all, "/all", "other");
  ASSERT_TRUE(finish(all));
  ASSERT_THAT(record_.pauses, ElementsAre(Record::Pause{"", 7 * kOneSecond}));
  record_.pauses.clear();
  settings().limits = {{.kind = PacerConfig{.qps = 1000}}};
  change();
  ASSERT_EQ(record_.pauses.size(), 1u);
  EXPECT_EQ(record_.pauses[0].group, "");
  EXPECT_GT(record_.pauses[0].length, 5 * kOneSecond);
  EXPECT_EQ(upstream("api").pauses, 2u);
}

TEST_F(PausesTest, end_where_the_file_no_longer_obeys_them) {
  settings().pause_scope = PauseScope::upstream;
  Asker busy, waiting;
  get(busy, "/busy", "mine");
  ASSERT_TRUE(finish(busy));
  get(waiting, "/", "mine");
  ASSERT_FALSE(waiting.over());
  settings().obey = Obey::off;
  const auto begun = run_.loop.now();
  change();
  ASSERT_TRUE(finish(waiting));
  EXPECT_EQ(waiting.status, 200);
  EXPECT_LT(run_.loop.now() - begun, 5 * kOneSecond) << "the pause was of 7 s";
  EXPECT_THAT(record_.shortened, ElementsAre(0));
  EXPECT_EQ(upstream("api").pauses, 0u);
}

TEST_F(PausesTest, get_no_longer_than_the_file_allows_by_now) {
  Asker busy, waiting;
  get(busy, "/busy", "mine");
  ASSERT_TRUE(finish(busy));
  get(waiting, "/", "mine");
  settings().max_pause = 10s;
  change();
  EXPECT_THAT(record_.shortened, IsEmpty()) << "it was 5 minutes";
  settings().max_pause = 500ms;
  const auto begun = run_.loop.now();
  change();
  ASSERT_TRUE(finish(waiting));
  EXPECT_GE(run_.loop.now() - begun, kOneSecond / 2);
  EXPECT_LT(run_.loop.now() - begun, 5 * kOneSecond);
}

TEST_F(PausesTest, end_once_when_they_are_told_to) {
  Asker busy, waiting, again;
  get(busy, "/busy", "mine");
  ASSERT_TRUE(finish(busy));
  get(waiting, "/", "mine");
  EXPECT_EQ(dispatcher_->end_pauses("api"), true);
  ASSERT_TRUE(finish(waiting));
  EXPECT_EQ(waiting.status, 200);
  EXPECT_EQ(dispatcher_->end_pauses("api"), false) << "there is none";
  EXPECT_EQ(dispatcher_->end_pauses("other"), std::nullopt);
  get(again, "/busy", "mine");
  ASSERT_TRUE(finish(again));
  EXPECT_EQ(upstream("api").pauses, 1u) << "the next refusal counts";
}

TEST_F(PausesTest, the_pause_that_is_shown_has_the_status_of_its_own_answer) {
  Asker down, busy;
  get(down, "/down", "one");
  ASSERT_TRUE(finish(down));
  get(busy, "/busy", "other");
  ASSERT_TRUE(finish(busy));
  const auto longest = upstream("api").pause.value_or(PauseSnapshot{});
  EXPECT_GT(longest.left, std::chrono::seconds{50});
  EXPECT_EQ(longest.status, 503);
  EXPECT_FALSE(longest.of_all);
}

TEST_F(PausesTest, one_that_another_process_was_asked_for_has_no_status) {
  Asker busy;
  get(busy, "/busy", "mine");
  ASSERT_TRUE(finish(busy));
  record_.events->heard({What::begun, "", run_.loop.now() + 60 * kOneSecond});
  const auto longest = upstream("api").pause.value_or(PauseSnapshot{});
  EXPECT_GT(longest.left, std::chrono::seconds{50});
  EXPECT_EQ(longest.status, 0);
}

class FullTable : public PausesTest {
 protected:
  /// So many scopes of credentials are paused that there is room for no other.
  void fill(flow::Time until) {
    dispatcher();
    for (int i = 0; i < 1'024; ++i) record_.events->heard({What::begun, "scope " + std::to_string(i), until});
  }
  std::vector<Record::Pause> pauses_after_a_refusal() {
    Asker asker;
    get(asker, "/busy", "mine");
    EXPECT_TRUE(finish(asker));
    return record_.pauses;
  }
};

TEST_F(FullTable, of_pauses_that_last_makes_the_next_the_upstreams) {
  fill(run_.loop.now() + 60 * kOneSecond);
  EXPECT_THAT(pauses_after_a_refusal(), ElementsAre(Record::Pause{"", 7 * kOneSecond}));
}

TEST_F(FullTable, of_pauses_that_are_over_has_room) {
  const auto until = run_.loop.now() + kOneSecond / 2;
  fill(until);
  ASSERT_TRUE(run_.run_until([&] { return run_.loop.now() > until; }));
  EXPECT_THAT(pauses_after_a_refusal(), IsEmpty());
}

}  // namespace
}  // namespace penstock::proxy
