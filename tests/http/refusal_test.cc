// SPDX-License-Identifier: Apache-2.0
// The table from reason to status and token, and the words made safe for a status line and for Proxy-Status.
#include "http/refusal.h"

#include <gtest/gtest.h>

#include <set>

namespace penstock::http {
namespace {

using namespace std::chrono_literals;

struct Expected {
  Why why;
  int status;
  const char* token;
};

constexpr Expected kExpected[] = {
    {Why::queue_full, 503, "connection_limit_reached"},
    {Why::wait_over, 503, "connection_limit_reached"},
    {Why::draining, 503, "connection_limit_reached"},
    {Why::pending_memory, 503, "connection_limit_reached"},
    {Why::too_many_clients, 503, "connection_limit_reached"},
    {Why::limit_refused, 429, "http_request_denied"},
    {Why::limit_too_heavy, 400, "http_request_error"},
    {Why::limiter_down, 503, "destination_unavailable"},
    {Why::client_denied, 403, "http_request_denied"},
    {Why::credentials, 407, "http_request_denied"},
    {Why::credentials_busy, 503, "connection_limit_reached"},
    {Why::page_denied, 403, "http_request_denied"},
    {Why::destination_denied, 403, "destination_ip_prohibited"},
    {Why::destination_unnamed, 403, "http_request_denied"},
    {Why::port_denied, 403, "http_request_denied"},
    {Why::gateway_unknown, 404, "destination_not_found"},
    {Why::malformed, 400, "http_request_error"},
    {Why::head_timeout, 408, "http_request_error"},
    {Why::body_timeout, 408, "http_request_error"},
    {Why::target_too_long, 414, "http_request_error"},
    {Why::expectation_unknown, 417, "http_request_error"},
    {Why::head_too_large, 431, "http_request_error"},
    {Why::not_implemented, 501, "http_request_error"},
    {Why::version_unsupported, 505, "http_request_error"},
    {Why::loop, 502, "proxy_loop_detected"},
    {Why::dns_error, 502, "dns_error"},
    {Why::dns_timeout, 504, "dns_timeout"},
    {Why::connection_refused, 502, "connection_refused"},
    {Why::connection_timeout, 504, "connection_timeout"},
    {Why::connection_terminated, 502, "connection_terminated"},
    {Why::destination_unroutable, 502, "destination_ip_unroutable"},
    {Why::response_timeout, 504, "http_response_timeout"},
    {Why::read_timeout, 504, "connection_read_timeout"},
    {Why::response_incomplete, 502, "http_response_incomplete"},
    {Why::response_head_too_large, 502, "http_response_header_section_size"},
    {Why::response_coding, 502, "http_response_transfer_coding"},
    {Why::protocol_error, 502, "http_protocol_error"},
    {Why::upgrade_failed, 502, "http_upgrade_failed"},
    {Why::tls_protocol_error, 502, "tls_protocol_error"},
    {Why::tls_certificate_error, 502, "tls_certificate_error"},
    {Why::destination_unavailable, 503, "destination_unavailable"},
    {Why::destination_unavailable, 503, "destination_unavailable"},
    {Why::lease_lost, 503, "destination_unavailable"},
    {Why::unconfigured, 500, "proxy_configuration_error"},
    {Why::internal_error, 500, "proxy_internal_error"},
};

TEST(Wording, gives_each_reason_its_status_and_rfc_9209_token) {
  for (const Expected& expected : kExpected) {
    EXPECT_EQ(wording(expected.why).status, expected.status) << wording(expected.why).kind;
    EXPECT_EQ(wording(expected.why).token, expected.token) << wording(expected.why).kind;
  }
}

TEST(Wording, gives_each_reason_a_label_of_its_own) {
  std::set<std::string_view> kinds;
  for (int why = 0; why <= static_cast<int>(Why::internal_error); ++why)
    kinds.insert(wording(static_cast<Why>(why)).kind);
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(Why::internal_error) + 1);
  EXPECT_EQ(wording(Why::queue_full).kind, "queue_full");
  EXPECT_EQ(wording(Why::internal_error).kind, "internal_error");
}

TEST(Refusal, takes_its_status_from_the_table_unless_it_has_one) {
  EXPECT_EQ((Refusal{.why = Why::malformed}).status_code(), 400);
  EXPECT_EQ((Refusal{.why = Why::malformed, .status = 422}).status_code(), 422);
}

TEST(RefusalUntil, says_how_long_to_wait_in_the_two_largest_units_and_never_too_little) {
  const auto words = [](Duration wait) { return refusal_until(Why::limit_refused, "limited", wait).details; };
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
  EXPECT_EQ(reason_phrase({.why = Why::queue_full, .details = "github queue full, retry in 7s"}),
            "Penstock: github queue full, retry in 7s");
  EXPECT_EQ(reason_phrase({.why = Why::protocol_error}), "Penstock: Bad Gateway");
}

TEST(ReasonPhrase, is_printable_ascii_of_at_most_200_bytes) {
  EXPECT_EQ(reason_phrase({.why = Why::loop, .details = "a\r\nSet-Cookie: x\x1b\xc3\xbc"}),
            "Penstock: a??Set-Cookie: x???");
  EXPECT_EQ(reason_phrase({.why = Why::loop, .details = std::string(1000, 'x')}).size(), 200u);
}

TEST(ProxyStatus, names_the_proxy_the_error_and_the_details) {
  EXPECT_EQ(proxy_status({.why = Why::queue_full, .details = "github queue full, retry in 7s"}, "penstock"),
            "penstock; error=connection_limit_reached; details=\"github queue full, retry in 7s\"");
  EXPECT_EQ(proxy_status({.why = Why::loop}, "penstock"), "penstock; error=proxy_loop_detected");
}

TEST(ProxyStatus, has_the_word_of_the_name_server_beside_the_token) {
  EXPECT_EQ(proxy_status({.why = Why::dns_error, .details = "no such name", .rcode = "NXDOMAIN"}, "penstock"),
            "penstock; error=dns_error; rcode=\"NXDOMAIN\"; details=\"no such name\"");
}

TEST(ProxyStatus, escapes_quotes_and_backslashes) {
  EXPECT_EQ(proxy_status({.why = Why::malformed, .details = R"(a "b" \ c)"}, "p"),
            R"(p; error=http_request_error; details="a \"b\" \\ c")");
}

TEST(ProxyStatus, holds_no_controls_nor_high_bytes) {
  EXPECT_EQ(proxy_status({.why = Why::malformed, .details = "a\r\nb\tc\xff"}, "p"),
            "p; error=http_request_error; details=\"a??b?c?\"");
}

TEST(ProxyStatus, quotes_a_name_that_is_no_token) {
  EXPECT_EQ(proxy_status({.why = Why::loop}, "my proxy"), "\"my proxy\"; error=proxy_loop_detected");
  EXPECT_EQ(proxy_status({.why = Why::loop}, "9"), "\"9\"; error=proxy_loop_detected");
}

TEST(ProxyStatus, has_no_error_where_there_was_none) {
  EXPECT_EQ(proxy_status({.why = Why::max_forwards, .details = "here", .status = 200}, "p"), "p; details=\"here\"");
}

TEST(StandardReason, is_that_of_rfc_9110) {
  EXPECT_EQ(standard_reason(404), "Not Found");
  EXPECT_EQ(standard_reason(502), "Bad Gateway");
  EXPECT_EQ(standard_reason(299), "");
}

}  // namespace
}  // namespace penstock::http
