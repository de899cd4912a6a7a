// SPDX-License-Identifier: Apache-2.0
// Words are views of the bytes fed in; only incomplete commands are copied.
#include "simulation/resp.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace penstock::simulation {

namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::int64_t kLongestWord = 512 * 1024 * 1024;
constexpr std::int64_t kMostWords = 1024 * 1024;

/// Redis answers a single line, even if the text has line ends.
char without_line_ends(char letter) { return letter == '\r' || letter == '\n' ? ' ' : letter; }

bool read_number(std::string_view digits, std::int64_t& number) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size();
}

}  // namespace

void AnswerBytes::line(char kind, std::string_view text) {
  out_ += kind;
  for (const char letter : text) out_ += without_line_ends(letter);
  out_ += kLineEnd;
}

void AnswerBytes::status(std::string_view text) { line('+', text); }
void AnswerBytes::error(std::string_view text) { line('-', text); }

void AnswerBytes::number(char kind, std::int64_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, std::end(digits), value).ptr;
  out_ += kind;
  out_.append(digits, end).append(kLineEnd);
}

void AnswerBytes::text(std::string_view bytes) {
  number('$', static_cast<std::int64_t>(bytes.size()));
  out_.append(bytes).append(kLineEnd);
}

void RequestReader::feed(std::string_view bytes) {
  rest_ = bytes;
  if (!kept_.empty()) rest_ = kept_.append(bytes);
}

RequestReader::Found RequestReader::keep_rest() {
  const std::string rest(rest_);
  kept_ = rest;
  rest_ = {};
  return Found::nothing;
}

RequestReader::Found RequestReader::fail(std::string why) {
  wrong_ = "ERR Protocol error: " + std::move(why);
  kept_.clear();
  rest_ = {};
  return Found::nonsense;
}

bool RequestReader::line(std::string_view& found) {
  const auto end = left_.find('\n');
  if (end == std::string_view::npos) return false;
  found = left_.substr(0, end > 0 && left_[end - 1] == '\r' ? end - 1 : end);
  left_.remove_prefix(end + 1);
  return true;
}

RequestReader::Found RequestReader::next() {
  while (!rest_.empty()) {
    left_ = rest_;
    words_.clear();
    std::string_view first;
    if (!line(first)) return keep_rest();
    Found found = Found::command;
    if (!rest_.starts_with('*')) {
      found = inline_words(first);
    } else {
      std::int64_t count = 0;
      if (!read_number(first.substr(1), count) || count > kMostWords) return fail("invalid multibulk length");
      found = arrays_words(count);
    }
    if (found == Found::nothing) return keep_rest();
    if (found == Found::nonsense) return found;
    rest_ = left_;
    if (!words_.empty()) return found;
  }
  kept_.clear();
  return Found::nothing;
}

RequestReader::Found RequestReader::arrays_words(std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::string_view head;
    if (!line(head)) return Found::nothing;
    if (!head.starts_with('$')) return fail(std::string("expected '$', got '") + (head.empty() ? ' ' : head[0]) + "'");
    std::int64_t size = 0;
    if (!read_number(head.substr(1), size) || size < 0 || size > kLongestWord) return fail("invalid bulk length");
    const auto bytes = static_cast<std::size_t>(size);
    if (left_.size() < bytes + kLineEnd.size()) return Found::nothing;
    words_.push_back(left_.substr(0, bytes));
    left_.remove_prefix(bytes + kLineEnd.size());
  }
  return Found::command;
}

RequestReader::Found RequestReader::inline_words(std::string_view found) {
  while (true) {
    const auto begin = found.find_first_not_of(' ');
    if (begin == std::string_view::npos) return Found::command;
    found.remove_prefix(begin);
    const auto end = std::min(found.find(' '), found.size());
    words_.push_back(found.substr(0, end));
    found.remove_prefix(end);
  }
}

}  // namespace penstock::simulation
