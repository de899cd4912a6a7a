// SPDX-License-Identifier: Apache-2.0
// Requests that must be refused before anybody could read them in two ways: one table for each part of a message.
#include <gtest/gtest.h>

#include "http/reading.h"

namespace penstock::http {
namespace {

using namespace std::string_literals;

/// The head of a request is refused with this, and nothing is handed on.
void expect_refused(const std::string& stream, Reason why) {
  const Reading reading = read(stream);
  EXPECT_EQ(refused(reading), why) << stream << "\n" << reading.transcript();
  EXPECT_TRUE(reading.requests.empty()) << stream;
}

/// The head may pass, but no request completes.
void expect_incomplete(const std::string& stream, Reason why) {
  const Reading reading = read(stream);
  EXPECT_EQ(refused(reading), why) << stream << "\n" << reading.transcript();
  EXPECT_EQ(reading.complete(), 0u) << stream;
}

std::string with_line(const std::string& request_line) { return request_line + "\r\nHost: a.test\r\n\r\n"; }

TEST(RequestLine, is_refused_where_its_blanks_are_wrong) {
  for (const char* line : {"GET  http://a/ HTTP/1.1", "GET http://a/  HTTP/1.1", "GET\thttp://a/ HTTP/1.1",
                           "GET http://a/\tHTTP/1.1", "GET http://a/ HTTP/1.1 ", " GET http://a/ HTTP/1.1",
                           "GET http://a/ b HTTP/1.1", "GET http://a/", "GET ", "GET", "GET  HTTP/1.1"}) {
    expect_refused(with_line(line), Reason::malformed);
  }
}

TEST(RequestLine, is_refused_where_the_target_has_bytes_that_belong_in_no_url) {
  for (const char c : "\r\n\0\x01\x1b\x7f\x80\xff"s) {
    expect_refused(with_line("GET http://a/x"s + c + "y HTTP/1.1"), Reason::malformed);
  }
}

TEST(RequestLine, is_refused_where_it_is_not_http) {
  for (const char* version : {"http/1.1", "HTTP/1.10", "HTTP/11", "HTTP/1,1", "HTTP/1.", "HTTP /1.1", "HTP/1.1",
                              "RTSP/1.0", "ICE/1.0", "HTTP/1.1x", "HTTP/a.1", "HTTP/+1.1"}) {
    expect_refused(with_line("GET http://a/ "s + version), Reason::malformed);
  }
  // The PROXY protocol, whose word on who asks is nobody's.
  for (const auto& said : {"PROXY TCP4 127.0.0.1 127.0.0.1 56324 80\r\n"s, "PROXY UNKNOWN\r\n"s,
                           "\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\1\x7f\0\0\1\xdc\x04\0\x50"s}) {
    expect_refused(said + with_line("GET http://a/ HTTP/1.1"), Reason::malformed);
  }
}

TEST(RequestLine, names_versions_that_are_not_spoken) {
  for (const char* version : {"HTTP/2.0", "HTTP/0.9", "HTTP/3.0", "HTTP/9.9"}) {
    expect_refused(with_line("GET http://a/ "s + version), Reason::version_unsupported);
  }
  expect_refused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Reason::version_unsupported);
}

TEST(RequestLine, is_refused_where_the_method_is_no_token) {
  for (const char* method : {"GE(T", "G\x80T", "G,T", "G/T", "", "G\"T", "[GET]", "G{T"}) {
    expect_refused(with_line(std::string(method) + " http://a/ HTTP/1.1"), Reason::malformed);
  }
}

TEST(RequestLine, does_not_implement_methods_of_more_than_32_bytes) {
  expect_refused(with_line(std::string(33, 'A') + " http://a/ HTTP/1.1"), Reason::not_implemented);
  EXPECT_EQ(read(with_line(std::string(32, 'A') + " http://a/ HTTP/1.1")).complete(), 1u);
}

TEST(RequestLine, must_end_in_carriage_return_and_line_feed) {
  expect_refused("GET http://a/ HTTP/1.1\nHost: a\n\n", Reason::malformed);
  expect_refused("GET http://a/ HTTP/1.1\rHost: a\r\n\r\n", Reason::malformed);
  expect_refused("\nGET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", Reason::malformed);
  expect_refused("\rGET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", Reason::malformed);
}

TEST(RequestLine, in_tls_gets_a_hint) {
  const Reading reading = read("\x16\x03\x01\x02"s);
  ASSERT_EQ(refused(reading), Reason::malformed);
  EXPECT_NE(reading.refusal->details.find("not TLS"), std::string::npos);
}

TEST(RequestFields, are_refused_with_a_blank_before_the_colon) {
  for (const char* line : {"Host : a.test", "Host\t: a.test", "Content-Length : 3", "Transfer-Encoding : chunked",
                           "X : y", "X y: z", "Content-Length\t: 0"}) {
    expect_refused(get_with(std::string(line) + "\r\nHost: a.test\r\n"), Reason::malformed);
  }
}

TEST(RequestFields, are_refused_when_folded) {
  for (const char* lines :
       {"X: a\r\n b\r\n", "X: a\r\n\tb\r\n", "X:\r\n b\r\n", "X: a\r\n \r\n", "Content-Length: 3\r\n 4\r\n",
        "Transfer-Encoding:\r\n chunked\r\n", "Transfer-Encoding: chunked\r\n , gzip\r\n"}) {
    expect_refused(get_with("Host: a.test\r\n"s + lines), Reason::malformed);
    expect_refused(get_with(std::string(lines) + "Host: a.test\r\n"), Reason::malformed);
  }
}

TEST(RequestFields, are_refused_when_the_first_line_begins_with_a_blank) {
  expect_refused(get_with(" X: y\r\nHost: a.test\r\n"), Reason::malformed);
  expect_refused(get_with("\tX: y\r\nHost: a.test\r\n"), Reason::malformed);
  expect_refused(get_with(" \r\nHost: a.test\r\n"), Reason::malformed);
}

TEST(RequestFields, are_refused_without_a_proper_name) {
  for (const char* line : {"no colon at all", "nocolon", ": no name", ":", "b@d: x", "b(d: x", "b\x85: x", "\xa0x: y",
                           "x\x80y: z", "\"q\": x", "b[d: x", "b/d: x", "b{d: x", "b\x7f: x", "b\x01: x"}) {
    expect_refused(get_with("Host: a.test\r\n"s + line + "\r\n"), Reason::malformed);
  }
}

TEST(RequestFields, are_refused_with_a_control_in_a_value) {
  for (const char c : "\0\r\n\v\f\x1b\x7f\x01\b"s) {
    for (const std::string& value : {"a"s + c + "b"s, ""s + c + "b"s, "a"s + c}) {
      expect_refused(get_with("Host: a.test\r\nX: "s + value + "\r\n"), Reason::malformed);
    }
  }
}

TEST(RequestFields, are_refused_where_a_line_feed_stands_alone) {
  expect_refused("GET http://a/ HTTP/1.1\r\nHost: a\n\r\n", Reason::malformed);
  expect_refused("GET http://a/ HTTP/1.1\r\nHost: a\r\n\n", Reason::malformed);
  expect_refused("GET http://a/ HTTP/1.1\r\n\nHost: a\r\n\r\n", Reason::malformed);
  expect_refused("GET http://a/ HTTP/1.0\r\n\n", Reason::malformed);
  expect_refused("POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 3\n\r\nabc", Reason::malformed);
}

TEST(RequestFields, are_refused_with_a_bare_carriage_return_that_hides_a_field) {
  expect_refused(get_with("Host: a.test\r\nX: y\rTransfer-Encoding: chunked\r\n"), Reason::malformed);
  expect_refused(get_with("Host: a.test\r\nX: y\nTransfer-Encoding: chunked\r\n"), Reason::malformed);
}

TEST(RequestFields, are_refused_with_a_nul_at_any_offset) {
  const std::string valid = "POST http://a.test/p HTTP/1.1\r\nHost: a.test\r\nX: y\r\nContent-Length: 0\r\n\r\n";
  for (std::size_t at = 0; at < valid.size(); ++at) {
    std::string stream = valid;
    stream.insert(at, 1, '\0');
    expect_refused(stream, Reason::malformed);
  }
}

TEST(RequestHost, must_stand_exactly_once_in_http_1_1) {
  expect_refused(get_with(""), Reason::malformed);
  expect_refused(get_with("X: y\r\n"), Reason::malformed);
  expect_refused(get_with("Host: a.test\r\nHost: a.test\r\n"), Reason::malformed);
  expect_refused(get_with("Host: a.test\r\nhost: b.test\r\n"), Reason::malformed);
  EXPECT_EQ(read("GET http://a.test/ HTTP/1.0\r\n\r\n").complete(), 1u);
  expect_refused("GET http://a.test/ HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", Reason::malformed);
}

TEST(RequestHost, must_be_a_host) {
  for (const char* value : {"a b", "a,b", "u@a", "a/b", "a:x", "a:99999", "http://a", "a?b", "[::1", "a\tb"}) {
    expect_refused(get_with("Host: "s + value + "\r\n"), Reason::malformed);
  }
  EXPECT_EQ(read(get_with("Host: other.test:81\r\n")).complete(), 1u);
  EXPECT_EQ(read(get_with("Host:\r\n")).complete(), 1u);
}

std::string post_with(const std::string& lines, const std::string& body = "") {
  return "POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\n" + lines + "\r\n" + body;
}

TEST(RequestFraming, is_refused_with_both_length_and_coding) {
  for (const char* length : {"3", "13", "300", "0"}) {
    const std::string cl = "Content-Length: "s + length + "\r\n";
    const std::string te = "Transfer-Encoding: chunked\r\n";
    expect_refused(post_with(cl + te, "3\r\nabc\r\n0\r\n\r\n"), Reason::malformed);
    expect_refused(post_with(te + cl, "3\r\nabc\r\n0\r\n\r\n"), Reason::malformed);
  }
}

TEST(RequestFraming, is_refused_with_a_content_length_that_is_not_one_number) {
  for (const char* value : {"+4",
                            "-4",
                            "0x4",
                            "4_0",
                            "4.0",
                            "4e0",
                            "",
                            ",",
                            "4,",
                            ",4",
                            "4abc",
                            "\xef\xbc\x94",
                            "4 0",
                            "4;",
                            "18446744073709551616",
                            "9223372036854775808",
                            "99999999999999999999",
                            "4, 5",
                            "4, 4",
                            "\"4\"",
                            "4\t4"}) {
    expect_refused(post_with("Content-Length: "s + value + "\r\n", "abcd"), Reason::malformed);
  }
}

TEST(RequestFraming, is_refused_with_two_content_lengths_even_if_they_agree) {
  expect_refused(post_with("Content-Length: 4\r\nContent-Length: 5\r\n", "abcd"), Reason::malformed);
  expect_refused(post_with("Content-Length: 4\r\nContent-Length: 4\r\n", "abcd"), Reason::malformed);
  expect_refused(post_with("Content-Length: 4\r\ncontent-length: 4\r\n", "abcd"), Reason::malformed);
}

TEST(RequestFraming, is_refused_with_any_coding_but_chunked) {
  for (const char* value : {"gzip", "chunked, gzip", "gzip, chunked", "identity", "xchunked", "chunkedx", "\"chunked\"",
                            "chunked;q=1", "chunked, chunked", "",
                            "\x0b"
                            "chunked",
                            "chunked\xa0", ",chunked", "chunked,", "chun ked", "c", "chunked gzip"}) {
    expect_refused(post_with("Transfer-Encoding: "s + value + "\r\n", "3\r\nabc\r\n0\r\n\r\n"), Reason::malformed);
  }
  expect_refused(post_with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
                 Reason::malformed);
  expect_refused(post_with("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
                 Reason::malformed);
  expect_refused(post_with("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n"),
                 Reason::malformed);
}

TEST(RequestFraming, takes_chunked_in_any_case_and_with_blanks_around) {
  for (const char* value : {"chunked", "Chunked", "CHUNKED", "  chunked", "chunked  ", "\tchunked"}) {
    EXPECT_EQ(read(post_with("Transfer-Encoding:"s + value + "\r\n", "3\r\nabc\r\n0\r\n\r\n")).complete(), 1u) << value;
  }
}

TEST(RequestFraming, is_refused_with_a_coding_in_http_1_0) {
  for (const char* lines : {"Transfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"}) {
    expect_refused("POST http://a/ HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n"s + lines + "\r\n0\r\n\r\n",
                   Reason::malformed);
  }
}

TEST(RequestFraming, of_connect_is_refused_with_a_body) {
  expect_refused("CONNECT a:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", Reason::malformed);
  expect_refused("CONNECT a:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
                 Reason::malformed);
  expect_refused("CONNECT a:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 0, 0\r\n\r\n", Reason::malformed);
  expect_refused("CONNECT a:443 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", Reason::malformed);
}

TEST(RequestFraming, is_refused_with_too_many_nominations) {
  std::string names;
  for (int i = 0; i < 32; ++i) names += "x-" + std::to_string(i) + ",";
  EXPECT_EQ(read(get_with("Host: a\r\nConnection: " + names + "\r\n")).complete(), 1u);
  expect_refused(get_with("Host: a\r\nConnection: " + names + "x\r\n"), Reason::malformed);
  expect_refused(get_with("Host: a\r\nConnection: " + names + "\r\nConnection: x\r\n"), Reason::malformed);
}

TEST(RequestChunks, are_refused_with_a_size_that_is_no_plain_hexadecimal) {
  for (const char* size : {"0x4", "+4", "-0", "-4", "0_4", "G", "", "11111111111111111", "fffffffffffffffff", " 4",
                           "4 ", "4\t", "\t4", "4,", "4h", "\xef\xbc\x94"}) {
    expect_incomplete(chunked_with(std::string(size) + "\r\nabcd\r\n0\r\n\r\n"), Reason::malformed);
  }
}

TEST(RequestChunks, are_refused_with_a_bare_line_feed_anywhere) {
  for (const char* body :
       {"3\nabc\r\n0\r\n\r\n", "3\r\nabc\n0\r\n\r\n", "3\r\nabc\r\n0\n\r\n", "3\r\nabc\r\n0\r\n\n",
        "3\r\nabc\r\n0\r\nT: v\n\r\n", "3\r\nabc\r\n0\r\nT: v\r\n\n", "3\rabc\r\n0\r\n\r\n", "3\r\nabc\r0\r\n\r\n"}) {
    expect_incomplete(chunked_with(body), Reason::malformed);
  }
}

TEST(RequestChunks, are_refused_with_data_too_long_or_too_short) {
  expect_incomplete(chunked_with("3\r\nabcd\r\n0\r\n\r\n"), Reason::malformed);
  expect_incomplete(chunked_with("5\r\nabcd\r\n0\r\n\r\n"), Reason::malformed);
  expect_incomplete(chunked_with("3\r\nabc0\r\n\r\n"), Reason::malformed);
}

TEST(RequestChunks, are_refused_with_an_extension_that_hides_a_line) {
  for (const std::string& extension :
       {";a\rb"s, ";a\nb"s, ";a\0b"s, ";a=\"b\r\n"s, ";a=\"b\rc\""s, ";a=\"b\nc\""s, ";a=\"b\\\r\n"s, ";a=\x01"s}) {
    expect_incomplete(chunked_with("3" + extension + "\r\nabc\r\n0\r\n\r\n"), Reason::malformed);
  }
}

TEST(RequestTrailers, are_judged_like_fields) {
  for (const char* trailer :
       {"no colon", ": no name", "X : y", " X: y", "X: a\r\n b", "b@d: x", "X: a\rb", "X: \x01"}) {
    expect_incomplete(chunked_with("3\r\nabc\r\n0\r\n"s + trailer + "\r\n\r\n"), Reason::malformed);
  }
}

TEST(Refusals, do_not_touch_the_request_before) {
  const Reading reading = read(get_with("Host: a\r\n") + "GET  http://b/ HTTP/1.1\r\n\r\n");
  EXPECT_EQ(reading.complete(), 1u);
  EXPECT_EQ(refused(reading), Reason::malformed);
}

TEST(Refusals, do_not_repeat_what_the_client_sent) {
  for (const char* stream :
       {"GET http://a/ HTTP/1.1\r\nHost: secret@a\r\n\r\n", "secret\x01 http://a/ HTTP/1.1\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: secret\r\n\r\n",
        "GET http://a/ HTTP/1.1\r\nHost: a\r\nX: secret\x01\r\n\r\n"}) {
    const Reading reading = read(stream);
    ASSERT_TRUE(reading.refusal.has_value()) << stream;
    EXPECT_EQ(reading.refusal->details.find("secret"), std::string::npos) << reading.refusal->details;
  }
}

}  // namespace
}  // namespace penstock::http
