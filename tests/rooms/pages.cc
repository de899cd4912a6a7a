// SPDX-License-Identifier: Apache-2.0
// Names between backticks, looked up in the tests.
#include "rooms/pages.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>

#include "rooms/code.h"

namespace penstock::rooms {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The word that begins at `at`, behind blanks; `at` is moved behind it and what follows it.
std::string_view next_word(std::string_view text, std::size_t& at) {
  while (at < text.size() && !is_word(text[at])) ++at;
  const std::size_t begin = at;
  while (at < text.size() && is_word(text[at])) ++at;
  return text.substr(begin, at - begin);
}

/// `Suite.test` and `Suite.*` of every TEST, TEST_F and TEST_P.
std::set<std::string, std::less<>> names_of_tests(const std::vector<File>& tests) {
  std::set<std::string, std::less<>> names;
  for (const File& file : tests) {
    const std::string_view text = file.text;
    for (std::size_t at = text.find("\nTEST"); at != std::string_view::npos; at = text.find("\nTEST", at)) {
      next_word(text, ++at);
      const std::string suite(next_word(text, at));
      names.insert(suite + "." + std::string(next_word(text, at)));
      names.insert(suite + ".*");
    }
  }
  return names;
}

/// What stands between backticks on a line.
std::vector<std::string_view> quoted(std::string_view line) {
  std::vector<std::string_view> found;
  for (std::size_t at = line.find('`'); at != std::string_view::npos; at = line.find('`', at)) {
    const std::size_t end = line.find('`', at + 1);
    if (end == std::string_view::npos) break;
    found.push_back(line.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return found;
}

bool names_a_test(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos || !std::isupper(static_cast<unsigned char>(text[0]))) return false;
  const auto test = text.substr(dot + 1);
  return std::ranges::all_of(text.substr(0, dot), is_word) && !test.empty() &&
         (test == "*" || std::ranges::all_of(test, is_word));
}

bool has_file(const std::vector<File>& tests, std::string_view path) {
  return std::ranges::any_of(tests, [&](const File& file) {
    const std::string_view its = file.path;
    return its.starts_with(path) && (its.size() == path.size() || its[path.size()] == '/' || path.ends_with('/'));
  });
}

}  // namespace

Offences missing_tests(const std::vector<File>& pages, const std::vector<File>& tests) {
  Offences offences;
  const auto names = names_of_tests(tests);
  for (const File& page : pages) {
    std::size_t number = 0;
    for (const auto line : lines_of(page.text)) {
      ++number;
      for (const auto text : quoted(line)) {
        const bool is_path = text.starts_with("tests/") || text.starts_with("lab/");
        if (!is_path && !names_a_test(text)) continue;
        if (is_path ? has_file(tests, text) : names.contains(text)) continue;
        offences.push_back(page.path + ":" + std::to_string(number) + ": there is no " + std::string(text));
      }
    }
  }
  return offences;
}

}  // namespace penstock::rooms
