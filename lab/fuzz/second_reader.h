// SPDX-License-Identifier: Apache-2.0
// A second opinion on HTTP/1 messages: an independent reader, small and strict, which knows one spelling of everything
// and refuses the rest. Shares no code with src/http.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::fuzz {

class SecondReader {
 public:
  using Lines = std::vector<std::pair<std::string, std::string>>;
  struct Message {
    std::vector<std::string> start;  ///< the three words of the first line
    Lines fields, trailers;
    std::string body;
    bool chunked = false, has_length = false, to_end = false;

    std::size_t count(std::string_view name) const {
      return static_cast<std::size_t>(
          std::count_if(fields.begin(), fields.end(), [&](const auto& line) { return same(line.first, name); }));
    }
    std::string value(std::string_view name) const {
      const auto found = std::find_if(fields.begin(), fields.end(), [&](auto& line) { return same(line.first, name); });
      return found == fields.end() ? "" : found->second;
    }
  };

  explicit SecondReader(std::string_view bytes) : rest_(bytes) {}
  std::string_view rest() const { return rest_; }

  /// Nothing: it is not one that everybody reads alike, or not whole.
  std::optional<Message> request() {
    while (rest_.starts_with("\r\n")) rest_.remove_prefix(2);
    Message message;
    if (!start_line(message) || !lines(message.fields) || !is_token(message.start[0])) return {};
    if (message.start[1].empty() || !all(message.start[1], is_visible) || !is_version(message.start[2])) return {};
    return framing(message) && body(message, false) ? std::optional(message) : std::nullopt;
  }
  /// `has_body`: whether the request's method lets it have one.
  std::optional<Message> response(bool has_body) {
    Message message;
    if (!start_line(message) || !lines(message.fields) || !is_version(message.start[0])) return {};
    const std::string& status = message.start[1];
    if (status.size() != 3 || !all(status, is_digit)) return {};
    const bool bodyless = !has_body || status[0] == '1' || status == "204" || status == "304";
    if (!framing(message)) return {};
    return bodyless || body(message, true) ? std::optional(message) : std::nullopt;
  }

  static char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
  static bool same(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_visible(char c) { return c >= 0x21 && c <= 0x7e; }
  static bool is_token(std::string_view text) {
    return !text.empty() && all(text, [](char c) {
      return is_visible(c) && std::string_view("\"(),/:;<=>?@[\\]{}").find(c) == std::string_view::npos;
    });
  }
  static bool is_text(char c) { return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f); }
  static bool all(std::string_view text, bool (*is)(char)) { return std::all_of(text.begin(), text.end(), is); }
  static bool is_version(std::string_view text) {
    return text.size() == 8 && text.starts_with("HTTP/1.") && is_digit(text[7]);
  }

 private:
  std::optional<std::string_view> line() {
    const auto end = rest_.find("\r\n");
    if (end == std::string_view::npos) return {};
    const auto line = rest_.substr(0, end);
    rest_.remove_prefix(end + 2);
    return all(line, is_text) ? std::optional(line) : std::nullopt;
  }
  bool start_line(Message& message) {
    const auto text = line();
    if (!text) return false;
    const auto first = text->find(' '), second = text->find(' ', first == text->npos ? first : first + 1);
    if (second == text->npos) return false;
    message.start = {std::string(text->substr(0, first)), std::string(text->substr(first + 1, second - first - 1)),
                     std::string(text->substr(second + 1))};
    return true;
  }
  bool lines(Lines& into) {
    while (const auto text = line()) {
      if (text->empty()) return true;
      const auto colon = text->find(':');
      if (colon == text->npos || !is_token(text->substr(0, colon))) return false;
      const auto from = text->find_first_not_of(" \t", colon + 1), to = text->find_last_not_of(" \t") + 1;
      into.emplace_back(text->substr(0, colon), from == text->npos ? "" : text->substr(from, to - from));
    }
    return false;
  }
  static bool framing(Message& message) {
    const auto lengths = message.count("content-length"), codings = message.count("transfer-encoding");
    if (lengths + codings > 1) return false;
    message.has_length = lengths == 1;
    message.chunked = codings == 1 && same(message.value("transfer-encoding"), "chunked");
    return message.chunked == (codings == 1);
  }
  bool body(Message& message, bool may_end_with_connection) {
    if (message.chunked) return chunks(message);
    if (!message.has_length) {
      message.to_end = may_end_with_connection;
      if (message.to_end) message.body = std::exchange(rest_, {});
      return true;
    }
    const std::string length = message.value("content-length");
    if (length.empty() || !all(length, is_digit)) return false;
    const std::string digits = length.substr(std::min(length.find_first_not_of('0'), length.size() - 1));
    return digits.size() <= 18 && take(std::stoull(digits), message.body);
  }
  bool take(std::uint64_t size, std::string& into) {
    if (size > rest_.size()) return false;
    into += rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }
  bool chunks(Message& message) {
    while (const auto text = line()) {
      const auto digits = text->find_first_not_of("0123456789abcdefABCDEF");
      auto size = text->substr(0, digits);
      while (size.size() > 1 && size.starts_with('0')) size.remove_prefix(1);
      const auto behind = text->find_first_not_of(" \t", digits == text->npos ? text->size() : digits);
      if (size.empty() || size.size() > 15 || (digits != text->npos && behind == text->npos)) return false;
      if (behind != text->npos && (*text)[behind] != ';') return false;
      const auto bytes = std::stoull(std::string(size), nullptr, 16);
      if (bytes == 0) return lines(message.trailers);
      if (!take(bytes, message.body) || !rest_.starts_with("\r\n")) return false;
      rest_.remove_prefix(2);
    }
    return false;
  }

  std::string_view rest_;
};

}  // namespace penstock::fuzz
