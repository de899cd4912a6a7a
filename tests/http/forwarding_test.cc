// SPDX-License-Identifier: Apache-2.0
// What passes a proxy and what does not: hop-by-hop fields, nominations, Via, loops, Max-Forwards, Expect, steering.
#include "http/forwarding.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace penstock::http {
namespace {

using Pairs = std::initializer_list<std::pair<std::string_view, std::string_view>>;

Fields fields_of(Pairs pairs) {
  Fields fields;
  for (const auto& [name, value] : pairs) fields.add(name, value);
  return fields;
}

std::string text_of(const Fields& fields) {
  std::string out;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    out.append(fields[i].name).append(": ").append(fields[i].value).append("\n");
  }
  return out;
}

RequestHead request_with(Pairs pairs, const std::string& method = "GET") {
  RequestHead head;
  head.method = method;
  head.fields = fields_of(pairs);
  return head;
}

Target target() { return {.scheme = "http", .host = "a.test", .port = 8080, .literal = false, .resource = "/"}; }

std::string forwarded(Pairs pairs, const std::string& method = "GET") {
  return text_of(request_fields(request_with(pairs, method), target(), "penstock"));
}

std::string returned(Pairs pairs, std::optional<Duration> wait = {}) {
  ResponseHead head;
  head.status = 200;
  head.fields = fields_of(pairs);
  return text_of(response_fields(head, target(), "penstock", wait));
}

TEST(RequestFields, begin_with_a_host_made_from_the_target) {
  EXPECT_EQ(forwarded({{"Accept", "*/*"}, {"Host", "other"}}), "Host: a.test:8080\nAccept: */*\nVia: 1.1 penstock\n");
}

TEST(RequestFields, keep_order_repetitions_and_empty_values) {
  EXPECT_EQ(forwarded({{"B", "1"}, {"A", "2"}, {"b", "3"}, {"X-Empty", ""}, {"B", "1"}}),
            "Host: a.test:8080\nB: 1\nA: 2\nb: 3\nX-Empty: \nB: 1\nVia: 1.1 penstock\n");
}

TEST(RequestFields, lose_what_is_for_the_next_hop_only) {
  EXPECT_EQ(forwarded({{"Connection", "X-Hop, keep-alive"},
                       {"X-Hop", "1"},
                       {"Keep-Alive", "timeout=5"},
                       {"Proxy-Connection", "keep-alive"},
                       {"TE", "trailers"},
                       {"Upgrade", "websocket"},
                       {"Transfer-Encoding", "chunked"},
                       {"Content-Length", "5"},
                       {"Expect", "100-continue"},
                       {"Proxy-Authorization", "Basic x"},
                       {"proxy-anything", "x"},
                       {"HTTP2-Settings", "x"},
                       {"Penstock-Max-Wait", "2s"},
                       {"penstock-weight", "3"},
                       {"Accept", "*/*"}}),
            "Host: a.test:8080\nAccept: */*\nVia: 1.1 penstock\n");
}

TEST(RequestFields, keep_what_is_end_to_end_even_if_it_looks_similar) {
  EXPECT_EQ(
      forwarded({{"Trailer", "X"}, {"Proxy", "x"}, {"Content-Type", "a/b"}, {"Hosts", "x"}, {"Connection-Id", "7"}}),
      "Host: a.test:8080\nTrailer: X\nProxy: x\nContent-Type: a/b\nHosts: x\nConnection-Id: 7\nVia: 1.1 penstock\n");
}

TEST(RequestFields, lose_nominated_fields_from_all_connection_lines) {
  EXPECT_EQ(forwarded({{"X-A", "1"},
                       {"Connection", "x-a"},
                       {"X-B", "2"},
                       {"connection", " X-B ,, x-c"},
                       {"X-C", "3"},
                       {"X-D", "4"}}),
            "Host: a.test:8080\nX-D: 4\nVia: 1.1 penstock\n");
}

