// SPDX-License-Identifier: Apache-2.0
// An array of bulk strings, each behind its length.
#include "redis/wire/command.h"

#include <charconv>
#include <iterator>

namespace penstock::redis {

namespace {
void add_line(std::string& bytes, char mark, std::size_t number) {
  char digits[24];
  const auto end = std::to_chars(digits, std::end(digits), number).ptr;
  bytes.append(1, mark).append(digits, end).append("\r\n");
}
}  // namespace

void begin_command(std::string& bytes, std::size_t words) { add_line(bytes, '*', words); }

void add_word(std::string& bytes, std::string_view word) {
  add_line(bytes, '$', word.size());
  bytes.append(word).append("\r\n");
}

std::string command(std::initializer_list<std::string_view> words) {
  std::string bytes;
  begin_command(bytes, words.size());
  for (const auto word : words) add_word(bytes, word);
  return bytes;
}

}  // namespace penstock::redis
