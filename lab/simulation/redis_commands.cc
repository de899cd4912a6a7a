// SPDX-License-Identifier: Apache-2.0
// The table of all commands, and the parsing of words that they share.
#include "simulation/redis_commands.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <string>
#include <unordered_map>

namespace penstock::simulation {

namespace {

constexpr std::size_t kLongestName = 32;

char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter + 'a' - 'A') : letter; }

using Table = std::unordered_map<std::string_view, const RedisCommand*>;

Table table_of_all() {
  Table table;
  for (const auto& part : {text_commands(), list_commands(), set_commands(), hash_commands(), connection_commands()}) {
    for (const auto& command : part) table.emplace(command.name, &command);
  }
  return table;
}

}  // namespace

bool RedisCommand::has_part(std::string_view part) const {
  if (parts.empty()) return true;
  const std::string all = " " + std::string(parts) + " ";
  return all.find(" " + lowered(part) + " ") != std::string::npos;
}

std::string lowered(std::string_view word) {
  std::string letters(word);
  std::ranges::transform(letters, letters.begin(), lower);
  return letters;
}

bool same_word(std::string_view word, std::string_view lower_word) {
  return std::ranges::equal(word, lower_word, {}, lower);
}

const RedisCommand* find_redis_command(std::string_view name) {
  static const Table kTable = table_of_all();
  char letters[kLongestName];
  if (name.size() > kLongestName) return nullptr;
  std::ranges::transform(name, letters, lower);
  const auto found = kTable.find({letters, name.size()});
  return found == kTable.end() ? nullptr : found->second;
}

/// Only the shortest spelling is an integer.
std::optional<std::int64_t> redis_integer(std::string_view word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  const auto digits = word.substr(word.starts_with('-') ? 1 : 0);
  if (digits.starts_with('0') && word != "0") return std::nullopt;
  return value;
}

std::optional<double> redis_double(std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || std::isnan(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> integer_word(std::string_view word, Answer& answer) {
  const auto value = redis_integer(word);
  if (!value) answer.error(kNoInteger);
  return value;
}

std::optional<Places> places(Words two, std::size_t size, Answer& answer) {
  const auto first = integer_word(two[0], answer);
  if (!first) return std::nullopt;
  const auto last = integer_word(two[1], answer);
  if (!last) return std::nullopt;
  const auto count = static_cast<std::int64_t>(size);
  const auto from = std::max<std::int64_t>(0, *first < 0 ? *first + count : *first);
  const auto to = std::min(count - 1, *last < 0 ? *last + count : *last);
  if (from > to) return Places{};
  return Places{static_cast<std::size_t>(from), static_cast<std::size_t>(to) + 1};
}

}  // namespace penstock::simulation