TEST(RequestFields, cannot_lose_what_is_meant_for_everybody) {
  EXPECT_EQ(forwarded({{"Connection", "Host, Content-Length, Authorization, Cookie, Cache-Control, Content-Type, Via"},
                       {"Authorization", "Bearer x"},
                       {"Cookie", "a=b"},
                       {"Cache-Control", "no-cache"},
                       {"Content-Type", "a/b"},
                       {"Via", "1.1 other"}}),
            "Host: a.test:8080\nAuthorization: Bearer x\nCookie: a=b\nCache-Control: no-cache\nContent-Type: a/b\nVia: "
            "1.1 other\n"
            "Via: 1.1 penstock\n");
}

TEST(RequestFields, say_the_version_that_came_in_via) {
  RequestHead head = request_with({});
  head.minor_version = 0;
  EXPECT_EQ(text_of(request_fields(head, target(), "name")), "Host: a.test:8080\nVia: 1.0 name\n");
}

TEST(RequestFields, count_max_forwards_down_for_options_and_trace_only) {
  EXPECT_EQ(forwarded({{"Max-Forwards", "5"}}, "OPTIONS"), "Host: a.test:8080\nMax-Forwards: 4\nVia: 1.1 penstock\n");
  EXPECT_EQ(forwarded({{"max-forwards", "10"}}, "TRACE"), "Host: a.test:8080\nmax-forwards: 9\nVia: 1.1 penstock\n");
  EXPECT_EQ(forwarded({{"Max-Forwards", "5"}}, "GET"), "Host: a.test:8080\nMax-Forwards: 5\nVia: 1.1 penstock\n");
  EXPECT_EQ(forwarded({{"Max-Forwards", "x"}}, "GET"), "Host: a.test:8080\nMax-Forwards: x\nVia: 1.1 penstock\n");
}

TEST(ResponseFields, keep_order_and_gain_via) {
  EXPECT_EQ(returned({{"Date", "now"}, {"Set-Cookie", "a"}, {"Set-Cookie", "b"}, {"Via", "1.1 up"}, {"X-Empty", ""}}),
            "Date: now\nSet-Cookie: a\nSet-Cookie: b\nVia: 1.1 up\nX-Empty: \nVia: 1.1 penstock\n");
}

TEST(ResponseFields, lose_framing_and_what_is_for_the_next_hop_only) {
  EXPECT_EQ(returned({{"Connection", "close, X-Hop"},
                      {"X-Hop", "1"},
                      {"Keep-Alive", "timeout=5"},
                      {"Transfer-Encoding", "chunked"},
                      {"Content-Length", "5"},
                      {"Upgrade", "h2c"},
                      {"Proxy-Connection", "close"},
                      {"Proxy-Authenticate", "Basic"},
                      {"TE", "x"},
                      {"Trailer", "T"},
                      {"Server", "s"}}),
            "Trailer: T\nServer: s\nVia: 1.1 penstock\n");
}

TEST(ResponseFields, tell_the_wait_in_a_line_of_their_own) {
  EXPECT_EQ(returned({{"Server-Timing", "db;dur=5"}}, Duration(12345)),
            "Server-Timing: db;dur=5\nVia: 1.1 penstock\nServer-Timing: penstock-wait;dur=12.345\n");
  EXPECT_EQ(returned({}, Duration(0)), "Via: 1.1 penstock\nServer-Timing: penstock-wait;dur=0.000\n");
  EXPECT_EQ(returned({}, Duration(2000041)), "Via: 1.1 penstock\nServer-Timing: penstock-wait;dur=2000.041\n");
}

TEST(ResponseFields, lose_the_id_that_another_penstock_gave) {
  EXPECT_EQ(returned({{"penstock-request-id", "a"}, {"Penstock-Other", "b"}}),
            "Penstock-Other: b\nVia: 1.1 penstock\n");
}

TEST(ResponseFields, cannot_claim_to_be_our_own_refusal) {
  EXPECT_EQ(returned({{"Proxy-Status", "penstock; error=x"},
                      {"Proxy-Status", "other; error=y"},
                      {"Proxy-Status", "a, \"Penstock\";b"}}),
            "Proxy-Status: other; error=y\nVia: 1.1 penstock\n");
}

