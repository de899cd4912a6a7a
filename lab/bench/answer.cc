// SPDX-License-Identifier: Apache-2.0
// Writes and judges the benchmark's answer. Not a general parser: it knows a status, a Content-Length and a body.
#include "bench/answer.h"

#include <strings.h>

#include <charconv>
#include <optional>

namespace penstock::bench {
namespace {

constexpr std::string_view kStatus = "HTTP/1.1 200";
constexpr std::string_view kLength = "content-length:";

bool is_length_line(std::string_view line) {
  return line.size() > kLength.size() && strncasecmp(line.data(), kLength.data(), kLength.size()) == 0;
}

std::optional<std::size_t> number_after_colon(std::string_view line) {
  line.remove_prefix(kLength.size());
  while (line.starts_with(' ')) line.remove_prefix(1);
  std::size_t value = 0;
  if (std::from_chars(line.data(), line.data() + line.size(), value).ec != std::errc{}) return std::nullopt;
  return value;
}

std::optional<std::size_t> content_length(std::string_view head) {
  while (true) {
    const std::size_t end = head.find('\n');
    if (end == head.npos) return std::nullopt;
    head.remove_prefix(end + 1);
    if (is_length_line(head)) return number_after_colon(head);
  }
}

}  // namespace

std::string answer_body(std::size_t length) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789+";
  std::string body(length, '\0');
  for (std::size_t at = 0; at < length; ++at) body[at] = kLetters[at % kLetters.size()];
  return body;
}

std::string whole_answer(std::size_t length) {
  return "HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: text/plain\r\nContent-Length: " + std::to_string(length) +
         "\r\n\r\n" + answer_body(length);
}

Arrival judge(std::string_view received, std::string_view body) {
  const std::size_t end = received.find(kEndOfHead);
  if (end == received.npos) return Arrival::partial;
  const std::string_view head = received.substr(0, end + kEndOfHead.size());
  const std::string_view rest = received.substr(head.size());
  if (!head.starts_with(kStatus) || content_length(head) != body.size()) return Arrival::wrong;
  if (rest != body.substr(0, rest.size())) return Arrival::wrong;
  return rest.size() == body.size() ? Arrival::whole : Arrival::partial;
}

}  // namespace penstock::bench
