// SPDX-License-Identifier: Apache-2.0
// Keys or arguments of a script call: views of words that are stored elsewhere, and reused buffers for words that are
// not.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::redis {

class Words {
 public:
  void clear() { words_.clear(), used_ = 0; }
  std::size_t size() const { return words_.size(); }
  std::span<const std::string_view> all() const { return words_; }

  /// A word that stays valid until the call; it is not copied.
  void add(std::string_view word) { words_.push_back(word); }
  void number(std::int64_t number) {
    char digits[24];
    const auto end = std::to_chars(digits, std::end(digits), number).ptr;
    keep({digits, static_cast<std::size_t>(end - digits)});
  }
  /// One word: both, and a blank between them.
  void numbers(std::int64_t first, std::int64_t second) {
    char one[24], other[24];
    const auto end_of_one = std::to_chars(one, std::end(one), first).ptr;
    const auto end_of_other = std::to_chars(other, std::end(other), second).ptr;
    join({std::string_view(one, end_of_one), " ", std::string_view(other, end_of_other)});
  }
  /// One word made of several pieces, copied.
  void join(std::initializer_list<std::string_view> pieces) {
    std::string& word = more_room();
    for (const auto piece : pieces) word += piece;
    words_.push_back(word);
  }
  void keep(std::string_view word) { join({word}); }

 private:
  std::string& more_room() {
    if (used_ == room_.size()) room_.emplace_back();
    room_[used_].clear();
    return room_[used_++];
  }

  std::vector<std::string_view> words_;
  std::deque<std::string> room_;  // a deque: its strings stay in place
  std::size_t used_ = 0;
};

}  // namespace penstock::redis
