// SPDX-License-Identifier: Apache-2.0
// One step for each byte, but for the plain bytes of strings, which are most of any body: those are skipped at once,
// and looked at only if a path may end there.
#include "cost/json_scanner.h"

#include <algorithm>
#include <charconv>

namespace penstock::cost {
namespace {

/// Bytes of a string that stand for themselves.
constexpr auto kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t byte = 0x20; byte < plain.size(); ++byte) plain[byte] = byte != '"' && byte != '\\';
  return plain;
}();

constexpr bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

JsonScanner::State JsonScanner::feed(std::string_view bytes) {
  const char *at = bytes.data(), *const end = at + bytes.size();
  while (at != end && part_ != Part::broken) {
    if (part_ == Part::string) {
      at = read_string(at, end);
      continue;
    }
    const char c = *at++;
    const bool may_be_blank = part_ < Part::string || part_ == Part::whole;
    if (!may_be_blank || !is_blank(c)) part_ = read(c);
  }
  return state();
}

JsonScanner::State JsonScanner::finish() {
  if (part_ == Part::number && depth_ == 0) part_ = read_number(' ');
  return state();
}

JsonScanner::State JsonScanner::state() const {
  return part_ == Part::broken ? State::broken : part_ == Part::whole ? State::whole : State::more;
}

void JsonScanner::restart() {
  part_ = Part::value;
  depth_ = 0;
  surrogate_ = 0;
  keeps_text_ = false;
  if (text_ == Text::partial) text_ = Text::none;
}

const char* JsonScanner::read_string(const char* at, const char* end) {
  const char* const begin = at;
  while (at != end && kPlain[static_cast<unsigned char>(*at)]) ++at;
  if (at != begin) {
    flush_surrogate();
    take({begin, at});
  }
  if (at == end) return at;
  const char c = *at++;
  part_ = c == '"' ? end_string() : c == '\\' ? Part::escape : Part::broken;
  return at;
}

JsonScanner::Part JsonScanner::read(char c) {
  switch (part_) {
    case Part::value: return begin_value(c);
    case Part::first_element: return c == ']' ? close(false) : begin_value(c);
    case Part::first_key:
      if (c == '}') return close(true);
      [[fallthrough]];
    case Part::key: return c == '"' ? begin_string(true) : Part::broken;
    case Part::colon: return c == ':' ? Part::value : Part::broken;
    case Part::behind_value: return behind_value(c);
    case Part::escape: return read_escape(c);
    case Part::hex: return read_hex(c);
    case Part::number: return read_number(c);
    case Part::word: return read_word(c);
    case Part::string:
    case Part::whole:
    case Part::broken: break;
  }
  return Part::broken;
}

JsonScanner::Part JsonScanner::begin_value(char c) {
  if (depth_ == 0) {
    here_ = paths_->all();
  } else if (!in_object()) {
    const std::size_t segment = depth_ - 1U;
    here_ = segment < JsonPaths::kDeepest ? static_cast<Set>(within_[segment] & paths_->elements_at(segment)) : Set{0};
  }
  // Of a key that stands twice the last text counts, also where what leads to it stands twice.
  if ((here_ & paths_->of_text()) != 0) text_ = Text::none;
  keeps_text_ = (here_ & ending() & paths_->of_text()) != 0;
  switch (c) {
    case '{': return open(true);
    case '[': return open(false);
    case '"': return begin_string(false);
    case 't': return begin_word("true");
    case 'f': return begin_word("false");
    case 'n': return keeps_text_ = false, begin_word("null");
    default: return c == '-' || is_digit(c) ? begin_number(c) : Part::broken;
  }
}

JsonScanner::Part JsonScanner::open(bool object) {
  if (depth_ == kDeepest) return Part::broken;
  const Set through = static_cast<Set>(here_ & ~ending());
  if (depth_ < JsonPaths::kDeepest) within_[depth_] = through;
  const std::uint64_t bit = std::uint64_t{1} << depth_;
  objects_ = object ? objects_ | bit : objects_ & ~bit;
  ++depth_;
  keeps_text_ = false;
  return object ? Part::first_key : Part::first_element;
}

JsonScanner::Part JsonScanner::close(bool object) {
  if (depth_ == 0 || in_object() != object) return Part::broken;
  --depth_;
  return end_value();
}

JsonScanner::Part JsonScanner::end_value() { return depth_ == 0 ? Part::whole : Part::behind_value; }

JsonScanner::Part JsonScanner::behind_value(char c) {
  if (c == ',') return in_object() ? Part::key : Part::value;
  return c == '}' || c == ']' ? close(c == '}') : Part::broken;
}

JsonScanner::Part JsonScanner::begin_string(bool is_key) {
  is_key_ = is_key;
  key_size_ = 0;
  if (is_key) {
    const std::size_t segment = depth_ - 1U;
    here_ = segment < JsonPaths::kDeepest ? static_cast<Set>(within_[segment] & ~paths_->elements_at(segment)) : Set{0};
  }
  if (!is_key && keeps_text_) {
    text_ = Text::partial;
    text_size_ = 0;
  }
  return Part::string;
}

JsonScanner::Part JsonScanner::end_string() {
  flush_surrogate();
  if (is_key_) {
    if (here_ != 0) here_ = paths_->as_long(here_, depth_ - 1U, key_size_);
    return Part::colon;
  }
  if (text_ == Text::partial) text_ = Text::whole;
  keeps_text_ = false;
  return end_value();
}

void JsonScanner::take(std::string_view part) {
  if (is_key_) {
    if (here_ != 0) here_ = paths_->going_on(here_, depth_ - 1U, key_size_, part);
    key_size_ += part.size();
  } else if (keeps_text_) {
    keep_text(part);
  }
}

