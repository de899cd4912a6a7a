// SPDX-License-Identifier: Apache-2.0
// See system_authorities.h.
#include "app/system_authorities.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "tls/check_identity.h"
#include "tls/system_authorities.h"

namespace penstock::app {

namespace {

std::string without_key(std::string_view why) {
  constexpr std::string_view kKey = "tls.ca: ";
  if (why.starts_with(kKey)) why.remove_prefix(kKey.size());
  return std::string(why);
}

bool exists(const char* path) {
  std::error_code unknown;
  return std::filesystem::exists(path, unknown);
}

std::string none_of_the_places() {
  std::string places;
  for (const char* place : tls::kSystemAuthorities) places.append(places.empty() ? "" : ", ").append(place);
  return "there is none of " + places;
}

/// Empty: they can be read.
std::string why_missing() {
  const auto file = tls::system_authorities();
  const auto fine = tls::check({.ca = file, .client_cert = {}, .client_key = {}});
  if (fine) return {};
  const bool none = file == tls::kSystemAuthorities.front() && std::ranges::none_of(tls::kSystemAuthorities, exists);
  return "the system's authorities are missing, so nobody is trusted over TLS: " +
         (none ? none_of_the_places() : without_key(fine.error().message)) +
         "; install the package ca-certificates, or name a file in tls.ca or by SSL_CERT_FILE";
}

bool speaks_tls(const UpstreamConfig& upstream) {
  const bool by_gateway = upstream.base_url && upstream.base_url->secure;
  return by_gateway || upstream.settings.https == Https::originate || upstream.settings.https == Https::intercept;
}

}  // namespace

std::vector<config::Issue> missing_authorities(const Config& config) {
  const auto first = std::ranges::find_if(config.upstreams, [](const UpstreamConfig& upstream) {
    return upstream.settings.tls.ca.empty() && speaks_tls(upstream);
  });
  const bool others = config.unmatched.tls.ca.empty() && config.unmatched.https == Https::originate;
  if (first == config.upstreams.end() && !others) return {};
  auto why = why_missing();
  if (why.empty()) return {};
  const std::string path = "upstreams." + (first == config.upstreams.end() ? "*" : first->name);
  return {{.path = path, .message = path + ": " + why}};
}

std::string warning_of_authorities(const Config& config) {
  const bool needed =
      config.unmatched.tls.ca.empty() || std::ranges::any_of(config.upstreams, [](const UpstreamConfig& upstream) {
        return upstream.settings.tls.ca.empty();
      });
  return needed ? why_missing() : std::string();
}

}  // namespace penstock::app
