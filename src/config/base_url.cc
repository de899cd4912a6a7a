// SPDX-License-Identifier: Apache-2.0
// Reads and judges `baseUrl`. What follows the scheme is judged like a pattern of `match`, and then by stricter rules.
// URLs with a user name are refused before any error text quotes a part: there may be a password in them.
#include <algorithm>

#include "penstock/config.h"

namespace penstock {

namespace {

using Wrong = std::unexpected<std::string>;

constexpr std::size_t kLongestLabel = 63;
constexpr std::string_view kExample = "as in https://api.example.com/v1";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool begins(std::string_view text, std::string_view with) {
  return std::ranges::equal(text.substr(0, with.size()), with, {}, lower);
}

std::optional<std::string> wrong_with_rest(std::string_view rest) {
  const auto has = [&](std::string_view any) { return rest.find_first_of(any) != std::string_view::npos; };
  if (rest.empty() || rest.front() == '/') return "the host is missing, " + std::string(kExample);
  if (has("@")) return "it has no user name: the application sends its own Authorization";
  if (has("?#")) return "it ends with the path: no query, no fragment";
  if (has("*")) return "it is one place: no *";
  return std::nullopt;
}

// Rules for the host of a URL beyond those of a pattern.
std::optional<std::string> wrong_with_host(std::string_view host) {
  if (host.find('_') != std::string_view::npos) return "the host has a character other than letters, digits, - and .";
  while (!host.empty()) {
    const auto end = std::min(host.find('.'), host.size());
    if (end > kLongestLabel) return "a label of the host is longer than 63 characters";
    host.remove_prefix(std::min(end + 1, host.size()));
  }
  return std::nullopt;
}

bool has_dot_segment(const std::string& path) {
  const std::string closed = path + "/";
  return closed.contains("/./") || closed.contains("/../");
}

}  // namespace

std::expected<BaseUrl, std::string> parse_base_url(std::string_view text) {
  constexpr std::string_view kHttps = "https://", kHttp = "http://";
  BaseUrl url;
  url.secure = begins(text, kHttps);
  if (!url.secure && !begins(text, kHttp)) return Wrong("it begins with https:// or http://, " + std::string(kExample));
  text.remove_prefix(url.secure ? kHttps.size() : kHttp.size());
  if (auto wrong = wrong_with_rest(text)) return Wrong(*wrong);
  auto place = parse_match(text);
  if (!place) return Wrong(std::move(place.error()));
  if (auto wrong = wrong_with_host(place->host)) return Wrong(*wrong);
  if (has_dot_segment(place->path)) return Wrong("its path has a . or .. between slashes");
  url.host = std::move(place->host);
  url.port = place->port.value_or(url.secure ? 443 : 80);
  url.path = std::move(place->path);
  return url;
}

}  // namespace penstock
