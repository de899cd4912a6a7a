// SPDX-License-Identifier: Apache-2.0
// Parts of an identity stand behind their kind and length, so that no two lists of parts look the same.
#include "http/credential_identity.h"

#include <algorithm>

#include "http/credentials.h"
#include "http/grammar.h"
#include "http/jwt_claims.h"

namespace penstock::http {
namespace {

enum class PartKind : char { key = 'k', claim = 'c', account = 'a' };

/// Schemes whose whole credentials are a key that stays the same: RFC 7617, 6750 and 9449; GitHub and others; Discord;
/// Elasticsearch, Yandex; Okta; Opsgenie; DeepL; Klaviyo.
constexpr std::string_view kKeySchemes[]{"basic",    "bearer",         "dpop",           "token",
                                         "bot",      "apikey",         "api-key",        "ssws",
                                         "geniekey", "deepl-auth-key", "klaviyo-api-key"};

void add_part(std::string& identity, PartKind kind, std::string_view text) {
  identity += static_cast<char>(kind);
  identity += std::to_string(text.size());
  identity += ':';
  identity += text;
}

/// The value of `name=value` or `name="value"` in a list that commas separate, its quotes taken off; empty: none.
std::string_view auth_param(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    list.remove_prefix(std::min(list.find_first_not_of(" \t,"), list.size()));
    const auto found = trim(cut(list, '='));
    const bool quoted = list.starts_with('"');
    std::size_t end = quoted ? 1 : std::min(list.find(','), list.size());
    while (quoted && end < list.size() && list[end] != '"') end += list[end] == '\\' ? 2 : 1;
    end = std::min(end, list.size());
    const auto value = quoted ? list.substr(1, end - 1) : trim(list.substr(0, end));
    if (equal_ignoring_case(found, name)) return value;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return {};
}

void add_account(std::string& identity, std::string_view account) {
  if (!account.empty()) add_part(identity, PartKind::account, account);
}

void add_bearer(std::string& identity, std::string_view token) {
  const auto claims = read_jwt_claims(token);
  if (!claims) return add_part(identity, PartKind::key, token);
  for (const auto* claim : {&claims->iss, &claims->sub, &claims->azp})
    add_part(identity, PartKind::claim, *claim ? std::string_view(**claim) : std::string_view());
}

/// A key that stands alone, as those of Linear: no name of a scheme is so long.
bool is_bare_key(std::string_view value) {
  constexpr std::size_t kShortestKey = 20;
  return value.size() >= kShortestKey && value.find_first_of(" \t,=") == std::string_view::npos;
}

void add_authorization(std::string& identity, std::string_view value) {
  if (is_bare_key(value)) return add_part(identity, PartKind::key, value);
  std::string_view credentials = value;
  const auto scheme = cut(credentials, ' ');
  credentials = trim(credentials);
  const auto is = [&](std::string_view name) { return equal_ignoring_case(scheme, name); };
  if (credentials.empty()) return;
  if (is("bearer") || is("dpop")) return add_bearer(identity, credentials);
  if (std::ranges::any_of(kKeySchemes, is)) return add_part(identity, PartKind::key, credentials);
  if (is("aws4-hmac-sha256") || is("aws4-ecdsa-p256-sha256")) {
    auto credential = auth_param(credentials, "credential");
    return add_account(identity, cut(credential, '/'));
  }
  if (is("digest")) return add_account(identity, auth_param(credentials, "username"));
  if (is("oauth")) {
    add_account(identity, auth_param(credentials, "oauth_consumer_key"));
    return add_account(identity, auth_param(credentials, "oauth_token"));
  }
  if (is("sharedkey") || is("sharedkeylite")) add_account(identity, cut(credentials, ':'));
}

}  // namespace

std::optional<std::string> credential_identity(const Fields& request) {
  std::string identity;
  for (std::size_t i = 0; i < request.size(); ++i) {
    const auto [name, value] = request[i];
    const auto text = trim(value);
    if (equal_ignoring_case(name, "authorization")) {
      add_authorization(identity, text);
    } else if (is_api_key(name) && !text.empty()) {
      add_part(identity, PartKind::key, text);
    }
  }
  return identity.empty() ? std::nullopt : std::optional(std::move(identity));
}

}  // namespace penstock::http
