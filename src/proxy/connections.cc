// SPDX-License-Identifier: Apache-2.0
// Pools are made at start; what one client has to itself, when it is needed.
#include "proxy/connections.h"

#include <algorithm>
#include <cassert>
#include <string_view>

namespace penstock::proxy {

namespace {
constexpr std::size_t kMostClaimed = 16;

bool is_scheme(std::string_view word) {
  return http::equal_ignoring_case(word, "NTLM") || http::equal_ignoring_case(word, "Negotiate");
}

/// Whether one of the words of a list of challenges is such a scheme. A realm of that name costs no more than a shared
/// connection.
bool names_scheme(std::string_view challenges) {
  constexpr std::string_view kBetween = " \t,";
  while (!challenges.empty()) {
    const auto size = std::min(challenges.find_first_of(kBetween), challenges.size());
    if (is_scheme(challenges.substr(0, size))) return true;
    challenges.remove_prefix(std::min(size + 1, challenges.size()));
  }
  return false;
}

bool any_names_scheme(const http::Fields& fields, std::string_view name) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (http::equal_ignoring_case(fields[i].name, name) && names_scheme(fields[i].value)) return true;
  }
  return false;
}
}  // namespace

bool logs_in_connection(const http::Fields& request) { return any_names_scheme(request, "Authorization"); }
bool asks_to_log_in_connection(const http::Fields& answer) { return any_names_scheme(answer, "WWW-Authenticate"); }

Connections::Connections(loop::Loop& loop, const Config& config, transfer::Multi::Judge judge)
    : loop_(loop), judge_(std::move(judge)) {
  add(config.unmatched.tls);
  for (const auto& upstream : config.upstreams) add(upstream.settings.tls);
}

void Connections::add(const TlsConfig& tls) {
  const auto same = [&](const auto& pool) { return pool.first == tls; };
  if (std::ranges::none_of(pools_, same)) pools_.emplace_back(tls, make_own(tls));
}

transfer::Multi& Connections::of(const TlsConfig& tls) const {
  const auto found = std::ranges::find_if(pools_, [&](const auto& pool) { return pool.first == tls; });
  assert(found != pools_.end());
  return *found->second;
}

std::unique_ptr<transfer::Multi> Connections::make_own(const TlsConfig& tls) const {
  return std::make_unique<transfer::Multi>(loop_, judge_, tls);
}

void OwnConnections::claim(const std::string& upstream) {
  const auto same = [&](const auto& one) { return one.first == upstream; };
  if (claimed_.size() < kMostClaimed && std::ranges::none_of(claimed_, same)) claimed_.emplace_back(upstream, nullptr);
}

transfer::Multi* OwnConnections::to(const std::string& upstream, const TlsConfig& tls, const Connections& connections) {
  for (auto& [name, multi] : claimed_) {
    if (name != upstream) continue;
    if (!multi) multi = connections.make_own(tls);
    return multi.get();
  }
  return nullptr;
}

}  // namespace penstock::proxy
