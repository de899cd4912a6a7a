// SPDX-License-Identifier: Apache-2.0
// Caps count exactly: what just fits passes, one byte or line more is refused with its own status.
#include <gtest/gtest.h>

#include "http/reading.h"

namespace penstock::http {
namespace {

TEST(RequestCaps, let_a_head_pass_that_just_fits) {
  const std::string stream = get_with("Host: a.test\r\nX: " + std::string(100, 'x') + "\r\n");
  CapsConfig caps;
  caps.header_bytes = stream.size();
  EXPECT_EQ(read(stream, caps).complete(), 1u);
  caps.header_bytes = stream.size() - 1;
  EXPECT_EQ(refused(read(stream, caps)), Reason::head_too_large);
}

TEST(RequestCaps, count_the_head_only) {
  CapsConfig caps;
  const std::string head = "PUT http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n";
  caps.header_bytes = head.size();
  const std::string request = head + std::string(5000, 'x');
  EXPECT_EQ(read(request + request, caps).complete(), 2u);
}

TEST(RequestCaps, refuse_a_header_section_that_never_ends) {
  std::string stream = "GET http://a/ HTTP/1.1\r\nHost: a\r\nX: ";
  EXPECT_EQ(refused(read(stream + std::string(100 * 1024, 'x'))), Reason::head_too_large);
  EXPECT_EQ(refused(read_in_pieces(stream + std::string(100 * 1024, 'x'), 4096)), Reason::head_too_large);
}

TEST(RequestCaps, let_as_many_field_lines_pass_as_they_say) {
  const auto with = [](int lines) {
    std::string text = "Host: a\r\n";
    for (int i = 1; i < lines; ++i) text += "X: y\r\n";
    return get_with(text);
  };
  EXPECT_EQ(read(with(200)).complete(), 1u);
  EXPECT_EQ(refused(read(with(201))), Reason::head_too_large);
  EXPECT_EQ(refused(read(with(10000))), Reason::head_too_large);
}

TEST(RequestCaps, let_a_target_pass_that_just_fits) {
  const auto with = [](std::size_t size) {
    std::string target = "http://a.test/";
    target.append(size - target.size(), 'x');
    return "GET " + target + " HTTP/1.1\r\nHost: a.test\r\n\r\n";
  };
  EXPECT_EQ(read(with(8000)).complete(), 1u);
  EXPECT_EQ(read(with(16 * 1024)).complete(), 1u);
  EXPECT_EQ(refused(read(with(16 * 1024 + 1))), Reason::target_too_long);
  EXPECT_EQ(refused(read(with(64 * 1024))), Reason::target_too_long);
  EXPECT_EQ(refused(read(with(1024 * 1024))), Reason::target_too_long);
}

TEST(RequestCaps, count_blank_lines_before_a_request) {
  CapsConfig caps;
  std::string stream;
  for (int i = 0; i < 10000; ++i) stream += "\r\n";
  EXPECT_EQ(read(stream + get_with("Host: a\r\n"), caps).complete(), 1u);
  caps.header_bytes = 10000;
  EXPECT_EQ(refused(read(stream, caps)), Reason::head_too_large);
}

TEST(RequestCaps, let_trailers_pass_that_just_fit) {
  const std::string trailers = "X: " + std::string(100, 'x') + "\r\n\r\n";
  CapsConfig caps;
  caps.trailer_bytes = trailers.size();
  EXPECT_EQ(read(chunked_with("0\r\n" + trailers), caps).complete(), 1u);
  caps.trailer_bytes = trailers.size() - 1;
  EXPECT_EQ(refused(read(chunked_with("0\r\n" + trailers), caps)), Reason::head_too_large);
  EXPECT_EQ(refused(read(chunked_with("0\r\nX: " + std::string(100 * 1024, 'x') + "\r\n\r\n"))),
            Reason::head_too_large);
}

TEST(RequestCaps, count_trailer_lines_like_field_lines) {
  std::string trailers;
  for (int i = 0; i < 201; ++i) trailers += "X: y\r\n";
  EXPECT_EQ(refused(read(chunked_with("0\r\n" + trailers + "\r\n"))), Reason::head_too_large);
}

TEST(RequestCaps, let_a_chunk_line_pass_that_just_fits) {
  const std::string line = "3;x=" + std::string(100, 'y') + "\r\n";
  CapsConfig caps;
  caps.chunk_line_bytes = line.size();
  EXPECT_EQ(read(chunked_with(line + "abc\r\n" + line + "abc\r\n0\r\n\r\n"), caps).complete(), 1u);
  caps.chunk_line_bytes = line.size() - 1;
  EXPECT_EQ(refused(read(chunked_with(line + "abc\r\n0\r\n\r\n"), caps)), Reason::malformed);
}

TEST(RequestCaps, refuse_chunk_lines_that_never_end) {
  EXPECT_EQ(refused(read(chunked_with("3;x=" + std::string(20 * 1024, 'y')))), Reason::malformed);
  EXPECT_EQ(refused(read(chunked_with(std::string(20 * 1024, '0')))), Reason::malformed);
  std::string semicolons = "3";
  for (int i = 0; i < 10000; ++i) semicolons += ";a";
  EXPECT_EQ(refused(read(chunked_with(semicolons))), Reason::malformed);
}

TEST(RequestCaps, do_not_count_chunk_data) {
  CapsConfig caps;
  caps.chunk_line_bytes = 16;
  EXPECT_EQ(read(chunked_with("1000\r\n" + std::string(4096, 'x') + "\r\n0\r\n\r\n"), caps).complete(), 1u);
}

TEST(RequestCaps, name_the_setting_that_was_reached) {
  CapsConfig caps;
  caps.header_count = 1;
  EXPECT_NE(read(get_with("Host: a\r\nX: y\r\n"), caps).refusal.value_or(Refusal{}).details.find("caps.headerCount"),
            std::string::npos);
}

}  // namespace
}  // namespace penstock::http
