// SPDX-License-Identifier: Apache-2.0
// The form of the event log's lines: fields, order, escaping.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "observe/event_log.h"
#include "observe/line_text.h"

namespace penstock::observe {
namespace {

// 2026-11-21T01:35:12.123456Z, from `date -u -d … +%s`.
constexpr std::int64_t kWall = 1795224912'123456;

Event sample(EventKind kind) {
  Event event;
  event.kind = kind;
  event.wall = kWall;
  event.id = "a1-7";
  event.upstream = "github";
  event.method = "GET";
  event.host = "api.github.com";
  event.path = "/user";
  event.pending = 3;
  event.in_flight = 20;
  return event;
}

std::string line_of(const Event& event) {
  std::string line;
  write_json(line, event);
  return line;
}

nlohmann::json parsed(const Event& event) { return nlohmann::json::parse(line_of(event)); }

std::string json_of(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

std::string time_of(std::int64_t wall) {
  std::string out;
  append_timestamp(out, wall);
  return out;
}

TEST(EventLine, a_dispatch_has_the_wait_and_neither_status_nor_bytes) {
  Event event = sample(EventKind::dispatch);
  event.wait = 1234us;
  EXPECT_EQ(line_of(event),
            R"({"ts":"2026-11-21T01:35:12.123456Z","event":"dispatch","id":"a1-7","upstream":"github","group":"",)"
            R"("method":"GET","host":"api.github.com","path":"/user","pending":3,"inFlight":20,"waitMs":1.234})"
            "\n");
}

TEST(EventLine, says_how_often_a_request_was_sent_once_it_has_landed) {
  for (const auto kind : {EventKind::complete, EventKind::error}) {
    Event event = sample(kind);
    EXPECT_EQ(parsed(event)["attempts"], 1);
    event.attempts = 3;
    EXPECT_EQ(parsed(event)["attempts"], 3);
  }
  for (const auto kind : {EventKind::dispatch, EventKind::refused, EventKind::gone})
    EXPECT_FALSE(parsed(sample(kind)).contains("attempts"));
}

TEST(EventLine, says_who_asked_and_in_which_trace_where_that_is_known) {
  Event event = sample(EventKind::dispatch);
  EXPECT_FALSE(parsed(event).contains("client"));
  EXPECT_FALSE(parsed(event).contains("traceId"));
  event.client = "10.0.0.7";
  event.user = "ann";
  event.trace_id = "0af7651916cd43dd8448eb211c80319c";
  const auto line = line_of(event);
  EXPECT_NE(
      line.find(R"("inFlight":20,"client":"10.0.0.7","user":"ann","traceId":"0af7651916cd43dd8448eb211c80319c"})"),
      std::string::npos)
      << line;
}

TEST(EventLine, a_complete_has_everything_that_is_known_in_the_documented_order) {
  Event event = sample(EventKind::complete);
  event.outcome = Outcome::success;
  event.group = "/guilds/7";
  event.status = 200;
  event.wait = 0us;
  event.flight = 1'005'040us;
  event.bytes_in = 18'446'744'073'709'551'615u;
  event.bytes_out = 12;
  event.limited_by = "pacer";
  EXPECT_EQ(line_of(event),
            R"({"ts":"2026-11-21T01:35:12.123456Z","event":"complete","id":"a1-7","upstream":"github",)"
            R"("group":"/guilds/7","method":"GET","host":"api.github.com","path":"/user","pending":3,"inFlight":20,)"
            R"("status":200,"waitMs":0.000,"flightMs":1005.040,"bytesIn":18446744073709551615,"bytesOut":12,)"
            R"("attempts":1,"limitedBy":"pacer"})"
            "\n");
}

TEST(EventLine, says_what_a_request_may_cost_and_has_cost_where_its_upstream_counts_that) {
  EXPECT_FALSE(parsed(sample(EventKind::dispatch)).contains("estimated"));
  Event event = sample(EventKind::complete);
  event.estimated = 700;
  event.estimated_by = "json:max_tokens";
  event.cost = 0;
  EXPECT_NE(line_of(event).find(R"("inFlight":20,"estimated":700,"estimatedBy":"json:max_tokens","cost":0,)"),
            std::string::npos)
      << line_of(event);
}

TEST(EventLine, names_the_route_where_there_is_one) {
  Event event = sample(EventKind::dispatch);
  event.wait = 0us;
  EXPECT_EQ(line_of(event).find("\"route\""), std::string::npos);
  event.route = "/search/\"code\"";
  EXPECT_NE(line_of(event).find(R"("inFlight":20,"route":"/search/\"code\"","waitMs":0.000)"), std::string::npos)
      << line_of(event);
}

TEST(EventLine, a_dispatch_says_for_how_long_a_limit_in_shadow_mode_would_have_held_it) {
  Event event = sample(EventKind::dispatch);
  event.wait = 0us;
  event.would_wait = 712'500us;
  event.would_wait_for = "tried";
  EXPECT_TRUE(line_of(event).ends_with(R"("waitMs":0.000,"wouldWait":"tried","wouldWaitMs":712.500})"
                                       "\n"))
      << line_of(event);
}

TEST(EventLine, an_error_ends_with_its_token_and_its_sentence) {
  Event event = sample(EventKind::error);
  event.status = 504;
  event.error = "connection_timeout";
  event.detail = "no answer from 192.0.2.1:80";
  const std::string line = line_of(event);
  EXPECT_TRUE(line.ends_with(R"("status":504,"bytesIn":0,"bytesOut":0,"attempts":1,"error":"connection_timeout",)"
                             R"("detail":"no answer from 192.0.2.1:80"})"
                             "\n"))
      << line;
}

TEST(EventLine, refused_and_gone_have_no_bytes) {
  for (const auto& [kind, name] : {std::pair{EventKind::refused, "refused"}, std::pair{EventKind::gone, "gone"}}) {
    const auto line = parsed(sample(kind));
    EXPECT_EQ(line["event"], name);
    EXPECT_FALSE(line.contains("bytesIn"));
    EXPECT_FALSE(line.contains("status"));
    EXPECT_FALSE(line.contains("flightMs"));
  }
}

TEST(EventLine, a_refusal_has_its_kind_as_metrics_do) {
  Event event = sample(EventKind::refused);
  event.status = 503;
  event.limited_by = "maxConcurrent";
  event.refusal = "queue_full";
  event.error = "connection_limit_reached";
  const auto line = line_of(event);
  EXPECT_TRUE(line.ends_with(R"("limitedBy":"maxConcurrent","refusal":"queue_full","error":"connection_limit_reached"})"
                             "\n"))
      << line;
}

TEST(EventLine, nothing_that_a_client_sends_breaks_out_of_its_string) {
  Event event = sample(EventKind::refused);
  event.path = "/\",\"event\":\"complete\"}\n{\"a\":\"\\";
  event.method = "G\x01T";
  const std::string line = line_of(event);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_EQ(parsed(event)["path"], "/\",\"event\":\"complete\"}\n{\"a\":\"\\");
  EXPECT_EQ(parsed(event)["event"], "refused");
}

TEST(LineText, controls_are_escaped_and_the_rest_of_ascii_is_not) {
  EXPECT_EQ(json_of("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(json_of(std::string_view{"\0\b\t\n\r\x1f\x7f", 7}), R"("\u0000\u0008\t\n\r\u001f\u007f")");
  EXPECT_EQ(json_of("\xC2\x9B"), R"("\u009b")");
}

TEST(LineText, utf8_is_kept_and_other_bytes_are_replaced) {
  EXPECT_EQ(json_of("grün €😀"), "\"grün €😀\"");
  EXPECT_EQ(json_of("a\xFFz"), "\"a\uFFFDz\"");
  EXPECT_EQ(json_of("\xC0\xAF"), "\"\uFFFD\uFFFD\"");            // overlong
  EXPECT_EQ(json_of("\xED\xA0\x80"), "\"\uFFFD\uFFFD\uFFFD\"");  // a surrogate
  EXPECT_EQ(json_of("\xE2\x82"), "\"\uFFFD\"");                  // cut short
  EXPECT_EQ(json_of("\xF0\x9F\x98"
                    "A"),
            "\"\uFFFD"
            "A\"");
  EXPECT_EQ(json_of("\xF4\x90\x80\x80"), "\"\uFFFD\uFFFD\uFFFD\uFFFD\"");  // beyond U+10FFFF
}

TEST(LineText, whatever_the_bytes_the_line_is_valid_json) {
  std::string bytes;
  for (int first = 0; first < 256; ++first) {
    for (int second = 0; second < 256; ++second) {
      bytes.assign({static_cast<char>(first), static_cast<char>(second), '\x80', '"'});
      ASSERT_TRUE(nlohmann::json::accept(json_of(bytes))) << first << " " << second;
    }
  }
}

TEST(LineText, a_long_text_is_cut_at_a_character_and_marked) {
  EXPECT_EQ(json_of(std::string(kLongestText, 'a')).size(), kLongestText + 2);
  EXPECT_EQ(json_of(std::string(kLongestText + 1, 'a')), "\"" + std::string(kLongestText, 'a') + "…\"");
  EXPECT_EQ(json_of(std::string(kLongestText - 1, 'a') + "€uro"), "\"" + std::string(kLongestText - 1, 'a') + "…\"");
}

TEST(LineText, timestamps_are_rfc_3339) {
  EXPECT_EQ(time_of(0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(time_of(kWall), "2026-11-21T01:35:12.123456Z");
  EXPECT_EQ(time_of(951'782'399'999'999), "2000-02-28T23:59:59.999999Z");
  EXPECT_EQ(time_of(951'782'400'000'000), "2000-02-29T00:00:00.000000Z");
}

TEST(LineText, milliseconds_have_three_decimals) {
  const auto text = [](Duration duration) {
    std::string out;
    append_milliseconds(out, duration);
    return out;
  };
  EXPECT_EQ(text(0us), "0.000");
  EXPECT_EQ(text(7us), "0.007");
  EXPECT_EQ(text(60s), "60000.000");
  EXPECT_EQ(text(-1us), "0.000");
}

TEST(EventLine, a_tunnel_says_so_and_at_its_end_what_its_client_said_in_the_clear) {
  Event event = sample(EventKind::complete);
  event.method = "CONNECT";
  event.path = "";
  event.tunnel = true;
  event.status = 200;
  event.bytes_in = 5208;
  event.bytes_out = 722;
  event.sni = "api.github.com";
  event.alpn = "h2,http/1.1";
  EXPECT_EQ(line_of(event),
            R"({"ts":"2026-11-21T01:35:12.123456Z","event":"complete","id":"a1-7","upstream":"github","group":"",)"
            R"("method":"CONNECT","host":"api.github.com","path":"","pending":3,"inFlight":20,"tunnel":true,)"
            R"("status":200,"bytesIn":5208,"bytesOut":722,"attempts":1,"sni":"api.github.com","alpn":"h2,http/1.1"})"
            "\n");
}

TEST(EventLine, a_permit_says_so_and_has_no_host) {
  Event event = sample(EventKind::dispatch);
  event.host = "";
  event.path = "/@db";
  event.permit = true;
  EXPECT_EQ(line_of(event),
            R"({"ts":"2026-11-21T01:35:12.123456Z","event":"dispatch","id":"a1-7","upstream":"github","group":"",)"
            R"("method":"GET","host":"","path":"/@db","pending":3,"inFlight":20,"permit":true})"
            "\n");
  EXPECT_EQ(line_of(sample(EventKind::dispatch)).find("permit"), std::string::npos);
}

TEST(EventLine, a_request_for_another_protocol_says_which) {
  Event event = sample(EventKind::dispatch);
  event.upgrade = "websocket";
  EXPECT_NE(line_of(event).find(R"("inFlight":20,"upgrade":"websocket")"), std::string::npos) << line_of(event);
}

}  // namespace
}  // namespace penstock::observe
