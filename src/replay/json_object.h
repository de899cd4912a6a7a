// SPDX-License-Identifier: Apache-2.0
// Reads one JSON object, member by member, without a tree: a log has millions of them, and few of their members count.
// Strict as RFC 8259, but bytes that are not UTF-8 pass. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::replay {

class JsonObject {
 public:
  /// How deep a value may be nested.
  static constexpr int kDeepest = 16;

  /// `room` is where texts with escapes are kept. Texts stay valid as long as `line` and `room` stay as they are.
  JsonObject(std::string_view line, std::string& room);

  /// Goes on to the next member. False: there is none, or the line is no JSON object, see whole().
  bool next();
  /// After the last member: the line was one object and nothing else.
  bool whole() const { return whole_; }

  std::string_view key() const { return key_; }
  bool is_null() const { return kind_ == Kind::null; }
  // The value; nullopt: it is of another type.
  std::optional<std::string_view> text() const;
  std::optional<double> number() const;
  std::optional<bool> truth() const;

 private:
  enum class Kind : std::uint8_t { text, number, yes, no, null, nested };
  struct Text {
    std::string_view raw;
    bool escaped;
  };

  void skip_blank();
  bool take(char wanted);
  bool skip_word(std::string_view word);
  std::optional<Text> skip_text();
  bool skip_escape();
  bool skip_hex();
  bool skip_number();
  std::size_t skip_digits();
  bool skip_value(int depth);
  bool skip_members(int depth);
  bool skip_elements(int depth);
  std::string_view plain(const Text& text);

  std::string_view rest_;
  std::string& room_;
  std::string_view key_, value_;
  Kind kind_ = Kind::null;
  bool begun_ = false;
  bool whole_ = false;
};

}  // namespace penstock::replay
