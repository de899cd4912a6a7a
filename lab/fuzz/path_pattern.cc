// SPDX-License-Identifier: Apache-2.0
// Patterns of paths, each on a line, and below them paths: what is read is written the same; a second reader, by
// regular expression, fits the same paths; and a pattern that covers another fits all that the other fits.
#include <regex>
#include <string>
#include <vector>

#include "base/path_pattern.h"
#include "fuzz/fuzz.h"
#include "penstock/config.h"

namespace penstock::fuzz {
namespace {

constexpr std::size_t kMostLines = 12, kLongestLine = 60;

std::vector<std::string> lines_of(std::string_view input) {
  std::vector<std::string> lines;
  while (!input.empty() && lines.size() < kMostLines) {
    const auto end = std::min(input.find('\n'), input.size());
    lines.emplace_back(input.substr(0, std::min(end, kLongestLine)));
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  return lines;
}

std::regex second_reader(std::string_view pattern) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '*') {
      text += "[^/]+";
    } else if (pattern[i] == '{') {
      text += "[^/]+";
      i = pattern.find('}', i);
    } else {
      text += std::string_view("\\^$.|?*+()[]{}").contains(pattern[i]) ? "\\" : "";
      text += pattern[i];
    }
  }
  return std::regex(text + "(/[\\s\\S]*)?", std::regex::ECMAScript);
}

/// A path that the pattern should fit: open parts become letters.
std::string path_for(std::string_view pattern, Dice& dice) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool open = pattern[i] == '*' || pattern[i] == '{';
    if (pattern[i] == '{') i = pattern.find('}', i);
    if (!open) path += pattern[i];
    for (std::size_t letters = open ? 1 + dice.below(3) : 0; letters > 0; --letters) path += "ab."[dice.below(3)];
  }
  return path + (dice.one_in(2) ? "/more" : "");
}

}  // namespace

void try_input(std::string_view input) {
  Dice dice(input);
  const auto lines = lines_of(input);
  std::vector<std::string> patterns, paths = lines;
  for (const auto& line : lines) {
    const auto pattern = parse_path_pattern(line);
    if (!pattern) continue;
    must(parse_path_pattern(*pattern) == *pattern, "a pattern is written as it is read", line, *pattern);
    const auto grouped = parse_group("path:" + line);
    must(grouped.has_value() == (base::PathPattern(*pattern).named() > 0), "a group is made by a braced part", line);
    patterns.push_back(*pattern);
    paths.push_back(path_for(*pattern, dice));
    must(base::PathPattern(*pattern).fits(paths.back()), "a pattern fits what is made from it", *pattern, paths.back());
  }
  for (const auto& text : patterns) {
    const base::PathPattern pattern(text);
    const auto second = second_reader(text);
    for (const auto& path : paths)
      must(pattern.fits(path) == std::regex_match(path, second), "both readers fit the same", text, path);
    must(pattern.covers(pattern), "a pattern covers itself", text);
    for (const auto& other : patterns) {
      if (!pattern.covers(base::PathPattern(other))) continue;
      for (const auto& path : paths)
        must(!base::PathPattern(other).fits(path) || pattern.fits(path), "what covers another fits all that it fits",
             text, other);
    }
  }
}

}  // namespace penstock::fuzz
