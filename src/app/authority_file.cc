// SPDX-License-Identifier: Apache-2.0
// See authority_file.h.
#include "app/authority_file.h"

#include <algorithm>
#include <optional>
#include <string>

#include "loop/loop.h"

namespace penstock::app {

namespace {

/// As in the XDG Base Directory Specification: a relative path is ignored.
std::optional<std::string> folder_of(const Environment& environment) {
  const auto own = environment("XDG_CONFIG_HOME").value_or("");
  if (own.starts_with('/')) return own + "/penstock";
  const auto home = environment("HOME").value_or("");
  return home.empty() ? std::nullopt : std::optional(home + "/.config/penstock");
}

/// From systemd's LoadCredential=. Such a file may belong to root and be readable by an access list, which looks as if
/// its group could read it.
bool is_credential(const std::string& path, const Environment& environment) {
  const auto folder = environment("CREDENTIALS_DIRECTORY").value_or("");
  return folder.starts_with('/') && path.starts_with(folder + "/");
}

}  // namespace

bool intercepts(const Config& config) {
  return std::ranges::any_of(config.upstreams,
                             [](const auto& upstream) { return upstream.settings.https == Https::intercept; });
}

tls::AuthorityFiles authority_files(const InterceptConfig& intercept, const Environment& environment) {
  if (!intercept.ca.empty()) {
    return {.certificate = intercept.ca,
            .key = intercept.key,
            .key_is_credential = is_credential(intercept.key, environment)};
  }
  const auto folder = folder_of(environment);
  if (!folder) return {};
  return {.certificate = *folder + "/ca.pem", .key = *folder + "/ca-key.pem"};
}

std::expected<std::shared_ptr<const tls::Authority>, Error> authority_of(const Config& config) {
  if (!intercepts(config)) return nullptr;
  const auto now = loop::system_wall() / 1'000'000;
  if (const auto& given = config.intercept; !given.key_text.empty()) {
    return tls::Authority::read({.certificate = given.ca_text, .key = given.key_text}, now);
  }
  const auto files = authority_files(config.intercept);
  if (files.key.empty()) {
    return std::unexpected(Error{.token = {},
                                 .message = "intercept.ca: name the files of an authority, for this user has no home "
                                            "where they could be"});
  }
  return tls::Authority::load(files, now);
}

std::string warning_of_end(const tls::Authority& authority) {
  constexpr std::int64_t kDay = 24 * 60 * 60;
  const auto left = authority.good_until() - loop::system_wall() / 1'000'000;
  if (left >= std::min(30 * kDay, authority.lasts() / 10)) return {};
  const std::string when = left <= 0 ? "has expired" : "expires in " + std::to_string(left / kDay) + " days";
  return "intercept.ca: the authority " + when + "; " + authority.how_to_renew();
}

}  // namespace penstock::app
