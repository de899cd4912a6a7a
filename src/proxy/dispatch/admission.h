// SPDX-License-Identifier: Apache-2.0
// Admission: decides whether a request may enter a queue at all: its message is understood, its target is allowed, and
// an upstream entry is found for it. Depends on the request and the configuration alone. Only for the dispatcher.
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
  /// What a rewritten target (has_front()) points into. Kept alive for as long as such a target exists.
  struct Tables {
    explicit Tables(const Config& its_config) : config(its_config), router(config), gateways(config) {}
    const Config config;  // a copy: Services::config is changed in place
    const Router router;
    const Gateways gateways;
  };

  explicit Admission(const Services& services)
      : services_(services), tables_(std::make_shared<const Tables>(services.config)) {}
  /// The configuration has changed: makes new tables, and returns those of the configuration before.
  std::shared_ptr<const Tables> change() {
    return std::exchange(tables_, std::make_shared<const Tables>(services_.config));
  }

  struct Admitted {
    std::size_t entry;  ///< as in Route
    http::RequestHints hints;
  };
  /// Which entry gets a tunnel whose host is named with paths only. `as_ever`: none, so "*" or a refusal;
  /// `of_intercepting_entry`: the entry that intercepts the host, for a CONNECT that would be intercepted but cannot
  /// be.
  enum class Tunnels : std::uint8_t { as_ever, of_intercepting_entry };
  struct Asker {
    bool gives_hints = true;  ///< its `Penstock-*` fields count
    Tunnels tunnels = Tunnels::as_ever;
  };
  /// Fills `target` with what is to be dialled, as far as that is known. `outside`: the target of the CONNECT that the
  /// request came in; null: it came in none.
  std::expected<Admitted, http::Refusal> judge(const http::RequestHead& head, const http::Target* outside,
                                               http::Target& target, const Asker& asker) const;

  /// A CONNECT that is to be opened here, so that each request in it is judged by itself.
  struct Opening {
    http::Target outside;      ///< the target of the CONNECT
    bool intercepted = false;  ///< TLS is answered here; otherwise only plain HTTP is expected
    /// True: it becomes a tunnel if the client stays silent. False for a CONNECT to this proxy, which cannot be a
    /// tunnel, and for upstreams reached over TLS: a late plain request must not leave in the clear.
    bool may_be_silent = false;
  };
  /// Nullopt: the CONNECT is not opened here; judge() makes it a tunnel or refuses it.
  std::optional<Opening> opening(const http::RequestHead& head, bool gives_hints) const;
  /// See Router::intercepting_entry().
  std::size_t intercepting_entry(const http::Target& outside) const {
    return tables_->router.intercepting_entry(outside);
  }

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
