// SPDX-License-Identifier: Apache-2.0
// See browser_guard.h. In DNS rebinding, a page's name leads to the page's own server first and to this machine next.
// The browser sees one origin and adds no field that tells, so only the name in `Host` gives the page away.
#include "http/browser_guard.h"

#include <algorithm>

#include "http/grammar.h"
#include "http/target.h"

namespace penstock::http {
namespace {

bool ends_with_ignoring_case(std::string_view text, std::string_view end) {
  return text.size() > end.size() && equal_ignoring_case(text.substr(text.size() - end.size()), end);
}

/// True if `origin` is `http://` and the Host, as browsers spell an origin (without port 80).
bool is_own_origin(std::string_view origin, std::string_view host) {
  constexpr std::string_view kScheme = "http://";
  if (host.ends_with(":80")) host.remove_suffix(3);
  return !host.empty() && origin.starts_with(kScheme) && equal_ignoring_case(origin.substr(kScheme.size()), host);
}

bool is_name(std::string_view host, std::string_view name) {
  if (name.starts_with("*.")) return ends_with_ignoring_case(host, name.substr(1));
  return equal_ignoring_case(host, name);
}

}  // namespace

bool comes_from_other_page(const Fields& request) {
  const auto host = request.find("host").value_or("");
  for (std::size_t i = 0; i < request.size(); ++i) {
    const auto [name, value] = request[i];
    if (equal_ignoring_case(name, "sec-fetch-site") && value != "none" && value != "same-origin") return true;
    if (equal_ignoring_case(name, "origin") && !is_own_origin(value, host)) return true;
  }
  return false;
}

bool is_our_host(const Fields& request, const std::vector<std::string>& names) {
  const auto value = request.find("host").value_or("");
  if (value.empty() || value.starts_with('[')) return true;
  std::string_view host = value.substr(0, value.find(':'));
  if (host.ends_with('.')) host.remove_suffix(1);
  if (!host.contains('.') || is_literal(host)) return true;
  for (const std::string_view end : {".localhost", ".internal", ".local"}) {
    if (ends_with_ignoring_case(host, end)) return true;
  }
  return std::ranges::any_of(names, [&](const std::string& name) { return is_name(host, name); });
}

}  // namespace penstock::http
