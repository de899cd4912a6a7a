// SPDX-License-Identifier: Apache-2.0
// See java_options.h.
#include "app/java_options.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace penstock::app {

namespace {

constexpr const char* kTrustStore = "javax.net.ssl.trustStore";
/// Ours replace any earlier values.
constexpr std::array kProxy{"http.proxyHost", "http.proxyPort", "https.proxyHost", "https.proxyPort",
                            "http.nonProxyHosts"};

/// Java splits options at unquoted white space, and removes quotes.
std::string quoted(const std::string& value) {
  if (value.find_first_of(" \t\n'\"") == std::string::npos) return value;
  return value.contains('"') ? "'" + value + "'" : "\"" + value + "\"";
}

/// An option as written, and its meaning without quotes.
struct Option {
  std::string raw, text;
};

std::vector<Option> split(std::string_view options) {
  std::vector<Option> all(1);
  char quote = '\0';
  for (const char c : options) {
    if (quote == '\0' && (c == ' ' || c == '\t' || c == '\n')) {
      if (!all.back().raw.empty()) all.emplace_back();
      continue;
    }
    all.back().raw += c;
    const bool marks = quote == '\0' ? c == '"' || c == '\'' : c == quote;
    if (!marks) all.back().text += c;
    if (marks) quote = quote == '\0' ? c : '\0';
  }
  if (all.back().raw.empty()) all.pop_back();
  return all;
}

std::optional<std::string> value_of(const Option& option, const std::string& name) {
  const std::string begin = "-D" + name + "=";
  return option.text.starts_with(begin) ? std::optional(option.text.substr(begin.size())) : std::nullopt;
}

void add(std::string& options, const std::string& name, const std::string& value) {
  options += (options.empty() ? "-D" : " -D") + name + "=" + quoted(value);
}

}  // namespace

std::optional<std::string> java_option(const std::string& options, const std::string& name) {
  std::optional<std::string> last;
  for (const auto& option : split(options)) {
    if (auto value = value_of(option, name)) last = std::move(value);
  }
  return last;
}

std::string without_ours(const std::string& options, const std::function<bool(const std::string&)>& is_our_store) {
  std::string kept;
  for (const auto& option : split(options)) {
    const auto store = value_of(option, kTrustStore);
    const bool names_proxy =
        std::ranges::any_of(kProxy, [&](const char* name) { return value_of(option, name).has_value(); });
    if (names_proxy || (store && is_our_store(*store))) continue;
    kept += (kept.empty() ? "" : " ") + option.raw;
  }
  return kept;
}

std::string java_options(std::string options, const Endpoint& proxy, const std::string& trust_store) {
  const auto port = std::to_string(proxy.port);
  for (const std::string scheme : {"http", "https"}) {
    add(options, scheme + ".proxyHost", proxy.address);
    add(options, scheme + ".proxyPort", port);
  }
  // As in no_proxy. Without this option Java would bypass the proxy for more hosts.
  add(options, "http.nonProxyHosts", proxy.address.contains(':') ? "[" + proxy.address + "]" : proxy.address);
  // Neither its password nor its type: they would also apply to another store on a command line.
  if (!trust_store.empty()) add(options, kTrustStore, trust_store);
  return options;
}

}  // namespace penstock::app
