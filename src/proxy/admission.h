// SPDX-License-Identifier: Apache-2.0
// Whether a request may come in at all, whoever's turn it is: what it asks for is understood and allowed, and it is
// known where it would go. Decides by the request and the configuration alone. Only for the dispatcher.
#pragma once

#include <expected>

#include "http/forwarding.h"
#include "http/refusal.h"
#include "proxy/exchange.h"
#include "proxy/router.h"
#include "proxy/services.h"

namespace penstock::proxy {

class Admission {
 public:
  explicit Admission(const Services& services) : services_(services), router_(services.config) {}

  struct Admitted {
    std::size_t entry;  ///< as in Route
    http::Steering steering;
  };
  /// Fills `exchange.target`.
  std::expected<Admitted, http::Refusal> judge(Exchange& exchange) const;

 private:
  std::optional<http::Refusal> judge_port(const http::Target& target) const;
  std::optional<http::Refusal> judge_address(const http::Target& target) const;

  const Services& services_;
  const Router router_;
};

}  // namespace penstock::proxy
