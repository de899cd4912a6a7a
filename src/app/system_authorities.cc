// SPDX-License-Identifier: Apache-2.0
// See system_authorities.h.
#include "app/system_authorities.h"

#include <algorithm>
#include <string_view>

#include "tls/check_identity.h"
#include "transfer/system_authorities.h"

namespace penstock::app {

namespace {

/// Empty: they can be read.
std::string why_missing() {
  const auto file = transfer::system_authorities();
  const auto fine = file.empty() ? std::unexpected(Error{.token = {}, .message = "libcurl was built without any"})
                                 : tls::check({.ca = file, .client_cert = {}, .client_key = {}});
  if (fine) return {};
  std::string_view why = fine.error().message;
  constexpr std::string_view kKey = "tls.ca: ";
  if (why.starts_with(kKey)) why.remove_prefix(kKey.size());
  return "the system's authorities are missing, so nobody is trusted over TLS: " + std::string(why) +
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
