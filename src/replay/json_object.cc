// SPDX-License-Identifier: Apache-2.0
// See json_object.h. What is skipped is checked on the way.
#include "replay/json_object.h"

#include <charconv>

namespace penstock::replay {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Only of digits that have been checked.
unsigned hex_of(std::string_view four) {
  unsigned value = 0;
  std::from_chars(four.data(), four.data() + four.size(), value, 16);
  return value;
}

bool is_high(unsigned unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low(unsigned unit) { return unit >= 0xDC00 && unit < 0xE000; }

void append_utf8(std::string& out, unsigned code) {
  const auto put = [&](unsigned byte) { out += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) return put(0xC0 | code >> 6), put(0x80 | (code & 63));
  if (code < 0x10000) return put(0xE0 | code >> 12), put(0x80 | (code >> 6 & 63)), put(0x80 | (code & 63));
  put(0xF0 | code >> 18), put(0x80 | (code >> 12 & 63)), put(0x80 | (code >> 6 & 63)), put(0x80 | (code & 63));
}

char meant_by(char escape) {
  switch (escape) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return escape;
  }
}

}  // namespace

JsonObject::JsonObject(std::string_view line, std::string& room) : rest_(line), room_(room) {
  room_.clear();
  room_.reserve(line.size());  // no text gets longer by unescaping, so nothing in it ever moves
}

bool JsonObject::next() {
  skip_blank();
  if (!begun_) {
    begun_ = true;
    if (!take('{')) return false;
    skip_blank();
    if (take('}')) return skip_blank(), whole_ = rest_.empty(), false;
  } else if (take('}')) {
    return skip_blank(), whole_ = rest_.empty(), false;
  } else if (!take(',')) {
    return false;
  }
  skip_blank();
  const auto key = skip_text();
  if (!key) return false;
  key_ = plain(*key);
  skip_blank();
  if (!take(':')) return false;
  skip_blank();
  const char first = rest_.empty() ? '\0' : rest_.front();
  if (first == '"') {
    const auto text = skip_text();
    if (!text) return false;
    kind_ = Kind::text;
    value_ = plain(*text);
    return true;
  }
  const char* const begin = rest_.data();
  if (!skip_value(0)) return false;
  value_ = {begin, static_cast<std::size_t>(rest_.data() - begin)};
  kind_ = first == '{' || first == '[' ? Kind::nested
          : first == 't'               ? Kind::yes
          : first == 'f'               ? Kind::no
          : first == 'n'               ? Kind::null
                                       : Kind::number;
  return true;
}

std::optional<std::string_view> JsonObject::text() const {
  return kind_ == Kind::text ? std::optional(value_) : std::nullopt;
}

std::optional<double> JsonObject::number() const {
  double value = 0;
  if (kind_ != Kind::number) return std::nullopt;
  const auto [end, error] = std::from_chars(value_.data(), value_.data() + value_.size(), value);
  return error == std::errc{} && end == value_.data() + value_.size() ? std::optional(value) : std::nullopt;
}

std::optional<bool> JsonObject::truth() const {
  return kind_ == Kind::yes || kind_ == Kind::no ? std::optional(kind_ == Kind::yes) : std::nullopt;
}

void JsonObject::skip_blank() {
  while (!rest_.empty() &&
         (rest_.front() == ' ' || rest_.front() == '\t' || rest_.front() == '\r' || rest_.front() == '\n'))
    rest_.remove_prefix(1);
}

bool JsonObject::take(char wanted) {
  if (rest_.empty() || rest_.front() != wanted) return false;
  rest_.remove_prefix(1);
  return true;
}

bool JsonObject::skip_word(std::string_view word) {
  if (!rest_.starts_with(word)) return false;
  rest_.remove_prefix(word.size());
  return true;
}

std::optional<JsonObject::Text> JsonObject::skip_text() {
  if (!take('"')) return std::nullopt;
  const char* const begin = rest_.data();
  bool escaped = false;
  for (;;) {
    std::size_t plain = 0;
    while (plain < rest_.size() && static_cast<unsigned char>(rest_[plain]) >= 0x20 && rest_[plain] != '"' &&
           rest_[plain] != '\\')
      ++plain;
    rest_.remove_prefix(plain);
    const std::string_view raw(begin, static_cast<std::size_t>(rest_.data() - begin));
    if (take('"')) return Text{raw, escaped};
    escaped = true;
    if (!take('\\') || !skip_escape()) return std::nullopt;
  }
}

bool JsonObject::skip_escape() {
  if (rest_.empty()) return false;
  const char kind = rest_.front();
  rest_.remove_prefix(1);
  if (kind != 'u') return std::string_view("\"\\/bfnrt").contains(kind);
  if (!skip_hex()) return false;
  const unsigned unit = hex_of({rest_.data() - 4, 4});
  if (is_low(unit)) return false;
  if (!is_high(unit)) return true;
  return skip_word("\\u") && skip_hex() && is_low(hex_of({rest_.data() - 4, 4}));
}

bool JsonObject::skip_hex() {
  for (int digits = 0; digits < 4; ++digits) {
    if (rest_.empty() || !std::string_view("0123456789abcdefABCDEF").contains(rest_.front())) return false;
    rest_.remove_prefix(1);
  }
  return true;
}

std::size_t JsonObject::skip_digits() {
  std::size_t count = 0;
  while (count < rest_.size() && is_digit(rest_[count])) ++count;
  rest_.remove_prefix(count);
  return count;
}

bool JsonObject::skip_number() {
  take('-');
  if (!take('0') && skip_digits() == 0) return false;
  if (take('.') && skip_digits() == 0) return false;
  if (!take('e') && !take('E')) return true;
  if (!take('+')) take('-');
  return skip_digits() > 0;
}

bool JsonObject::skip_value(int depth) {
  if (rest_.empty()) return false;
  switch (rest_.front()) {
    case '"': return skip_text().has_value();
    case '{': return depth < kDeepest && skip_members(depth + 1);
    case '[': return depth < kDeepest && skip_elements(depth + 1);
    case 't': return skip_word("true");
    case 'f': return skip_word("false");
    case 'n': return skip_word("null");
    default: return skip_number();
  }
}

bool JsonObject::skip_members(int depth) {
  take('{');
  skip_blank();
  if (take('}')) return true;
  do {
    skip_blank();
    if (!skip_text()) return false;
    skip_blank();
    if (!take(':')) return false;
    skip_blank();
    if (!skip_value(depth)) return false;
    skip_blank();
  } while (take(','));
  return take('}');
}

bool JsonObject::skip_elements(int depth) {
  take('[');
  skip_blank();
  if (take(']')) return true;
  do {
    skip_blank();
    if (!skip_value(depth)) return false;
    skip_blank();
  } while (take(','));
  return take(']');
}

/// Its escapes have been checked.
std::string_view JsonObject::plain(const Text& text) {
  if (!text.escaped) return text.raw;
  const std::size_t begin = room_.size();
  for (std::size_t i = 0; i < text.raw.size(); ++i) {
    if (text.raw[i] != '\\') {
      room_ += text.raw[i];
      continue;
    }
    if (text.raw[++i] != 'u') {
      room_ += meant_by(text.raw[i]);
      continue;
    }
    unsigned code = hex_of(text.raw.substr(i + 1, 4));
    i += 4;
    if (is_high(code)) {
      code = 0x10000 + ((code - 0xD800) << 10) + (hex_of(text.raw.substr(i + 3, 4)) - 0xDC00);
      i += 6;
    }
    append_utf8(room_, code);
  }
  return std::string_view(room_).substr(begin);
}

}  // namespace penstock::replay
