// SPDX-License-Identifier: Apache-2.0
// Judges a client by its address, then by its credentials.
#include "proxy/client/client_access.h"

#include <utility>

#include "access/verdict.h"

namespace penstock::proxy {

ClientAccess::ClientAccess(const Services& services, const access::Address& from, std::string name)
    : services_(services), from_(from), name_(std::move(name)), allowed_(services.verdict.client(from)) {}

void ClientAccess::reevaluate() { allowed_ = services_.verdict.client(from_); }

bool ClientAccess::gives_hints() const { return services_.verdict.gives_hints(from_); }

std::optional<Authenticator::Verdict> ClientAccess::judge(const http::Fields& credentials) {
  using Verdict = Authenticator::Verdict;
  user_.clear();
  if (!allowed_) {
    return Verdict(std::unexpect,
                   http::Refusal{.why = http::Reason::client_denied,
                                 .details = "clients from this network may not use this proxy (access.clients)"});
  }
  if (!services_.authenticator || services_.authenticator->open()) return Verdict(std::string_view());
  return services_.authenticator->ask(credentials);
}

std::expected<std::unique_ptr<Authenticator::Check>, http::Refusal> ClientAccess::check(
    const http::Fields& credentials, Authenticator::OnVerdict on_verdict) const {
  return services_.authenticator->check(credentials, from_, std::move(on_verdict));
}

}  // namespace penstock::proxy
