// SPDX-License-Identifier: Apache-2.0
// Response heads and trailers, line by line: what is cleaned, what is judged, what is refused and as what.
#include "http/response_head.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "http/grammar.h"

namespace penstock::http {
namespace {

using namespace std::string_literals;
using Verdict = ResponseHeadReader::Verdict;

constexpr std::size_t kBytes = 64 * 1024;
constexpr std::size_t kLines = 200;

/// Feeds lines until one is not `more`; gives that verdict.
Verdict feed(ResponseHeadReader& reader, const std::vector<std::string>& lines) {
  Verdict verdict = Verdict::more;
  for (const std::string& line : lines) {
    verdict = reader.on_line(line);
    if (verdict != Verdict::more) break;
  }
  return verdict;
}

ResponseHead response_head_of(std::vector<std::string> lines, const std::string& status_line = "HTTP/1.1 200 OK\r\n") {
  ResponseHeadReader reader(kBytes, kLines);
  lines.insert(lines.begin(), status_line);
  lines.push_back("\r\n");
  EXPECT_EQ(feed(reader, lines), Verdict::final) << reader.details();
  return reader.head();
}

Reason why_bad(std::vector<std::string> lines, const std::string& status_line = "HTTP/1.1 200 OK\r\n") {
  ResponseHeadReader reader(kBytes, kLines);
  lines.insert(lines.begin(), status_line);
  lines.push_back("\r\n");
  EXPECT_EQ(feed(reader, lines), Verdict::bad) << lines.front() << lines.at(lines.size() - 2);
  EXPECT_FALSE(reader.details().empty());
  return reader.why();
}

TEST(ResponseHead, is_read_line_by_line) {
  const ResponseHead head = response_head_of(
      {"Content-Type: text/plain\r\n", "X-Empty:\r\n", "x:  a b \t\r\n", "X: c\n"}, "HTTP/1.1 404 Not Found\r\n");
  EXPECT_EQ(head.status, 404);
  EXPECT_EQ(head.reason, "Not Found");
  EXPECT_EQ(head.minor_version, 1);
  ASSERT_EQ(head.fields.size(), 4u);
  EXPECT_EQ(head.fields[1].value, "");
  EXPECT_EQ(head.fields[2].value, "a b");
  EXPECT_EQ(head.fields[3].name, "X");
  EXPECT_FALSE(head.has_length);
  EXPECT_FALSE(head.chunked);
}

TEST(ResponseHead, may_have_an_empty_reason_or_none) {
  EXPECT_EQ(response_head_of({}, "HTTP/1.1 200 \r\n").reason, "");
  EXPECT_EQ(response_head_of({}, "HTTP/1.1 200\r\n").status, 200);
  EXPECT_EQ(response_head_of({}, "HTTP/1.0 599 x\n").minor_version, 0);
}

TEST(ResponseHead, is_refused_where_the_status_line_is_not_http_1) {
  for (const char* line :
       {"HTTP/2 200 OK\r\n", "HTTP/2.0 200 OK\r\n", "http/1.1 200 OK\r\n", "ICY 200 OK\r\n", "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/1.1\r\n", "HTTP/1.1 \r\n", "HTTP/1.1 20\r\n", "HTTP/1.1 2000 OK\r\n", "HTTP/1.1  200 OK\r\n",
        "HTTP/1.1 2x0 OK\r\n", "HTTP/1.1 +20 OK\r\n", "HTTP/1.x 200 OK\r\n", "HTTP/1.10 200 OK\r\n", "\r\n",
        "HTTP/1.1 099 x\r\n", "HTTP/1.1 600 x\r\n", "HTTP/1.1 999 x\r\n", "HTTP/1.1 000 x\r\n"}) {
    EXPECT_EQ(why_bad({}, line), Reason::protocol_error) << line;
  }
}

TEST(ResponseHead, is_cleaned_of_blanks_before_a_colon) {
  EXPECT_EQ(response_head_of({"Name : v\r\n"}).fields[0].name, "Name");
  EXPECT_EQ(response_head_of({"Name \t: v\r\n"}).fields[0].value, "v");
}

TEST(ResponseHead, unfolds_lines_to_one_blank) {
  const ResponseHead head =
      response_head_of({"X: a\r\n", "  b\r\n", "\tc \r\n", "Y:\r\n", " d\r\n", "Z: e\r\n", " \r\n"});
  EXPECT_EQ(head.fields.find("X"), "a b c");
  EXPECT_EQ(head.fields.find("Y"), "d");
  EXPECT_EQ(head.fields.find("Z"), "e");
  EXPECT_EQ(head.fields.size(), 3u);
}

TEST(ResponseHead, is_refused_where_a_framing_field_has_a_blank_before_its_colon) {
  EXPECT_EQ(why_bad({"Content-Length : 5\r\n"}), Reason::protocol_error);
  EXPECT_EQ(why_bad({"Transfer-Encoding : chunked\r\n"}), Reason::protocol_error);
  EXPECT_EQ(why_bad({"Connection\t: close\r\n"}), Reason::protocol_error);
}

TEST(ResponseHead, is_refused_where_a_framing_field_is_folded_or_a_fold_comes_first) {
  EXPECT_EQ(why_bad({"Content-Length: 5\r\n", " 7\r\n"}), Reason::protocol_error);
  EXPECT_EQ(why_bad({"Content-Length:\r\n", " 5\r\n"}), Reason::protocol_error);
  EXPECT_EQ(why_bad({"Transfer-Encoding: chunked\r\n", " , gzip\r\n"}), Reason::protocol_error);
  EXPECT_EQ(why_bad({"Transfer-Encoding:\r\n", " chunked\r\n"}), Reason::protocol_error);
  EXPECT_EQ(why_bad({" X: y\r\n"}), Reason::protocol_error);
}

TEST(ResponseHead, is_refused_where_a_name_is_no_token) {
  for (const char* line : {": v\r\n", " : v\r\n", "no colon\r\n", "a b: v\r\n", "a(b: v\r\n", "a\x80: v\r\n",
                           "\"a\": v\r\n", "a/b: v\r\n"}) {
    EXPECT_EQ(why_bad({line}), Reason::protocol_error) << line;
  }
  EXPECT_EQ(why_bad({"nocolon\r\n"}), Reason::protocol_error);
  EXPECT_EQ(why_bad({"a\"b: v\r\n"}), Reason::protocol_error);
}

TEST(ResponseHead, is_refused_with_a_control_character_anywhere) {
  for (const char c : "\0\r\v\x1b\x7f\x01"s) {
    EXPECT_EQ(why_bad({"X: a"s + c + "b\r\n"}), Reason::protocol_error) << static_cast<int>(c);
    EXPECT_EQ(why_bad({"X"s + c + ": b\r\n"}), Reason::protocol_error) << static_cast<int>(c);
    EXPECT_EQ(why_bad({}, "HTTP/1.1 200 O"s + c + "K\r\n"), Reason::protocol_error) << static_cast<int>(c);
  }
  EXPECT_EQ(why_bad({"X: y\nSet-Cookie: z\r\n"}), Reason::protocol_error);
}

TEST(ResponseFraming, takes_one_content_length) {
  const ResponseHead head = response_head_of({"Content-Length: 12\r\n"});
  EXPECT_TRUE(head.has_length);
  EXPECT_EQ(head.content_length, 12u);
  EXPECT_EQ(response_head_of({"Content-Length: 9223372036854775807\r\n"}).content_length, 9223372036854775807u);
}

TEST(ResponseFraming, takes_content_lengths_that_all_agree) {
  EXPECT_EQ(response_head_of({"Content-Length: 5\r\n", "content-length: 5\r\n"}).content_length, 5u);
  EXPECT_EQ(response_head_of({"Content-Length: 5, 5\r\n"}).content_length, 5u);
}

TEST(ResponseFraming, is_refused_with_content_lengths_that_disagree_or_are_none) {
  for (const char* value : {"5abc", "5, 7", "", "-1", "+5", "0x5", "5 5", "5;", "9223372036854775808",
                            "18446744073709551617", "5,", ",5", "\"5\"", "5.0"}) {
    EXPECT_EQ(why_bad({"Content-Length: "s + value + "\r\n"}), Reason::protocol_error) << value;
  }
  EXPECT_EQ(why_bad({"Content-Length: 5\r\n", "Content-Length: 7\r\n"}), Reason::protocol_error);
}

TEST(ResponseFraming, drops_the_length_beside_chunked) {
  const ResponseHead head = response_head_of({"Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n"});
  EXPECT_TRUE(head.chunked);
  EXPECT_FALSE(head.has_length);
  EXPECT_TRUE(head.framed_twice);
  EXPECT_FALSE(response_head_of({"Transfer-Encoding: chunked\r\n"}).framed_twice);
  EXPECT_FALSE(response_head_of({"Content-Length: 3\r\n"}).framed_twice);
  EXPECT_EQ(head.content_length, 0u);
  EXPECT_EQ(why_bad({"Content-Length: 3x\r\n", "Transfer-Encoding: chunked\r\n"}), Reason::protocol_error);
}

TEST(ResponseFraming, is_refused_with_a_coding_that_is_not_chunked) {
  for (const char* value : {"gzip", "gzip, chunked", "chunked, gzip", "identity", "xchunked", "chunked;q=1",
                            "chunked, chunked", "", ",chunked"}) {
    EXPECT_EQ(why_bad({"Transfer-Encoding: "s + value + "\r\n"}), Reason::response_coding) << value;
  }
  EXPECT_EQ(why_bad({"Transfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\n"}), Reason::response_coding);
  EXPECT_TRUE(response_head_of({"Transfer-Encoding: Chunked \r\n"}).chunked);
}

TEST(ResponseFraming, is_refused_with_a_coding_in_http_1_0) {
  EXPECT_EQ(why_bad({"Transfer-Encoding: chunked\r\n"}, "HTTP/1.0 200 OK\r\n"), Reason::protocol_error);
}

TEST(ResponseFraming, says_whether_a_body_follows) {
  EXPECT_TRUE(response_head_of({}).has_body("GET"));
  EXPECT_TRUE(response_head_of({"Content-Length: 5\r\n"}).has_body("GET"));
  EXPECT_TRUE(response_head_of({"Transfer-Encoding: chunked\r\n"}).has_body("POST"));
  EXPECT_FALSE(response_head_of({"Content-Length: 0\r\n"}).has_body("GET"));
  EXPECT_FALSE(response_head_of({"Content-Length: 5\r\n"}).has_body("HEAD"));
  EXPECT_FALSE(response_head_of({"Content-Length: 5\r\n"}, "HTTP/1.1 304 Not Modified\r\n").has_body("GET"));
  EXPECT_FALSE(response_head_of({}, "HTTP/1.1 204 No Content\r\n").has_body("GET"));
}

TEST(InterimHeads, come_before_the_final_one_and_do_not_mix_with_it) {
  ResponseHeadReader reader(kBytes, kLines);
  EXPECT_EQ(feed(reader, {"HTTP/1.1 100 Continue\r\n", "\r\n"}), Verdict::interim);
  EXPECT_EQ(reader.head().status, 100);
  EXPECT_EQ(feed(reader, {"HTTP/1.1 103 Early Hints\r\n", "Link: <x>\r\n", "\r\n"}), Verdict::interim);
  EXPECT_EQ(reader.head().status, 103);
  EXPECT_EQ(reader.head().fields.find("link"), "<x>");
  EXPECT_EQ(feed(reader, {"HTTP/1.1 200 OK\r\n", "A: b\r\n", "\r\n"}), Verdict::final);
  EXPECT_EQ(reader.head().status, 200);
  EXPECT_EQ(reader.head().fields.find("link"), std::nullopt);
  EXPECT_EQ(reader.head().fields.size(), 1u);
}

TEST(InterimHeads, are_capped) {
  ResponseHeadReader reader(kBytes, kLines, 3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(feed(reader, {"HTTP/1.1 102 Processing\r\n", "\r\n"}), Verdict::interim);
  EXPECT_EQ(feed(reader, {"HTTP/1.1 102 Processing\r\n", "\r\n"}), Verdict::bad);
  EXPECT_EQ(reader.why(), Reason::response_head_too_large);
}

TEST(InterimHeads, may_not_switch_protocols) {
  EXPECT_EQ(why_bad({"Upgrade: websocket\r\n", "Connection: Upgrade\r\n"}, "HTTP/1.1 101 Switching Protocols\r\n"),
            Reason::upgrade_failed);
}

TEST(ResponseHead, may_not_ask_for_proxy_credentials) {
  EXPECT_EQ(why_bad({"Proxy-Authenticate: Basic\r\n"}, "HTTP/1.1 407 Proxy Authentication Required\r\n"),
            Reason::protocol_error);
}

TEST(ResponseCaps, count_bytes_and_lines_of_each_section) {
  ResponseHeadReader bytes(100, kLines);
  EXPECT_EQ(feed(bytes, {"HTTP/1.1 200 OK\r\n", "X: " + std::string(100, 'x') + "\r\n"}), Verdict::bad);
  EXPECT_EQ(bytes.why(), Reason::response_head_too_large);

  ResponseHeadReader lines(kBytes, 2);
  EXPECT_EQ(feed(lines, {"HTTP/1.1 200 OK\r\n", "A: 1\r\n", "B: 2\r\n", "C: 3\r\n"}), Verdict::bad);
  EXPECT_EQ(lines.why(), Reason::response_head_too_large);

  ResponseHeadReader just(kBytes, 2);
  EXPECT_EQ(feed(just, {"HTTP/1.1 200 OK\r\n", "A: 1\r\n", "B: 2\r\n", "\r\n"}), Verdict::final);
  EXPECT_EQ(feed(just, {"C: 1\r\n", "D: 2\r\n"}), Verdict::more);
  EXPECT_EQ(just.on_line("E: 3\r\n"), Verdict::bad);
}

TEST(ResponseCaps, begin_anew_with_each_section) {
  const std::vector<std::string> interim = {"HTTP/1.1 103 x\r\n", "X: " + std::string(60, 'x') + "\r\n", "\r\n"};
  ResponseHeadReader reader(100, kLines);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(feed(reader, interim), Verdict::interim);
  EXPECT_EQ(feed(reader, {"HTTP/1.1 200 x\r\n", "X: " + std::string(60, 'x') + "\r\n", "\r\n"}), Verdict::final);
  EXPECT_EQ(feed(reader, {"T: " + std::string(60, 'x') + "\r\n"}), Verdict::more);
}

TEST(ResponseCaps, count_all_interim_heads_together) {
  const std::vector<std::string> interim = {"HTTP/1.1 103 x\r\n", "X: " + std::string(60, 'x') + "\r\n", "\r\n"};
  ResponseHeadReader reader(100, kLines, 100, 3 * 83);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(feed(reader, interim), Verdict::interim);
  EXPECT_EQ(feed(reader, interim), Verdict::bad);
  EXPECT_EQ(reader.why(), Reason::response_head_too_large);
}

TEST(ResponseCaps, count_folded_lines_as_lines) {
  ResponseHeadReader reader(kBytes, 3);
  EXPECT_EQ(feed(reader, {"HTTP/1.1 200 OK\r\n", "A: 1\r\n", " 2\r\n", " 3\r\n", " 4\r\n"}), Verdict::more);
  EXPECT_EQ(reader.on_line(" 5\r\n"), Verdict::bad);
  EXPECT_EQ(reader.why(), Reason::response_head_too_large);
}

TEST(ResponseCaps, hold_against_a_fold_without_end) {
  ResponseHeadReader reader(1000, kLines);
  reader.on_line("HTTP/1.1 200 OK\r\n");
  reader.on_line("X: y\r\n");
  Verdict verdict = Verdict::more;
  for (int i = 0; i < 1000 && verdict == Verdict::more; ++i) verdict = reader.on_line(" more\r\n");
  EXPECT_EQ(verdict, Verdict::bad);
}

TEST(ResponseHead, is_refused_with_too_many_nominations) {
  std::string names;
  for (int i = 0; i < 33; ++i) names += "x" + std::to_string(i) + ",";
  EXPECT_EQ(why_bad({"Connection: " + names + "\r\n"}), Reason::protocol_error);
}

TEST(ResponseTrailers, follow_the_final_head) {
  ResponseHeadReader reader(kBytes, kLines);
  ASSERT_EQ(feed(reader, {"HTTP/1.1 200 OK\r\n", "Transfer-Encoding: chunked\r\n", "\r\n"}), Verdict::final);
  EXPECT_EQ(feed(reader, {"X-Sum : 1\r\n", "Y: a\r\n", " b\r\n", "\r\n"}), Verdict::more);
  EXPECT_EQ(reader.trailers().find("x-sum"), "1");
  EXPECT_EQ(reader.trailers().find("y"), "a b");
  EXPECT_EQ(reader.head().fields.size(), 1u);
}

TEST(ResponseTrailers, are_refused_like_fields) {
  for (const std::string& line : {"no colon\r\n"s, "a b: c\r\n"s, "X: a\0b\r\n"s, " X: y\r\n"s}) {
    ResponseHeadReader reader(kBytes, kLines);
    ASSERT_EQ(feed(reader, {"HTTP/1.1 200 OK\r\n", "\r\n"}), Verdict::final);
    EXPECT_EQ(reader.on_line(line), Verdict::bad) << line;
    EXPECT_EQ(reader.why(), Reason::protocol_error);
  }
}

}  // namespace
}  // namespace penstock::http
