// SPDX-License-Identifier: Apache-2.0
// Judges the patterns of `redact`. http/redaction.h says what they match.
#include <algorithm>
#include <optional>

#include "config/checks.h"

namespace penstock::config {

namespace {

constexpr std::size_t kMostPatterns = 16, kLongestPattern = 256;
constexpr std::string_view kSecret = "{}";

bool is_of_path(char c) {
  return c > ' ' && c < 0x7f && std::string_view("?#*%\\\"<>^`{|}").find(c) == std::string_view::npos;
}

/// What is wrong with the literals around the secret parts, the first of which follows `/` or more.
std::optional<std::string> wrong_with_literals(std::string_view pattern) {
  if (pattern.find("{}{}") != std::string_view::npos) return "has two {} in a row; one is enough";
  for (auto at = pattern.find(kSecret); at != std::string_view::npos; at = pattern.find(kSecret)) {
    if (!std::all_of(pattern.begin(), pattern.begin() + static_cast<std::ptrdiff_t>(at), is_of_path)) break;
    pattern.remove_prefix(at + kSecret.size());
  }
  const auto wrong = std::find_if_not(pattern.begin(), pattern.end(), is_of_path);
  if (wrong == pattern.end()) return std::nullopt;
  if (*wrong == '{') return "has a { without a } behind it; a secret part is {}, without a name";
  if (*wrong == '*') return "has a *; the pattern is looked for at each segment, and {} is any text";
  if (*wrong == '%') return "has a %; write the letter itself, which matches in either form";
  return std::string("has a '") + *wrong + "', which is not of a path";
}

std::optional<std::string> wrong_with(std::string_view pattern) {
  if (!pattern.starts_with('/')) return "must begin with /, as in /bot{}/";
  if (pattern.size() > kLongestPattern) return "is longer than 256 characters";
  if (pattern.find("//") != std::string_view::npos) return "has an empty segment";
  if (pattern.find('{') == std::string_view::npos) return "has no {}; mark what is secret, as in /services/{}";
  return wrong_with_literals(pattern);
}

}  // namespace

void check_redaction(Issues& issues, const std::string& path, const std::vector<std::string>& patterns) {
  if (patterns.size() > kMostPatterns) add(issues, path, " has more than 16 patterns");
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    if (const auto wrong = wrong_with(patterns[i]))
      add(issues, path + "[" + std::to_string(i) + "]", ": '" + patterns[i] + "' " + *wrong);
  }
}

}  // namespace penstock::config
