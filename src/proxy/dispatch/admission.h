// SPDX-License-Identifier: Apache-2.0
// Whether a request may come in at all, whoever's turn it is: what it asks for is understood and allowed, and it is
// known where it would go. Decides by the request and the configuration alone. Only for the dispatcher.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <utility>

#include "http/forwarding.h"
#include "http/gateway_rewrite.h"
#include "http/refusal.h"
#include "proxy/exchange/services.h"
#include "proxy/route/gateways.h"
#include "proxy/route/router.h"

namespace penstock::proxy {

class Admission {
 public:
  /// What targets refer to that are not what the client said: as long as there is such a target.
  struct Tables {
    explicit Tables(const Config& its_config) : config(its_config), router(config), gateways(config) {}
    const Config config;  // its own: the one in force changes in its place
    const Router router;
    const Gateways gateways;
  };

  explicit Admission(const Services& services)
      : services_(services), tables_(std::make_shared<const Tables>(services.config)) {}
  /// The configuration is another one. These are the tables of the one before.
  std::shared_ptr<const Tables> change() {
    return std::exchange(tables_, std::make_shared<const Tables>(services_.config));
  }

  struct Admitted {
    std::size_t entry;  ///< as in Route
    http::RequestHints hints;
  };
  /// To whom a tunnel belongs whose host is named for some of its paths only: as ever, to "*" or to nobody; or to the
  /// entry that intercepts it, where we know that nothing else may be done with it.
  enum class Tunnels : std::uint8_t { as_ever, of_interceptors };
  struct Asker {
    bool gives_hints = true;  ///< its `Penstock-*` fields count
    Tunnels tunnels = Tunnels::as_ever;
  };
  /// Fills `target` with what is to be dialled, as far as that is known. `outside`: where the CONNECT leads that the
  /// request came in; nothing: it came in none.
  std::expected<Admitted, http::Refusal> judge(const http::RequestHead& head, const http::Target* outside,
                                               http::Target& target, const Asker& asker) const;

  /// A CONNECT whose requests are judged, each for itself.
  struct Opening {
    http::Target outside;      ///< where it leads
    bool intercepted = false;  ///< TLS is answered here; otherwise only plain HTTP is expected
    /// Whether it may turn out to be a tunnel by saying nothing. What leads here cannot be one; and what would leave
    /// over TLS by itself, late as it may come, must not leave in the clear.
    bool may_be_silent = false;
  };
  /// Nothing: it is to be treated as a tunnel, or refused.
  std::optional<Opening> opening(const http::RequestHead& head, bool gives_hints) const;
  /// As in Router.
  std::size_t interceptor(const http::Target& outside) const { return tables_->router.interceptor(outside); }

 private:
  std::expected<Route, http::Refusal> locate(const http::RequestHead& head, const http::Target* outside,
                                             http::Target& target, Tunnels tunnels) const;
  std::expected<Route, http::Refusal> enter_gateway(const http::RequestHead& head, const http::GatewayForm& form,
                                                    http::Target& target) const;
  std::optional<http::Refusal> judge_page(const http::RequestHead& head) const;
  bool asks_for_gateway(const http::Target& target, const http::GatewayForm& form) const;
  bool leads_here(const http::Target& target) const;
  const UpstreamSettings& settings_of(const Route& route) const;
  void originate(http::Target& target, const Route& route) const;
  std::optional<http::Refusal> judge_message(const http::RequestHead& head) const;
  std::optional<http::Refusal> judge_port(const http::Target& target) const;
  std::optional<http::Refusal> judge_address(const http::Target& target) const;
  std::optional<http::Refusal> judge_name(const http::Target& target) const;

  const Services& services_;
  std::shared_ptr<const Tables> tables_;
};

}  // namespace penstock::proxy
