// SPDX-License-Identifier: Apache-2.0
// The way in and straight through: what is dispatched, what is refused at the door, and what is told of both.
#include <gmock/gmock.h>

#include "proxy/dispatcher_fixture.h"

namespace penstock::proxy {
namespace {

using testing::HasSubstr;
using testing::Not;

class AcceptingTest : public DispatcherTest {
 protected:
  AcceptingTest() : origin_(test::always(kOk)) {}

  /// One request that must be refused before it gets anywhere, in one way only.
  http::Refusal refusal_of(http::RequestHead&& what) {
    Asker asker;
    ask(asker, std::move(what));
    EXPECT_EQ(asker.outcomes(), 1);
    EXPECT_EQ(asker.refusals.size(), 1u);
    EXPECT_EQ(course(), "refused");
    expect_at_rest();
    run_.run_for(5'000);
    EXPECT_EQ(origin_.connections(), 0);
    EXPECT_EQ(asker.outcomes(), 1);
    if (asker.refusals.empty() || told_.empty()) return {};
    EXPECT_EQ(told_[0].outcome, Outcome::refused);
    EXPECT_EQ(told_[0].status, asker.refusals[0].status_code());
    EXPECT_EQ(told_[0].error, http::wording(asker.refusals[0].why).token);
    EXPECT_EQ(told_[0].refusal, http::wording(asker.refusals[0].why).kind);
    return asker.refusals[0];
  }
  http::RequestHead to_origin(const std::string& method, const std::string& path = "/") {
    return head(method, "http://" + origin_.host() + path);
  }
  static http::RequestHead with(http::RequestHead made, const std::string& name, const std::string& value) {
    made.fields.add(name, value);
    return made;
  }

  test::Origin origin_;
};

TEST_F(AcceptingTest, a_request_takes_off_at_once_where_nobody_waits) {
  Asker asker;
  get(asker, origin_.host(), "/a/../b?q=1");
  EXPECT_EQ(course(), "dispatch");
  EXPECT_EQ(told_[0].in_flight, 1u);
  EXPECT_EQ(told_[0].pending, 0u);
  EXPECT_EQ(told_[0].wait, Duration{0});
  EXPECT_FALSE(told_[0].flight);
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(course(), "dispatch complete");
  const Told& done = told_[1];
  EXPECT_EQ(done.outcome, Outcome::success);
  EXPECT_EQ(done.status, 200);
  EXPECT_EQ(done.bytes_in, 2u);
  EXPECT_EQ(done.bytes_out, 0u);
  EXPECT_EQ(done.in_flight, 0u);
  EXPECT_EQ(done.upstream, origin_.host());
  EXPECT_EQ(done.entry, 0u);
  EXPECT_EQ(done.method, "GET");
  EXPECT_EQ(done.host, "127.0.0.1");
  EXPECT_EQ(done.path, "/a/../b") << "no query";
  EXPECT_GT(done.flight.value_or(Duration{0}), Duration{0});
  EXPECT_LE(done.first_byte.value_or(Duration{0}), *done.flight);
  EXPECT_EQ(done.id, told_[0].id);
  EXPECT_EQ(done.id.size(), 11u);
  expect_at_rest();
}

TEST_F(AcceptingTest, the_answer_is_passed_on_with_via_and_the_time_it_waited) {
  Asker asker;
  get(asker, origin_.host());
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(asker.status, 200);
  EXPECT_EQ(asker.length, 2u);
  EXPECT_EQ(asker.body, "ok");
  EXPECT_EQ(asker.ends, 1);
  EXPECT_THAT(asker.fields, HasSubstr("Via: 1.1 penstock\n"));
  EXPECT_THAT(asker.fields, HasSubstr("Server-Timing: penstock-wait;dur=0.000\n"));
  EXPECT_THAT(asker.fields, Not(HasSubstr("Content-Length")));
  EXPECT_EQ(origin_.notes()[0].substr(0, 16), "GET / HTTP/1.1\r\n");
  EXPECT_THAT(origin_.notes()[0], HasSubstr("\r\nVia: 1.1 penstock\r\n"));
}

TEST_F(AcceptingTest, answers_of_any_status_are_complete_but_those_from_400_on_are_no_success) {
  const std::pair<int, Outcome> cases[] = {{204, Outcome::success},
                                           {302, Outcome::success},
                                           {400, Outcome::http_error},
                                           {404, Outcome::http_error},
                                           {500, Outcome::http_error}};
  for (const auto& [status, outcome] : cases) {
    test::Origin origin(test::always("HTTP/1.1 " + std::to_string(status) + " X\r\n" +
                                     (status == 204 ? "\r\n" : "Content-Length: 0\r\n\r\n")));
    Asker asker;
    get(asker, origin.host());
    ASSERT_TRUE(finish(asker)) << status;
    EXPECT_EQ(told_.back().kind, EventKind::complete);
    EXPECT_EQ(told_.back().outcome, outcome) << status;
    EXPECT_EQ(told_.back().status, status);
  }
}

TEST_F(AcceptingTest, ids_are_all_different) {
  std::vector<std::string> ids;
  for (int i = 0; i < 100; ++i) {
    Asker asker;
    ask(asker, head("GET", "/"));
    ids.push_back(told_.back().id);
  }
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::unique(ids.begin(), ids.end()), ids.end());
}

TEST_F(AcceptingTest, an_origin_form_target_is_refused) { EXPECT_EQ(refusal_of(head("GET", "/")).status_code(), 400); }

TEST_F(AcceptingTest, userinfo_is_refused_and_not_repeated) {
  const auto refused = refusal_of(head("GET", "http://user:secret@" + origin_.host() + "/"));
  EXPECT_EQ(refused.status_code(), 400);
  EXPECT_THAT(refused.details, Not(HasSubstr("secret")));
}

TEST_F(AcceptingTest, connect_goes_to_its_ports_only) {
  const auto refused = refusal_of(head("CONNECT", "example.test:25"));
  EXPECT_EQ(refused.why, http::Reason::port_denied);
  EXPECT_EQ(refused.status_code(), 403);
}

TEST_F(AcceptingTest, connect_to_this_proxy_itself_is_a_loop) {
  config_.access.connect_ports = {3128};
  own_ = {{"127.0.0.1", 3128}};
  EXPECT_EQ(refusal_of(head("CONNECT", "127.0.0.1:3128")).why, http::Reason::loop);
}

TEST_F(AcceptingTest, an_unknown_expectation_is_refused) {
  EXPECT_EQ(refusal_of(with(to_origin("POST"), "Expect", "miracles")).status_code(), 417);
}

TEST_F(AcceptingTest, a_request_that_has_been_here_before_is_a_loop) {
  const auto refused = refusal_of(with(to_origin("GET"), "Via", "1.0 fred, 1.1 penstock"));
  EXPECT_EQ(refused.why, http::Reason::loop);
  EXPECT_EQ(refused.status_code(), 502);
}

TEST_F(AcceptingTest, max_forwards_of_zero_is_answered_here) {
  EXPECT_EQ(refusal_of(with(to_origin("OPTIONS"), "Max-Forwards", "0")).status_code(), 200);
}

TEST_F(AcceptingTest, a_wait_that_is_no_duration_is_refused) {
  EXPECT_EQ(refusal_of(with(to_origin("GET"), "Penstock-Max-Wait", "soon")).status_code(), 400);
}

TEST_F(AcceptingTest, a_private_address_is_refused) {
  const auto refused = refusal_of(head("GET", "http://10.0.0.1/"));
  EXPECT_EQ(refused.why, http::Reason::destination_denied);
  EXPECT_EQ(refused.status_code(), 403);
}

TEST_F(AcceptingTest, an_address_that_is_denied_is_refused_though_it_is_allowed_too) {
  config_.access.deny = {"127.0.0.1"};
  EXPECT_EQ(refusal_of(to_origin("GET")).why, http::Reason::destination_denied);
}

TEST_F(AcceptingTest, our_own_port_is_a_loop) {
  own_ = {{"127.0.0.1", origin_.port()}};
  EXPECT_EQ(refusal_of(to_origin("GET")).why, http::Reason::loop);
}

TEST_F(AcceptingTest, what_no_entry_names_is_refused_where_the_configuration_says_so) {
  config_.pass_unmatched = false;
  const auto refused = refusal_of(to_origin("GET"));
  EXPECT_EQ(refused.why, http::Reason::destination_unnamed);
  EXPECT_EQ(refused.status_code(), 403);
  EXPECT_EQ(told_[0].upstream, "");
}

TEST_F(AcceptingTest, what_an_entry_names_passes_all_the_same_and_under_its_name) {
  config_.pass_unmatched = false;
  config_.upstreams = {{.name = "other", .match = {{.host = "other.test"}}},
                       {.name = "origin", .match = {{.host = "127.0.0.1"}}}};
  Asker asker;
  get(asker, origin_.host());
  ASSERT_TRUE(finish(asker));
  EXPECT_EQ(told_.back().upstream, "origin");
  EXPECT_EQ(told_.back().entry, 2u);
  EXPECT_EQ(upstream("origin").totals.success, 1u);
  EXPECT_EQ(upstream("origin").entry, 2u);
  EXPECT_EQ(snapshot().upstreams.size(), 2u);
}

TEST_F(AcceptingTest, events_name_the_client_as_the_configuration_wants_it) {
  for (const auto& [how, address, told] :
       {std::tuple(LogClient::address, "10.0.0.7:41234", "10.0.0.7"),
        std::tuple(LogClient::address, "[2001:db8::7]:41234", "2001:db8::7"), std::tuple(LogClient::address, "", ""),
        std::tuple(LogClient::full, "10.0.0.7:41234", "10.0.0.7:41234"),
        std::tuple(LogClient::full, "[2001:db8::7]:41234", "[2001:db8::7]:41234"),
        std::tuple(LogClient::off, "10.0.0.7:41234", "")}) {
    config_.log.client = how;
    told_.clear();
    Asker asker;
    asker.address = address;
    get(asker, origin_.host());
    ASSERT_TRUE(finish(asker));
    dispatcher().report_refused({.why = http::Reason::credentials}, {.client = address});
    ASSERT_EQ(course(), "dispatch complete refused");
    for (const auto& one : told_) EXPECT_EQ(one.client, told);
  }
}

TEST_F(AcceptingTest, events_name_the_trace_and_the_upstream_gets_the_field_as_it_was) {
  const std::string trace = "0af7651916cd43dd8448eb211c80319c", whole = "00-" + trace + "-b7ad6b7169203331-01";
  for (const auto& value : {whole, "00-" + trace, whole + "-more"}) {
    told_.clear();
    Asker asker;
    auto request = head("GET", "http://" + origin_.host() + "/");
    request.fields.add("Traceparent", value);
    ask(asker, std::move(request));
    ASSERT_TRUE(finish(asker));
    for (const auto& one : told_) EXPECT_EQ(one.trace_id, value == whole ? trace : "") << value;
    EXPECT_THAT(origin_.notes().back(), testing::HasSubstr("\r\nTraceparent: " + value + "\r\n"));
  }
}

TEST_F(AcceptingTest, an_answer_is_to_have_the_id_if_the_request_asks_or_the_configuration_does) {
  for (const auto& [asks, always] : {std::pair(false, false), std::pair(true, false), std::pair(false, true)}) {
    config_.proxy.request_id = always;
    Asker asker;
    auto request = head("GET", "http://" + origin_.host() + "/");
    if (asks) request.fields.add("penstock-request-ID", "mine");
    ask(asker, std::move(request));
    ASSERT_TRUE(finish(asker));
    EXPECT_EQ(asker.id, asks || always ? told_.back().id : "");
    EXPECT_EQ(origin_.notes().back().find("mine"), std::string::npos) << "our fields are not forwarded";
  }
}

TEST_F(AcceptingTest, a_message_refused_before_it_was_whole_is_told_of) {
  dispatcher().report_refused({.why = http::Reason::head_too_large, .details = "too much"});
  ASSERT_EQ(course(), "refused");
  EXPECT_EQ(told_[0].status, 431);
  EXPECT_EQ(told_[0].refusal, "head_too_large");
  EXPECT_EQ(told_[0].detail, "too much");
  EXPECT_EQ(told_[0].id.size(), 11u);
}

TEST_F(AcceptingTest, upstreams_that_nobody_names_are_made_for_each_host_and_port) {
  test::Origin other(test::always(kOk));
  Asker one, two, three;
  get(one, origin_.host());
  get(two, other.host());
  get(three, origin_.host());
  ASSERT_TRUE(finish(one) && finish(two) && finish(three));
  EXPECT_EQ(snapshot().upstreams.size(), 2u);
  EXPECT_EQ(upstream(origin_.host()).totals.success, 2u);
  EXPECT_EQ(upstream(other.host()).totals.success, 1u);
  EXPECT_EQ(upstream(other.host()).max_concurrent, config_.unmatched.max_concurrent);
}

TEST_F(AcceptingTest, upstreams_that_nobody_names_are_forgotten_when_ten_thousand_are_too_many) {
  config_.unmatched.max_weight = 1;  // so that each is made, and refuses
  std::size_t most = 0;
  for (int i = 0; i < 10'050; ++i) {
    Asker asker;
    ask(asker, with(head("GET", "http://n" + std::to_string(i) + ".test/"), "Penstock-Weight", "2"));
    ASSERT_EQ(asker.refusals.size(), 1u);
    ASSERT_EQ(asker.refusals[0].why, http::Reason::limit_too_heavy);
    if (i % 100 == 0) most = std::max(most, snapshot().upstreams.size());
  }
  EXPECT_LE(most, 10'000u);
  EXPECT_LE(snapshot().upstreams.size(), 51u);
}

}  // namespace
}  // namespace penstock::proxy