TEST(ResponseFields, relay_what_only_clients_may_obey) {
  const Pairs pairs = {
      {"Location", "http://169.254.169.254/"}, {"Alt-Svc", "h2"}, {"Strict-Transport-Security", "max-age=1"}};
  EXPECT_EQ(returned(pairs), text_of(fields_of(pairs)) + "Via: 1.1 penstock\n");
}

TEST(TrailerFields, pass_unless_they_frame_route_or_authenticate) {
  const Fields trailers = fields_of({{"X-Sum", "1"},
                                     {"Content-Length", "5"},
                                     {"Host", "b"},
                                     {"Authorization", "x"},
                                     {"Set-Cookie", "c"},
                                     {"Transfer-Encoding", "chunked"},
                                     {"Proxy-Authorization", "x"},
                                     {"Grpc-Status", "0"},
                                     {"Connection", "x"},
                                     {"Penstock-Max-Wait", "1s"},
                                     {"Via", "1.1 penstock"},
                                     {"Server-Timing", "a"}});
  EXPECT_EQ(text_of(trailer_fields(trailers)), "X-Sum: 1\nGrpc-Status: 0\nServer-Timing: a\n");
}

TEST(Via, that_names_us_is_a_loop) {
  for (const char* value : {"1.1 penstock", "1.1 other, 1.0 Penstock", "HTTP/1.1 penstock", "1.1\tpenstock",
                            "1.1 penstock (v1)", "1.1 a (x, (y) \\) z), 1.1 penstock"}) {
    EXPECT_TRUE(via_names(fields_of({{"Via", "1.1 first"}, {"via", value}}), "penstock")) << value;
  }
}

TEST(Via, that_names_others_is_none) {
  for (const char* value : {"1.1 other", "1.1 penstock2", "1.1 other (1.1 penstock)", "1.1 a (b, 1.1 penstock, c)",
                            "penstock", "", "penstock 1.1"}) {
    EXPECT_FALSE(via_names(fields_of({{"Via", value}, {"X-Via", "1.1 penstock"}}), "penstock")) << value;
  }
}

TEST(MaxForwards, of_zero_is_answered_here) {
  const auto options = answer_here(request_with({{"Max-Forwards", "0"}}, "OPTIONS"));
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->status_code(), 200);
  EXPECT_NE(options->allow.find("GET"), std::string::npos);
  const auto trace = answer_here(request_with({{"Max-Forwards", "0"}}, "TRACE"));
  ASSERT_TRUE(trace.has_value());
  EXPECT_EQ(trace->status_code(), 405);
  EXPECT_FALSE(trace->allow.empty());
  EXPECT_EQ(trace->allow.find("TRACE"), std::string::npos);
}

TEST(MaxForwards, above_zero_or_of_other_methods_is_not_answered_here) {
  EXPECT_FALSE(answer_here(request_with({{"Max-Forwards", "5"}}, "OPTIONS")).has_value());
  EXPECT_FALSE(answer_here(request_with({}, "OPTIONS")).has_value());
  EXPECT_FALSE(answer_here(request_with({{"Max-Forwards", "0"}}, "GET")).has_value());
  EXPECT_FALSE(answer_here(request_with({{"Max-Forwards", "x"}}, "GET")).has_value());
}

TEST(MaxForwards, that_is_no_number_is_refused) {
  for (const char* value : {"", "-1", "x", "1, 2", "0x1", "99999999999999999999"}) {
    const auto refusal = answer_here(request_with({{"Max-Forwards", value}}, "OPTIONS"));
    ASSERT_TRUE(refusal.has_value()) << value;
    EXPECT_EQ(refusal->status_code(), 400) << value;
  }
  EXPECT_EQ(answer_here(request_with({{"Max-Forwards", "1"}, {"Max-Forwards", "1"}}, "TRACE"))->status_code(), 400);
}

