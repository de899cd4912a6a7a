// SPDX-License-Identifier: Apache-2.0
// See line_text.h. Runs of plain ASCII are copied whole; all else is handled byte by byte.
#include "observe/line_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

namespace penstock::observe {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (int c = 0x20; c < 0x7f; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

std::uint8_t byte(std::string_view text, std::size_t at) { return static_cast<std::uint8_t>(text[at]); }

bool between(std::uint8_t value, int low, int high) { return value >= low && value <= high; }

struct Sequence {
  std::size_t size;
  bool valid;
};

// Table 3-7 of the Unicode standard. In a broken sequence the longest prefix of a valid one counts as one replacement.
Sequence utf8_sequence(std::string_view text) {
  const std::uint8_t lead = byte(text, 0);
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (!between(lead, 0xc2, 0xf4)) return {1, false};
  const int low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const int high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  for (std::size_t i = 1; i < size; ++i) {
    if (i >= text.size() || !between(byte(text, i), i == 1 ? low : 0x80, i == 1 ? high : 0xbf)) return {i, false};
  }
  return {size, true};
}

void append_escape(std::string& out, std::uint8_t code) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (code) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: out += "\\u00", out += kHex[code >> 4], out += kHex[code & 15];
  }
}

// C1 controls are escaped too: some terminals obey them.
std::size_t append_special(std::string& out, std::string_view text) {
  if (byte(text, 0) < 0x80) return append_escape(out, byte(text, 0)), 1;
  const auto [size, valid] = utf8_sequence(text);
  if (!valid) {
    out += kReplacement;
  } else if (byte(text, 0) == 0xc2 && byte(text, 1) < 0xa0) {
    append_escape(out, byte(text, 1));
  } else {
    out += text.substr(0, size);
  }
  return size;
}

// Never cuts within a UTF-8 character.
std::string_view cut(std::string_view text) {
  std::size_t end = kLongestText;
  for (int back = 0; back < 3 && (byte(text, end) & 0xc0) == 0x80; ++back) --end;
  return text.substr(0, end);
}

void append_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && kPlain[byte(text, plain)]) ++plain;
    out.append(text.data(), plain);
    text.remove_prefix(plain);
    if (!text.empty()) text.remove_prefix(append_special(out, text));
  }
}

// Writes `digits` digits, with leading zeros.
char* put_padded(char* at, std::uint32_t number, int digits) {
  for (int i = digits - 1; i >= 0; --i, number /= 10) at[i] = static_cast<char>('0' + number % 10);
  return at + digits;
}

}  // namespace

void append_timestamp(std::string& out, std::int64_t wall) {
  using namespace std::chrono;
  const sys_time<microseconds> moment{microseconds{wall}};
  const auto day = floor<days>(moment);
  const year_month_day date{day};
  const hh_mm_ss time{moment - day};
  char text[] = "0000-00-00T00:00:00.000000Z";
  put_padded(text, static_cast<std::uint32_t>(static_cast<int>(date.year())), 4);
  put_padded(text + 5, static_cast<unsigned>(date.month()), 2);
  put_padded(text + 8, static_cast<unsigned>(date.day()), 2);
  put_padded(text + 11, static_cast<std::uint32_t>(time.hours().count()), 2);
  put_padded(text + 14, static_cast<std::uint32_t>(time.minutes().count()), 2);
  put_padded(text + 17, static_cast<std::uint32_t>(time.seconds().count()), 2);
  put_padded(text + 20, static_cast<std::uint32_t>(time.subseconds().count()), 6);
  out.append(text, sizeof text - 1);
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  if (text.size() <= kLongestText) {
    append_escaped(out, text);
  } else {
    append_escaped(out, cut(text));
    out += kEllipsis;
  }
  out += '"';
}

void append_milliseconds(std::string& out, Duration duration) {
  const auto micros = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
  append_number(out, micros / 1000);
  char fraction[] = ".000";
  put_padded(fraction + 1, static_cast<std::uint32_t>(micros % 1000), 3);
  out.append(fraction, 4);
}

void append_number(std::string& out, std::uint64_t number) {
  char text[20];
  const auto end = std::to_chars(text, text + sizeof text, number).ptr;
  out.append(text, static_cast<std::size_t>(end - text));
}

}  // namespace penstock::observe
