// SPDX-License-Identifier: Apache-2.0
// See trust_settings.h. All these files have one line per setting, `key = value`, of which the last counts.
#include "app/trust_settings.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <iterator>
#include <set>
#include <sstream>
#include <string_view>

#include "app/ca_bundles.h"

namespace penstock::app {

namespace {

namespace fs = std::filesystem;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const auto from = text.find_first_not_of(kBlank);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kBlank) + 1 - from);
}

/// The value of the last line whose key fulfills `is_it`.
std::string last_value(const std::string& text, const std::function<bool(std::string_view key)>& is_it) {
  std::string value;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto equals = line.find('=');
    if (equals == std::string::npos || !is_it(trimmed(std::string_view(line).substr(0, equals)))) continue;
    const auto said = trimmed(std::string_view(line).substr(equals + 1));
    if (!said.empty()) value = said;
  }
  return value;
}

std::string unquoted(const std::string& value) {
  const bool quoted = value.size() > 1 && value.front() == value.back() && (value[0] == '"' || value[0] == '\'');
  return quoted ? value.substr(1, value.size() - 2) : value;
}

/// Matches keys as wget does, ignoring case, `_` and `-`. A comment is no key.
bool is_ca_certificate(std::string_view key) {
  std::string letters;
  for (const char c : key) {
    if (c == '#') return false;
    if (std::isalpha(static_cast<unsigned char>(c))) letters += static_cast<char>(std::tolower(c));
  }
  return letters == "cacertificate";
}

/// Replaces `${NAME}` by that variable, if it is set, and a leading `~` by the user's home.
std::string resolved(std::string text, const Environment& environment) {
  for (auto at = text.find("${"); at != std::string::npos; at = text.find("${", at)) {
    const auto end = text.find('}', at);
    if (end == std::string::npos) break;
    const auto value = environment(text.substr(at + 2, end - at - 2));
    if (value) text.replace(at, end + 1 - at, *value);
    at += value ? value->size() : 2;
  }
  return text.starts_with("~/") ? environment("HOME").value_or("") + text.substr(1) : text;
}

/// The paths for all versions: on Debian each version has a folder of its own in /etc/php.
std::vector<std::string> of_each_version(const std::string& below) {
  std::vector<std::string> all;
  std::error_code none;
  for (const auto& version : fs::directory_iterator("/etc/php", none)) all.push_back(version.path() / below);
  return all;
}

/// In PHPRC, which is a folder or a file, or else where Debian, Fedora and Docker's images keep it.
std::vector<std::string> php_inis(const Environment& environment) {
  if (const auto own = environment("PHPRC").value_or(""); !own.empty()) return {own, own + "/php.ini"};
  auto all = of_each_version("cli/php.ini");
  all.insert(all.end(), {"/etc/php.ini", "/usr/local/etc/php/php.ini"});
  return all;
}

std::vector<std::string> inis_of(const std::string& folder) {
  std::set<std::string> paths;  // sorted, so that the order never changes
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (entry.path().extension() == ".ini") paths.insert(entry.path());
  }
  return {paths.begin(), paths.end()};
}

}  // namespace

std::string ca_certificate_of_wget(const std::string& wgetrc) { return last_value(wgetrc, is_ca_certificate); }

std::string cafile_of_npm(const Environment& environment) {
  const auto named = [&](const char* lower, const char* upper, std::string otherwise) {
    auto file = environment(lower).value_or("");
    if (file.empty()) file = environment(upper).value_or("");
    return file.empty() ? std::move(otherwise) : file;
  };
  const auto global = named("npm_config_globalconfig", "NPM_CONFIG_GLOBALCONFIG", "");
  std::vector files{
      named("npm_config_userconfig", "NPM_CONFIG_USERCONFIG", environment("HOME").value_or("") + "/.npmrc")};
  if (!global.empty()) files.push_back(global);
  if (global.empty()) files.insert(files.end(), {"/usr/local/etc/npmrc", "/usr/etc/npmrc", "/etc/npmrc"});
  for (const auto& file : files) {
    const auto cafile = last_value(text_of(file).value_or(""), [](std::string_view key) { return key == "cafile"; });
    if (!cafile.empty()) return resolved(unquoted(cafile), environment);
  }
  return {};
}

std::vector<std::string> named_by_php(const std::string& key, const Environment& environment,
                                      const std::vector<std::string>& folders) {
  auto files = php_inis(environment);
  auto scanned = of_each_version("cli/conf.d");
  scanned.insert(scanned.end(), {"/etc/php.d", "/usr/local/etc/php/conf.d"});
  scanned.insert(scanned.end(), folders.begin(), folders.end());
  for (const auto& folder : scanned) std::ranges::copy(inis_of(folder), std::back_inserter(files));
  std::vector<std::string> named;
  for (const auto& file : files) {
    auto value = last_value(text_of(file).value_or(""), [&](std::string_view found) { return found == key; });
    if (value = unquoted(value); !value.empty()) named.push_back(std::move(value));
  }
  return named;
}

}  // namespace penstock::app
