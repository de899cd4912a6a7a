// SPDX-License-Identifier: Apache-2.0
// The table from reason to status and token, and the words made safe for a status line and for Proxy-Status.
#include "http/refusal.h"

#include <gtest/gtest.h>

#include <set>

namespace penstock::http {
namespace {

using namespace std::chrono_literals;

struct Expected {
  Reason why;
  int status;
  const char* token;
};

constexpr Expected kExpected[] = {
    {Reason::queue_full, 503, "connection_limit_reached"},
    {Reason::wait_over, 503, "connection_limit_reached"},
    {Reason::draining, 503, "connection_limit_reached"},
    {Reason::pending_memory, 503, "connection_limit_reached"},
    {Reason::too_many_clients, 503, "connection_limit_reached"},
    {Reason::limit_refused, 429, "http_request_denied"},
    {Reason::limit_too_heavy, 400, "http_request_error"},
    {Reason::limiter_down, 503, "destination_unavailable"},
    {Reason::client_denied, 403, "http_request_denied"},
    {Reason::credentials, 407, "http_request_denied"},
    {Reason::credentials_busy, 503, "connection_limit_reached"},
    {Reason::page_denied, 403, "http_request_denied"},
    {Reason::destination_denied, 403, "destination_ip_prohibited"},
    {Reason::destination_unnamed, 403, "http_request_denied"},
    {Reason::port_denied, 403, "http_request_denied"},
    {Reason::gateway_unknown, 404, "destination_not_found"},
    {Reason::permit_method, 405, "http_request_denied"},
    {Reason::malformed, 400, "http_request_error"},
    {Reason::head_timeout, 408, "http_request_error"},
    {Reason::body_timeout, 408, "http_request_error"},
    {Reason::target_too_long, 414, "http_request_error"},
    {Reason::expectation_unknown, 417, "http_request_error"},
    {Reason::head_too_large, 431, "http_request_error"},
    {Reason::not_implemented, 501, "http_request_error"},
    {Reason::version_unsupported, 505, "http_request_error"},
    {Reason::loop, 502, "proxy_loop_detected"},
    {Reason::dns_error, 502, "dns_error"},
    {Reason::dns_timeout, 504, "dns_timeout"},
    {Reason::connection_refused, 502, "connection_refused"},
    {Reason::connection_timeout, 504, "connection_timeout"},
    {Reason::connection_terminated, 502, "connection_terminated"},
    {Reason::destination_unroutable, 502, "destination_ip_unroutable"},
    {Reason::response_timeout, 504, "http_response_timeout"},
    {Reason::read_timeout, 504, "connection_read_timeout"},
    {Reason::response_incomplete, 502, "http_response_incomplete"},
    {Reason::response_head_too_large, 502, "http_response_header_section_size"},
    {Reason::response_coding, 502, "http_response_transfer_coding"},
    {Reason::protocol_error, 502, "http_protocol_error"},
    {Reason::upgrade_failed, 502, "http_upgrade_failed"},
    {Reason::tls_protocol_error, 502, "tls_protocol_error"},
    {Reason::tls_certificate_error, 502, "tls_certificate_error"},
    {Reason::destination_unavailable, 503, "destination_unavailable"},
    {Reason::misdirected, 421, "http_request_error"},
    {Reason::max_forwards, 405, "http_request_denied"},
    {Reason::unreachable, 502, "destination_unavailable"},
    {Reason::lease_lost, 503, "destination_unavailable"},
    {Reason::unconfigured, 500, "proxy_configuration_error"},
    {Reason::internal_error, 500, "proxy_internal_error"},
};

TEST(Wording, gives_each_reason_its_status_and_rfc_9209_token) {
  std::set<Reason> tried;
  for (const Expected& expected : kExpected) tried.insert(expected.why);
  EXPECT_EQ(tried.size(), static_cast<std::size_t>(Reason::internal_error) + 1) << "each of them";
  for (const Expected& expected : kExpected) {
    EXPECT_EQ(wording(expected.why).status, expected.status) << wording(expected.why).kind;
    EXPECT_EQ(wording(expected.why).token, expected.token) << wording(expected.why).kind;
  }
}

TEST(Wording, gives_each_reason_a_label_of_its_own) {
  std::set<std::string_view> kinds;
  for (int why = 0; why <= static_cast<int>(Reason::internal_error); ++why)
    kinds.insert(wording(static_cast<Reason>(why)).kind);
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(Reason::internal_error) + 1);
  EXPECT_EQ(wording(Reason::queue_full).kind, "queue_full");
  EXPECT_EQ(wording(Reason::internal_error).kind, "internal_error");
}

TEST(Refusal, takes_its_status_from_the_table_unless_it_has_one) {
  EXPECT_EQ((Refusal{.why = Reason::malformed}).status_code(), 400);
  EXPECT_EQ((Refusal{.why = Reason::malformed, .status = 422}).status_code(), 422);
}

TEST(RefusalUntil, says_how_long_to_wait_in_the_two_largest_units_and_never_too_little) {
  const auto words = [](Duration wait) { return refusal_until(Reason::limit_refused, "limited", wait).details; };
  EXPECT_EQ(words(Duration{1}), "limited, retry in 1s");
  EXPECT_EQ(words(7s), "limited, retry in 7s");
  EXPECT_EQ(words(Duration{7'000'001}), "limited, retry in 8s");
  EXPECT_EQ(words(59s), "limited, retry in 59s");
  EXPECT_EQ(words(60s), "limited, retry in 1m");
  EXPECT_EQ(words(125s), "limited, retry in 2m 5s");
  EXPECT_EQ(words(3'599s), "limited, retry in 59m 59s");
  EXPECT_EQ(words(3'600s), "limited, retry in 1h");
  EXPECT_EQ(words(50'505s), "limited, retry in 14h 2m");
  EXPECT_EQ(words(86'399s), "limited, retry in 24h");
  EXPECT_EQ(words(86'401s), "limited, retry in 1d 1h");
  EXPECT_EQ(words(7 * 86'400s), "limited, retry in 7d");
}

TEST(RetryAfter, is_rounded_up_in_seconds_and_in_milliseconds) {
  EXPECT_EQ(retry_after_seconds(Duration{1'000'001}), "2");
  EXPECT_EQ(retry_after_seconds(1s), "1");
  EXPECT_EQ(retry_after_milliseconds(Duration{1'000'001}), "1002");
  EXPECT_EQ(retry_after_milliseconds(1s), "1001") << "a timer that counts milliseconds may begin within one";
}

TEST(ReasonPhrase, says_who_speaks_and_what_is_wrong) {
  EXPECT_EQ(reason_phrase({.why = Reason::queue_full, .details = "github queue full, retry in 7s"}),
            "Penstock: github queue full, retry in 7s");
  EXPECT_EQ(reason_phrase({.why = Reason::protocol_error}), "Penstock: Bad Gateway");
}

TEST(ReasonPhrase, is_printable_ascii_of_at_most_200_bytes) {
  EXPECT_EQ(reason_phrase({.why = Reason::loop, .details = "a\r\nSet-Cookie: x\x1b\xc3\xbc"}),
            "Penstock: a??Set-Cookie: x???");
  EXPECT_EQ(reason_phrase({.why = Reason::loop, .details = std::string(1000, 'x')}).size(), 200u);
}

TEST(ProxyStatus, names_the_proxy_the_error_and_the_details) {
  EXPECT_EQ(proxy_status({.why = Reason::queue_full, .details = "github queue full, retry in 7s"}, "penstock"),
            "penstock; error=connection_limit_reached; details=\"github queue full, retry in 7s\"");
  EXPECT_EQ(proxy_status({.why = Reason::loop}, "penstock"), "penstock; error=proxy_loop_detected");
}

TEST(ProxyStatus, has_the_word_of_the_name_server_beside_the_token) {
  EXPECT_EQ(proxy_status({.why = Reason::dns_error, .details = "no such name", .rcode = "NXDOMAIN"}, "penstock"),
            "penstock; error=dns_error; rcode=\"NXDOMAIN\"; details=\"no such name\"");
}

TEST(ProxyStatus, says_how_often_a_request_was_sent_if_more_than_once) {
  EXPECT_EQ(proxy_status({.why = Reason::loop, .attempts = 1}, "p"), "p; error=proxy_loop_detected");
  EXPECT_EQ(proxy_status({.why = Reason::loop, .attempts = 2}, "p"), "p; error=proxy_loop_detected; attempts=2");
  EXPECT_EQ(proxy_status(3, "p"), "p; attempts=3");
}

TEST(ProxyStatus, escapes_quotes_and_backslashes) {
  EXPECT_EQ(proxy_status({.why = Reason::malformed, .details = R"(a "b" \ c)"}, "p"),
            R"(p; error=http_request_error; details="a \"b\" \\ c")");
}

TEST(ProxyStatus, holds_no_controls_nor_high_bytes) {
  EXPECT_EQ(proxy_status({.why = Reason::malformed, .details = "a\r\nb\tc\xff"}, "p"),
            "p; error=http_request_error; details=\"a??b?c?\"");
}

TEST(ProxyStatus, quotes_a_name_that_is_no_token) {
  EXPECT_EQ(proxy_status({.why = Reason::loop}, "my proxy"), "\"my proxy\"; error=proxy_loop_detected");
  EXPECT_EQ(proxy_status({.why = Reason::loop}, "9"), "\"9\"; error=proxy_loop_detected");
}

TEST(ProxyStatus, has_no_error_where_there_was_none) {
  EXPECT_EQ(proxy_status({.why = Reason::max_forwards, .details = "here", .status = 200}, "p"), "p; details=\"here\"");
}

TEST(StandardReason, is_that_of_rfc_9110) {
  EXPECT_EQ(standard_reason(404), "Not Found");
  EXPECT_EQ(standard_reason(502), "Bad Gateway");
  EXPECT_EQ(standard_reason(299), "");
}

}  // namespace
}  // namespace penstock::http
