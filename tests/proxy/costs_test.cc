// SPDX-License-Identifier: Apache-2.0
// Requests whose bodies say what they may cost, and whose answers say what they have cost.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>

#include "proxy/dispatcher_fixture.h"
#include "proxy/recording_limiter.h"
#include "support/held_port.h"

namespace penstock::proxy {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string json_answer(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

const std::string kUsed120 = R"({"choices":[],"usage":{"total_tokens":120}})";

/// Reads each request with its body, and answers always the same.
test::Origin::Script answers(std::string answer) {
  return [answer = std::move(answer)](test::Origin& origin, test::Socket& peer, int) {
    for (std::string head = peer.read_until("\r\n\r\n"); !head.empty(); head = peer.read_until("\r\n\r\n")) {
      const auto length = head.find("Content-Length: ");
      const auto size = length == std::string::npos ? 0 : std::stoul(head.substr(length + 16));
      origin.note(head + (size > 0 ? peer.read(size) : std::string()));
      peer.send(answer);
    }
  };
}

class CostsTest : public DispatcherTest {
 protected:
  CostsTest() {
    config_.upstreams.push_back({.name = "api", .match = {{.host = "127.0.0.1"}}});
    config_.access.connect_anywhere = true;
    settings().queue.max_wait = 3h;
    settings().cost =
        CostConfig{.unit = "tokens", .estimate = {"json:max_tokens", "bytes/4"}, .actual = {"json:usage.total_tokens"}};
    settings().limits.push_back({.kind = SlidingWindowConfig{.max = 1'000, .interval = std::chrono::hours{1}},
                                 .name = "tokens",
                                 .unit = "tokens"});
    make_limiter_ = recording_limiters(run_.loop, record_);
  }

  UpstreamSettings& settings() { return config_.upstreams[0].settings; }
  http::RequestHead post(const test::Origin& origin, std::size_t size) {
    auto made = with_length(head("POST", "http://" + origin.host() + "/v1"), size);
    made.fields.add("Content-Type", "application/json");
    made.fields.add("Content-Length", std::to_string(size));
    return made;
  }
  void ask_with(Asker& asker, const test::Origin& origin, const std::string& body) {
    ask(asker, post(origin, body.size()));
    ASSERT_TRUE(asker.exchange);
    give(asker, body);
  }
  double used() { return upstream("api").limits.at(0).used; }
  bool reads(const Asker& asker) const { return asker.exchange && asker.exchange->load.reads_body(); }

  Record record_;
};

TEST_F(CostsTest, are_reserved_as_estimated_and_settled_as_the_answer_tells) {
  test::Origin origin(answers(json_answer(kUsed120)));
  Asker asker;
  ask_with(asker, origin, R"({"max_tokens":700})");
  ASSERT_TRUE(run_.run_until([&] { return !told_.empty(); }));
  EXPECT_EQ(used(), 700);
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(asker.body, kUsed120);
  EXPECT_EQ(used(), 120);
  EXPECT_THAT(record_.settled, ElementsAre(Record::Settled{"", 700, 120}));
  EXPECT_EQ(course(), "dispatch complete");
  EXPECT_EQ(told_[0].estimated, 700);
  EXPECT_EQ(told_[0].estimated_by, "json:max_tokens");
  EXPECT_EQ(told_[0].cost, std::nullopt);
  EXPECT_EQ(told_[1].cost, 120);
  EXPECT_EQ(upstream("api").limits[0].unit, "tokens");
  EXPECT_EQ(upstream("api").limits[0].units, 700u);
  expect_at_rest();
}

TEST_F(CostsTest, hold_a_request_back_when_nothing_is_left_until_another_has_cost_less) {
  test::Origin origin([](test::Origin& self, test::Socket& peer, int) {
    while (!peer.read_until("}").empty()) {
      self.wait_for_release();
      peer.send(json_answer(kUsed120));
    }
  });
  Asker first, second;
  ask_with(first, origin, R"({"max_tokens":1000})");
  ASSERT_TRUE(run_.run_until([&] { return told_.size() == 1; }));
  ask_with(second, origin, R"({"max_tokens":600})");
  ASSERT_TRUE(run_.run_until([&] { return !reads(second); }));
  EXPECT_EQ(upstream("api").pending, 1u);
  origin.release();
  ASSERT_TRUE(finish(first) && finish(second));
  EXPECT_EQ(told_.back().limited_by, "tokens");
  EXPECT_EQ(used(), 240);
}

TEST_F(CostsTest, that_do_not_fit_leave_all_the_same_and_are_owed) {
  test::Origin origin(answers(json_answer("{}")));
  Asker first, second;
  ask_with(first, origin, R"({"max_tokens":999})");
  ask_with(second, origin, R"({"max_tokens":400})");
  ASSERT_TRUE(finish(first) && finish(second));
  EXPECT_EQ(used(), 1'399);
}

TEST_F(CostsTest, are_not_read_where_no_limit_counts_them) {
  settings().limits[0].unit.clear();
  test::Origin origin(answers(json_answer(kUsed120)));
  Asker asker;
  ask(asker, post(origin, 20));
  EXPECT_FALSE(reads(asker));
  give(asker, R"({"max_tokens":  700})");
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(told_[0].estimated, 0);
  EXPECT_THAT(origin.notes()[0], Not(HasSubstr("identity")));
}

TEST_F(CostsTest, are_counted_by_a_limit_in_shadow_mode) {
  settings().limits[0].mode = LimitConfig::Mode::shadow;
  test::Origin origin(answers(json_answer(kUsed120)));
  Asker asker;
  ask_with(asker, origin, R"({"max_tokens":700})");
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(told_.back().cost, 120);
  EXPECT_EQ(used(), 700) << "it has what was estimated";
  EXPECT_EQ(upstream("api").limits.at(0).units, 700u);
}

TEST_F(CostsTest, of_a_limit_in_shadow_mode_are_remembered_up_to_a_whole_window) {
  settings().limits[0].mode = LimitConfig::Mode::shadow;
  test::Origin origin(answers(json_answer("{}")));
  Asker asker;
  ask_with(asker, origin, R"({"max_tokens":1000000000})");
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(told_.back().estimated, 1'000'000'000);
  EXPECT_EQ(used(), kMostRemembered);
}

TEST_F(CostsTest, of_a_quota_count_in_its_queue) {
  QuotaConfig account{.name = "account", .settings = settings()};
  settings().limits.clear();
  settings().cost.reset();
  config_.quotas.push_back(std::move(account));
  config_.upstreams[0].quota = "account";
  test::Origin origin(answers(json_answer(kUsed120)));
  Asker asker;
  ask_with(asker, origin, R"({"max_tokens":700})");
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(told_.back().estimated, 700);
  EXPECT_EQ(told_.back().cost, 120);
  EXPECT_EQ(used(), 120);
}

TEST_F(CostsTest, change_no_byte_and_ask_for_no_coding) {
  test::Origin origin(answers(json_answer(kUsed120)));
  const std::string body = R"( { "max_tokens" : 5 , "max_tokens":0.7e1 } )";
  Asker asker;
  auto request = post(origin, body.size());
  request.fields.add("Accept-Encoding", "gzip, br");
  ask(asker, std::move(request));
  give(asker, body);
  ASSERT_TRUE(finish(asker));
  ASSERT_EQ(origin.notes().size(), 1u);
  EXPECT_THAT(origin.notes()[0], testing::EndsWith("\r\n\r\n" + body));
  EXPECT_THAT(origin.notes()[0], HasSubstr("Accept-Encoding: identity\r\n"));
  EXPECT_THAT(origin.notes()[0], Not(HasSubstr("gzip")));
  EXPECT_EQ(told_[0].estimated, 7) << "the larger of two";
}

TEST_F(CostsTest, are_read_from_a_stream_of_which_nothing_waits) {
  const std::string first = "data: {\"choices\":[1]}\n\n";
  const std::string last = "data: {\"choices\":[],\"usage\":{\"total_tokens\":88}}\n\ndata: [DONE]\n\n";
  test::Origin origin([&](test::Origin& self, test::Socket& peer, int) {
    peer.read_until("}");
    peer.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: " +
              std::to_string(first.size() + last.size()) + "\r\n\r\n" + first);
    self.wait_for_release();
    peer.send(last);
  });
  Asker asker;
  ask_with(asker, origin, R"({"max_tokens":400,"stream":true})");
  ASSERT_TRUE(run_.run_until([&] { return asker.body == first; }));
  origin.release();
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(asker.body, first + last);
  EXPECT_EQ(told_.back().cost, 88);
  EXPECT_EQ(used(), 88);
}

TEST_F(CostsTest, are_asked_for_in_the_body_of_a_stream_where_that_is_configured) {
  settings().cost->stream_usage = true;
  test::Origin origin(answers(json_answer(kUsed120)));
  const std::string asks = R"({"stream":true,"max_tokens":9})", asks_itself = R"({"stream_options":{},"stream":true})";
  Asker changed, other_path, has_its_own;
  for (auto [asker, path, body] :
       {std::tuple(&changed, "/v1/chat/completions", &asks), std::tuple(&other_path, "/v1/responses", &asks),
        std::tuple(&has_its_own, "/v1/chat/completions", &asks_itself)}) {
    auto request = post(origin, body->size());
    request.target = "http://" + origin.host() + path;
    ask(*asker, std::move(request));
    give(*asker, *body);
    ASSERT_TRUE(finish(*asker));
  }
  ASSERT_EQ(origin.notes().size(), 3u);
  const std::string more = R"({"stream_options":{"include_usage":true},"stream":true,"max_tokens":9})";
  EXPECT_THAT(origin.notes()[0], testing::EndsWith("\r\n\r\n" + more));
  EXPECT_THAT(origin.notes()[0], HasSubstr("Content-Length: " + std::to_string(more.size()) + "\r\n"));
  EXPECT_THAT(origin.notes()[1], testing::EndsWith("\r\n\r\n" + asks));
  EXPECT_THAT(origin.notes()[2], testing::EndsWith("\r\n\r\n" + asks_itself));
  EXPECT_EQ(told_[0].estimated, 9);
}

TEST_F(CostsTest, stay_as_estimated_where_the_answer_is_cut_short) {
  test::Origin origin([](test::Origin&, test::Socket& peer, int) {
    peer.read_until("}");
    peer.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 999\r\n\r\n" + kUsed120);
  });
  Asker few, many;
  ask_with(few, origin, R"({"max_tokens":300})");
  ASSERT_TRUE(finish(few));
  EXPECT_EQ(told_.back().kind, EventKind::error);
  EXPECT_EQ(told_.back().cost, 300);
  ask_with(many, origin, R"({"max_tokens":100})");
  ASSERT_TRUE(finish(many));
  EXPECT_EQ(told_.back().cost, 120) << "so many were counted by then";
  EXPECT_EQ(used(), 300 + 120);
}

TEST_F(CostsTest, are_none_where_no_connection_can_be_made) {
  test::HeldPort closed;
  Asker asker;
  const std::string body = R"({"max_tokens":700})";
  auto request = with_length(head("POST", "http://127.0.0.1:" + std::to_string(closed.number()) + "/"), body.size());
  request.fields.add("Content-Type", "application/json");
  ask(asker, std::move(request));
  give(asker, body);
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(told_.back().error, "connection_refused");
  EXPECT_EQ(told_.back().cost, 0);
  EXPECT_THAT(record_.settled, ElementsAre(Record::Settled{"", 700, 0}));
  EXPECT_EQ(used(), 0);
}

TEST_F(CostsTest, are_those_of_each_attempt) {
  settings().obey = Obey::automatic;
  std::atomic<int> asked = 0;
  test::Origin origin([&](test::Origin&, test::Socket& peer, int) {
    while (!peer.read_until("}").empty())
      peer.send(++asked == 1 ? "HTTP/1.1 429 No\r\nRetry-After-Ms: 5\r\nContent-Length: 0\r\n\r\n"
                             : json_answer(kUsed120));
  });
  Asker asker;
  ask_with(asker, origin, R"({"max_tokens":300})");
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(told_.back().cost, 120);
  EXPECT_EQ(used(), 300 + 120) << "the first told nothing";
}

TEST_F(CostsTest, are_estimated_by_the_next_entry_where_one_finds_nothing) {
  test::Origin origin(answers(json_answer("{}")));
  Asker asker;
  ask_with(asker, origin, R"({"messages":["1234567890"]})");
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(told_.back().estimated_by, "bytes/4");
  EXPECT_EQ(told_.back().estimated, 7) << "of 27 bytes";
  EXPECT_EQ(told_.back().cost, 7);
  EXPECT_THAT(record_.settled, IsEmpty());
}

TEST_F(CostsTest, beyond_what_can_be_counted_are_told_and_ignored) {
  test::Origin origin(answers(json_answer(R"({"usage":{"total_tokens":1001}})")));
  Asker asker;
  ask_with(asker, origin, R"({"max_tokens":99999})");
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(told_.back().estimated, 1'000) << "the limit lets no more leave together";
  EXPECT_EQ(told_.back().cost, 1'000);
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_THAT(notices_[0], HasSubstr("api: an answer tells a cost"));
}

TEST_F(CostsTest, of_a_request_without_a_body_are_one_unit_at_once) {
  test::Origin origin(answers(json_answer("{}")));
  Asker asker;
  get(asker, origin.host());
  EXPECT_FALSE(reads(asker));
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(told_.back().estimated, 1);
  EXPECT_EQ(told_.back().estimated_by, "bytes/4") << "which finds no byte";
}

TEST_F(CostsTest, let_a_request_enter_its_lane_when_its_body_has_come) {
  test::Origin origin(answers(json_answer(kUsed120)));
  const std::string body = R"({"max_tokens":30})";
  Asker asker;
  ask(asker, post(origin, body.size()));
  EXPECT_TRUE(reads(asker));
  EXPECT_EQ(upstream("api").pending, 0u);
  EXPECT_GT(snapshot().pending_bytes, 0u);
  give(asker, body.substr(0, 15), false);
  EXPECT_TRUE(reads(asker));
  give(asker, body.substr(15));
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(told_[0].estimated, 30);
  expect_at_rest();
}

TEST_F(CostsTest, leave_nothing_behind_of_a_client_that_gives_up_before) {
  test::Origin origin(answers(json_answer(kUsed120)));
  Asker gone, refused;
  ask(gone, post(origin, 100));
  leave(gone);
  EXPECT_EQ(course(), "gone");
  ask(refused, post(origin, 100));
  dispatcher().end_all();
  EXPECT_EQ(refused.refusals.size(), 1u);
  expect_at_rest();
}

TEST_F(CostsTest, do_not_wait_for_a_body_longer_than_timeouts_body) {
  settings().timeouts.body = 50ms;
  test::Origin origin(answers(json_answer(kUsed120)));
  Asker asker;
  ask(asker, post(origin, 800));
  give(asker, R"({"max_tokens":30,)", false);
  ASSERT_TRUE(run_.run_until([&] { return !told_.empty(); }));
  EXPECT_EQ(told_[0].estimated, 30);
  leave(asker);
}

TEST_F(CostsTest, have_the_wait_for_a_body_in_that_of_the_request) {
  settings().timeouts.body = 50ms;
  test::Origin origin(answers(json_answer(kUsed120)));
  Asker asker;
  ask(asker, post(origin, 800));
  ASSERT_TRUE(run_.run_until([&] { return !told_.empty(); }));
  EXPECT_GE(told_[0].wait.value(), 50ms);
  leave(asker);
}

TEST_F(CostsTest, wait_for_a_body_without_end_where_timeouts_body_is_0) {
  settings().timeouts.body = Duration{0};
  test::Origin origin(answers(json_answer(kUsed120)));
  const std::string body = R"({"max_tokens":30})";
  Asker slow, other;
  ask(slow, post(origin, body.size()));
  get(other, origin.host());
  ASSERT_TRUE(finish(other)) << "the loop has gone round";
  EXPECT_TRUE(reads(slow));
  give(slow, body);
  ASSERT_TRUE(finish(slow));
  EXPECT_EQ(told_.back().estimated, 30);
}

TEST_F(CostsTest, do_not_wait_for_a_body_that_can_tell_nothing) {
  settings().cost->estimate = {"json:max_tokens"};
  test::Origin origin(answers(json_answer(kUsed120)));
  Asker asker;
  auto request = in_chunks(head("POST", "http://" + origin.host() + "/v1"));
  request.fields.add("Content-Type", "text/plain");
  ask(asker, std::move(request));
  EXPECT_FALSE(reads(asker));
  leave(asker);
}

TEST_F(CostsTest, are_read_by_what_is_configured_when_the_request_enters_its_lane) {
  test::Origin origin(answers(json_answer("{}")));
  const std::string body = R"({"max_tokens":30,"most":40})";
  Asker asker, other;
  ask(asker, post(origin, body.size())), ask(other, post(origin, body.size()));
  give(asker, body.substr(0, 20), false);
  settings().cost->estimate = {"json:most", "json:max_tokens"};
  dispatcher().change();
  EXPECT_TRUE(reads(asker));
  give(asker, body.substr(20));
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(told_.back().estimated, 40);
  EXPECT_EQ(told_.back().estimated_by, "json:most");
  settings().cost.reset(), settings().limits[0].unit.clear();
  dispatcher().change();
  ASSERT_TRUE(run_.run_until([&] { return !reads(other); })) << "nothing is read any more";
  leave(other);
}

TEST_F(CostsTest, are_of_the_route_that_fits_once_the_configuration_has_changed) {
  settings().routes = {{.name = "first", .match = {.path = "/v1"}}, {.name = "second", .match = {.path = "/v2"}}};
  test::Origin origin(answers(json_answer("{}")));
  Asker asker;
  ask(asker, post(origin, 20));
  for (const char* const route : {"first", "", "first", ""}) {
    EXPECT_EQ(asker.exchange->route().name, route);
    settings().routes.front().match.path = *route ? "/gone" : "/v1";
    dispatcher().change();
  }
  settings().routes.clear();
  dispatcher().change();
  EXPECT_EQ(asker.exchange->route().name, "");
  leave(asker);
}

TEST_F(CostsTest, wait_for_no_body_where_there_is_no_memory_for_more) {
  config_.caps.pending_memory = 10'000;
  test::Origin origin(answers(json_answer("{}")));
  Asker large, small;
  ask(large, post(origin, 9'000)), ask(small, post(origin, 900));
  give(small, R"({"max_tokens":30,)", false);
  give(large, R"({"messages":")" + std::string(5'000, 'a'), false);
  ASSERT_TRUE(run_.run_until([&] { return !reads(large); }));
  EXPECT_TRUE(reads(small));
  EXPECT_TRUE(dispatcher().wants_body(*small.exchange)) << "its next bytes tell it";
  give(small, " ", false);
  ASSERT_TRUE(run_.run_until([&] { return !reads(small); }));
  leave(large), leave(small);
}

TEST_F(CostsTest, name_the_group_by_what_the_body_has) {
  settings().group = GroupRule{.by = GroupRule::By::json, .pattern = "model"};
  settings().limits[0].per = LimitConfig::Per::group;
  test::Origin origin(answers(json_answer("{}")));
  Asker one, other, none;
  ask_with(one, origin, R"({"model":"large","max_tokens":900})");
  ask_with(other, origin, R"({"max_tokens":900,"model":"sm\u0061ll"})");
  get(none, origin.host());
  ASSERT_TRUE(finish(one) && finish(other) && finish(none));
  std::vector<std::string> groups;
  for (const auto& told : told_) {
    if (told.kind == EventKind::complete) groups.push_back(told.group);
  }
  EXPECT_THAT(groups, testing::UnorderedElementsAre("large", "small", "-"));
}

class CostsAheadTest : public CostsTest {
 protected:
  /// Of 1000 units in an hour 100 are left.
  CostsAheadTest() {
    make_limiter_ = local_limiters(run_.loop);
    Asker asker;
    ask_with(asker, origin_, R"({"max_tokens":900})");
    EXPECT_TRUE(finish(asker));
  }
  Ahead ahead(AheadQuery query) {
    const auto seen = dispatcher_->ahead(query);
    EXPECT_TRUE(seen) << seen.error().details;
    return seen ? seen->ahead : Ahead{};
  }
  std::string url(const std::string& scheme) const { return scheme + origin_.host() + "/v1"; }

  test::Origin origin_{answers(json_answer("{}"))};
};

TEST_F(CostsAheadTest, decides_how_long_a_request_would_wait) {
  EXPECT_EQ(ahead({.url = url("http://"), .method = "POST", .cost = 100}).wait, Duration{0});
  const Ahead dear = ahead({.url = url("http://"), .method = "POST", .cost = 101});
  EXPECT_EQ(dear.wait, Duration{0}) << "one unit must be free, and the rest is a debt";
  Asker asker;
  ask_with(asker, origin_, R"({"max_tokens":200})");
  ASSERT_TRUE(finish(asker));
  const Ahead next = ahead({.url = url("http://"), .method = "POST", .cost = 1});
  EXPECT_GT(next.wait, 59min);
  EXPECT_EQ(next.limited_by, "tokens");
  EXPECT_EQ(next.refused, "");
}

TEST_F(CostsAheadTest, is_told_by_penstock_max_wait_that_it_would_not_wait_so_long) {
  Asker asker;
  ask_with(asker, origin_, R"({"max_tokens":200})");
  ASSERT_TRUE(finish(asker));
  AheadQuery query{.url = url("http://"), .method = "POST"};
  EXPECT_EQ(ahead(query).refused, "") << "queue.maxWait is 3 h";
  query.fields = {{"Penstock-Max-Wait", "1s"}};
  EXPECT_THAT(ahead(query).refused, HasSubstr("api queue wait over (limited by tokens)"));
  query.fields = {{"Penstock-Max-Wait", "2h"}};
  EXPECT_EQ(ahead(query).refused, "");
}

TEST_F(CostsAheadTest, is_refused_while_the_proxy_shuts_down) {
  dispatcher_->drain([] {});
  const auto seen = dispatcher_->ahead({.url = url("http://")});
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().why, http::Reason::draining);
}

}  // namespace
}  // namespace penstock::proxy
