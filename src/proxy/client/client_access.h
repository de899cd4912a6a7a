// SPDX-License-Identifier: Apache-2.0
// What one client may do: whether it may use the proxy at all (access.clients), as which user (access.users), and
// whether its request hints count.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "access/address.h"
#include "http/fields.h"
#include "http/refusal.h"
#include "proxy/client/authenticator.h"
#include "proxy/exchange/services.h"

namespace penstock::proxy {

class ClientAccess {
 public:
  /// `name`: the client's address and port, for events.
  ClientAccess(const Services& services, const access::Address& from, std::string name);

  /// The configuration has changed.
  void reevaluate();
  /// Judges the next request, of no user yet, by these credentials. Nullopt: check() them.
  std::optional<Authenticator::Verdict> judge(const http::Fields& credentials);
  /// As Authenticator::check().
  std::expected<std::unique_ptr<Authenticator::Check>, http::Refusal> check(const http::Fields& credentials,
                                                                            Authenticator::OnVerdict on_verdict) const;
  void set_user(std::string_view user) { user_ = user; }

  const access::Address& from() const { return from_; }
  const std::string& name() const { return name_; }
  /// Of the last request; empty if access.users is not set.
  const std::string& user() const { return user_; }
  bool gives_hints() const;

 private:
  const Services& services_;
  const access::Address from_;
  std::string name_;
  std::string user_;
  bool allowed_;
};

}  // namespace penstock::proxy
