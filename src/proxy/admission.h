// SPDX-License-Identifier: Apache-2.0
// Whether a request may come in at all, whoever's turn it is: what it asks for is understood and allowed, and it is
// known where it would go. Decides by the request and the configuration alone. Only for the dispatcher.
#pragma once

#include <expected>
#include <optional>

#include "http/forwarding.h"
#include "http/front.h"
#include "http/refusal.h"
#include "proxy/gateways.h"
#include "proxy/router.h"
#include "proxy/services.h"

namespace penstock::proxy {

class Admission {
 public:
  explicit Admission(const Services& services)
      : services_(services), router_(services.config), gateways_(services.config) {}

  struct Admitted {
    std::size_t entry;  ///< as in Route
    http::Steering steering;
  };
  /// Fills `target` with what is to be dialled, as far as that is known. `outside`: where the CONNECT leads that the
  /// request came in; nothing: it came in none.
  std::expected<Admitted, http::Refusal> judge(const http::RequestHead& head, const http::Target* outside,
                                               http::Target& target) const;

  /// Where a CONNECT leads that is expected to carry plain HTTP, so that its requests are judged, each for itself.
  /// Nothing: it is to be treated as a tunnel, or refused.
  std::optional<http::Target> outside_of_plain(const http::RequestHead& head) const;
  /// Whether such a CONNECT may turn out to be a tunnel by saying nothing. What leads here cannot be one; and what
  /// would leave over TLS by itself, late as it may come, must not leave in the clear.
  bool may_be_silent(const http::Target& outside) const;

 private:
  std::expected<Route, http::Refusal> locate(const http::RequestHead& head, const http::Target* outside,
                                             http::Target& target) const;
  std::expected<Route, http::Refusal> enter_gateway(const http::GatewayForm& form, http::Target& target) const;
  bool asks_for_gateway(const http::Target& target, const http::GatewayForm& form) const;
  bool leads_here(const http::Target& target) const;
  const UpstreamSettings& settings_of(const Route& route) const;
  void originate(http::Target& target, const Route& route) const;
  std::optional<http::Refusal> judge_message(const http::RequestHead& head) const;
  std::optional<http::Refusal> judge_port(const http::Target& target) const;
  std::optional<http::Refusal> judge_address(const http::Target& target) const;

  const Services& services_;
  const Router router_;
  const Gateways gateways_;
};

}  // namespace penstock::proxy
