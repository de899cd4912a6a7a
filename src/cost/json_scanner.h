// SPDX-License-Identifier: Apache-2.0
// Reads numbers, and one text, out of a JSON text (RFC 8259) while it passes, however it is cut. Allocates nothing,
// keeps no more than a few hundred bytes, and changes none of those it reads. Strict but for one thing: texts need not
// be UTF-8. What was found before a mistake stays found. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "cost/json_paths.h"

namespace penstock::cost {

class JsonScanner {
 public:
  static constexpr std::size_t kDeepest = 64;        ///< arrays and objects inside each other
  static constexpr std::size_t kLongestText = 256;   ///< bytes of the kept text; a longer one is as if absent
  static constexpr std::size_t kLongestNumber = 64;  ///< characters of a number; a longer one is as if absent

  enum class State : std::uint8_t {
    more,    ///< the value is not over; of a number at the top nothing says where it ends but finish()
    whole,   ///< one value, and perhaps blanks behind it
    broken,  ///< this is no JSON, or is nested too deep
  };

  /// `paths` must live as long as this.
  explicit JsonScanner(const JsonPaths& paths) : paths_(&paths) {}

  /// Returns state().
  State feed(std::string_view bytes);
  /// The text is over. `more` now means that it was cut.
  State finish();
  State state() const;
  /// Begins another text. What was found stays.
  void restart();

  /// The largest number that stood at the path; nothing: none did.
  std::optional<double> number(std::size_t path) const {
    return (numbers_found_ >> path & 1) != 0 ? std::optional(numbers_[path]) : std::nullopt;
  }
  /// What stood last at the path of JsonPaths::add_text(), if that was a text, a number, `true` or `false`. Escapes of
  /// a text are undone. A view of this scanner's memory.
  std::optional<std::string_view> text() const {
    return text_ == Text::whole ? std::optional(std::string_view(text_bytes_.data(), text_size_)) : std::nullopt;
  }

 private:
  using Set = JsonPaths::Set;
  enum class Part : std::uint8_t {
    value,
    first_element,  // or the end of the array
    first_key,      // or the end of the object
    key,
    colon,
    behind_value,
    string,
    escape,
    hex,
    number,
    word,
    whole,
    broken,
  };
  enum class Digits : std::uint8_t { minus, zero, whole, point, fraction, exponent, exponent_sign, exponent_digits };
  enum class Text : std::uint8_t { none, partial, whole };

  const char* read_string(const char* at, const char* end);
  Part read(char c);
  Part begin_value(char c);
  Part begin_number(char c);
  Part begin_word(std::string_view word);
  Part begin_string(bool is_key);
  Part open(bool object);
  Part close(bool object);
  Part end_value();
  Part behind_value(char c);
  Part read_escape(char c);
  Part read_hex(char c);
  Part end_string();
  Part read_number(char c);
  Part read_word(char c);
  bool number_goes_on(char c);
  void end_number();
  void unescaped(std::uint32_t code);
  void flush_surrogate();
  void take(std::string_view part);
  void keep_text(std::string_view part);
  bool in_object() const { return (objects_ >> (depth_ - 1) & 1) != 0; }
  Set ending() const { return depth_ > 0 ? paths_->ending_at(depth_ - 1) : Set{0}; }

  const JsonPaths* paths_;
  std::array<double, JsonPaths::kMost> numbers_{};
  std::array<Set, JsonPaths::kDeepest> within_{};  // by depth less one: paths that lead through the open container
  std::array<char, kLongestText> text_bytes_{};
  std::array<char, kLongestNumber> number_text_{};
  std::string_view word_;        // what is still to come of `true`, `false` or `null`
  std::uint64_t objects_ = 0;    // by depth less one: whether the open container is an object
  std::size_t key_size_ = 0;     // bytes read of the key, unescaped
  std::uint32_t code_ = 0;       // of the escape that is being read
  std::uint32_t surrogate_ = 0;  // the first half of a pair, or 0
  std::uint16_t text_size_ = 0;
  std::uint8_t depth_ = 0, hex_left_ = 0, number_size_ = 0;
  Set here_ = 0;  // paths that lead to or through the value that is being read, or its key so far
  Set numbers_found_ = 0;
  Part part_ = Part::value;
  Digits digits_ = Digits::minus;
  Text text_ = Text::none;
  bool is_key_ = false;      // the string that is being read
  bool keeps_text_ = false;  // the value that is being read is the one whose text is kept
};

}  // namespace penstock::cost