void JsonScanner::keep_text(std::string_view part) {
  if (text_ != Text::partial) return;
  if (part.size() > kLongestText - text_size_) {
    text_ = Text::none;
    return;
  }
  std::ranges::copy(part, text_bytes_.data() + text_size_);
  text_size_ = static_cast<std::uint16_t>(text_size_ + part.size());
}

JsonScanner::Part JsonScanner::read_escape(char c) {
  if (c == 'u') {
    code_ = 0;
    hex_left_ = 4;
    return Part::hex;
  }
  constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
  const auto found = kNames.find(c);
  if (found == std::string_view::npos) return Part::broken;
  flush_surrogate();
  take(kMeant.substr(found, 1));
  return Part::string;
}

JsonScanner::Part JsonScanner::read_hex(char c) {
  const char lower = static_cast<char>(c | 0x20);
  const bool letter = lower >= 'a' && lower <= 'f';
  if (!is_digit(c) && !letter) return Part::broken;
  code_ = code_ << 4 | static_cast<std::uint32_t>(letter ? lower - 'a' + 10 : c - '0');
  if (--hex_left_ > 0) return Part::hex;
  const bool first_half = code_ >= 0xd800 && code_ < 0xdc00, second_half = code_ >= 0xdc00 && code_ < 0xe000;
  if (second_half && surrogate_ != 0) {
    unescaped(0x10000 + ((surrogate_ - 0xd800) << 10) + (code_ - 0xdc00));
    surrogate_ = 0;
    return Part::string;
  }
  flush_surrogate();
  if (first_half) {
    surrogate_ = code_;
  } else {
    unescaped(code_);
  }
  return Part::string;
}

/// Half a pair that stands alone becomes three bytes, which no UTF-8 has, so it equals no key.
void JsonScanner::flush_surrogate() {
  if (surrogate_ == 0) return;
  unescaped(surrogate_);
  surrogate_ = 0;
}

void JsonScanner::unescaped(std::uint32_t code) {
  std::array<char, 4> bytes{};
  std::size_t size = 0;
  const auto add = [&](std::uint32_t byte) { bytes[size++] = static_cast<char>(byte); };
  const auto add_six = [&](unsigned shift) { add(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6), add_six(0);
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12), add_six(6), add_six(0);
  } else {
    add(0xf0 | code >> 18), add_six(12), add_six(6), add_six(0);
  }
  take({bytes.data(), size});
}

JsonScanner::Part JsonScanner::begin_number(char c) {
  digits_ = c == '-' ? Digits::minus : c == '0' ? Digits::zero : Digits::whole;
  number_text_[0] = c;
  number_size_ = 1;
  return Part::number;
}

JsonScanner::Part JsonScanner::read_number(char c) {
  if (number_goes_on(c)) {
    // One more than fits says that it is too long.
    if (number_size_ < kLongestNumber) number_text_[number_size_] = c;
    if (number_size_ <= kLongestNumber) ++number_size_;
    return Part::number;
  }
  const bool may_end = digits_ == Digits::zero || digits_ == Digits::whole || digits_ == Digits::fraction ||
                       digits_ == Digits::exponent_digits;
  if (!may_end) return Part::broken;
  end_number();
  part_ = end_value();
  if (is_blank(c)) return part_;
  return part_ == Part::whole ? Part::broken : read(c);
}

bool JsonScanner::number_goes_on(char c) {
  const auto to = [&](Digits next) { return digits_ = next, true; };
  const bool exponent = c == 'e' || c == 'E';
  switch (digits_) {
    case Digits::minus: return is_digit(c) && to(c == '0' ? Digits::zero : Digits::whole);
    case Digits::whole:
      if (is_digit(c)) return true;
      [[fallthrough]];
    case Digits::zero: return c == '.' ? to(Digits::point) : exponent && to(Digits::exponent);
    case Digits::point: return is_digit(c) && to(Digits::fraction);
    case Digits::fraction: return is_digit(c) || (exponent && to(Digits::exponent));
    case Digits::exponent:
      if (c == '+' || c == '-') return to(Digits::exponent_sign);
      [[fallthrough]];
    case Digits::exponent_sign: return is_digit(c) && to(Digits::exponent_digits);
    case Digits::exponent_digits: return is_digit(c);
  }
  return false;
}

void JsonScanner::end_number() {
  const Set ending_here = here_ & ending();
  if (ending_here == 0 || number_size_ > kLongestNumber) return;
  const std::string_view text(number_text_.data(), number_size_);
  if (keeps_text_) {
    text_ = Text::partial;
    text_size_ = 0;
    keep_text(text);
    text_ = Text::whole;
    keeps_text_ = false;
  }
  double value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) return;
  for (std::size_t path = 0; path < paths_->size(); ++path) {
    if ((ending_here >> path & 1) == 0) continue;
    numbers_[path] = (numbers_found_ >> path & 1) != 0 ? std::max(numbers_[path], value) : value;
  }
  numbers_found_ |= ending_here;
}

JsonScanner::Part JsonScanner::begin_word(std::string_view word) {
  if (keeps_text_) {
    text_ = Text::partial;
    text_size_ = 0;
    keep_text(word);
  }
  word_ = word.substr(1);
  return Part::word;
}

JsonScanner::Part JsonScanner::read_word(char c) {
  if (c != word_.front()) return Part::broken;
  word_.remove_prefix(1);
  if (!word_.empty()) return Part::word;
  if (text_ == Text::partial) text_ = Text::whole;
  keeps_text_ = false;
  return end_value();
}

}  // namespace penstock::cost