TEST(Trace, with_credentials_is_not_forwarded) {
  for (const char* name :
       {"Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "x-goog-api-key", "X-Auth-Token"}) {
    const auto refusal = answer_here(request_with({{name, "secret"}, {"Max-Forwards", "5"}}, "TRACE"));
    ASSERT_TRUE(refusal.has_value()) << name;
    EXPECT_EQ(refusal->status_code(), 405);
    EXPECT_EQ(refusal->details.find("secret"), std::string::npos);
  }
  EXPECT_FALSE(answer_here(request_with({{"Cookie", "a"}}, "OPTIONS")).has_value());
  EXPECT_FALSE(answer_here(request_with({{"X-Request-Id", "a"}}, "TRACE")).has_value());
}

TEST(Expectation, of_a_continue_is_the_only_one_known) {
  EXPECT_FALSE(check_expectation(request_with({})).has_value());
  EXPECT_FALSE(check_expectation(request_with({{"Expect", "100-Continue"}})).has_value());
  for (const char* value : {"200-ok", "100-continue, x", "100", "100-continue;q=1"}) {
    const auto refusal = check_expectation(request_with({{"Expect", value}}));
    ASSERT_TRUE(refusal.has_value()) << value;
    EXPECT_EQ(refusal->status_code(), 417);
  }
  EXPECT_TRUE(check_expectation(request_with({{"Expect", "100-continue"}, {"expect", "x"}})).has_value());
}

TEST(RequestHints, reads_the_longest_wait) {
  EXPECT_EQ(read_hints(fields_of({{"penstock-max-wait", "2s"}}))->max_wait, Duration(2'000'000));
  EXPECT_EQ(read_hints(fields_of({{"Penstock-Max-Wait", "250ms"}}))->max_wait, Duration(250'000));
  EXPECT_EQ(read_hints(fields_of({{"Penstock-Max-Wait", "0s"}}))->max_wait, Duration(0));
  EXPECT_EQ(read_hints(fields_of({}))->max_wait, std::nullopt);
}

TEST(RequestHints, refuses_a_wait_that_is_none) {
  for (const char* value : {"", "2", "-2s", "2 s", "soon", "2s, 3s", "1e3s"}) {
    const auto hints = read_hints(fields_of({{"Penstock-Max-Wait", value}}));
    ASSERT_FALSE(hints.has_value()) << value;
    EXPECT_EQ(hints.error().why, Reason::malformed);
  }
  EXPECT_FALSE(read_hints(fields_of({{"Penstock-Max-Wait", "1s"}, {"Penstock-Max-Wait", "1s"}})).has_value());
}

TEST(RequestHints, reads_the_weight) {
  EXPECT_EQ(read_hints(fields_of({}))->weight, 1);
  EXPECT_EQ(read_hints(fields_of({{"penstock-weight", "3"}}))->weight, 3);
  EXPECT_EQ(read_hints(fields_of({{"Penstock-Weight", "1000000"}}))->weight, 1'000'000);
  const auto both = read_hints(fields_of({{"Penstock-Weight", "2"}, {"Penstock-Max-Wait", "1s"}}));
  EXPECT_EQ(both->weight, 2);
  EXPECT_EQ(both->max_wait, Duration(1'000'000));
}

TEST(RequestHints, refuses_a_weight_that_is_none) {
  for (const char* value : {"", "0", "-1", "1.5", "2x", "1, 2", "1000001", "99999999999999999999", "+1", "0x10"}) {
    const auto hints = read_hints(fields_of({{"Penstock-Weight", value}}));
    ASSERT_FALSE(hints.has_value()) << value;
    EXPECT_EQ(hints.error().why, Reason::malformed);
  }
  EXPECT_FALSE(read_hints(fields_of({{"Penstock-Weight", "1"}, {"Penstock-Weight", "1"}})).has_value());
}

TEST(RequestHints, is_not_forwarded) {
  EXPECT_EQ(forwarded({{"Penstock-Weight", "3"}, {"Penstock-Max-Wait", "1s"}}), forwarded({}));
}

TEST(RequestId, is_asked_for_by_any_value_and_is_not_forwarded) {
  EXPECT_TRUE(wants_id(fields_of({{"penstock-request-id", ""}})));
  EXPECT_FALSE(wants_id(fields_of({{"X-Request-Id", "1"}})));
  EXPECT_EQ(forwarded({{"Penstock-Request-Id", "mine"}}), forwarded({}));
}

}  // namespace
}  // namespace penstock::http
