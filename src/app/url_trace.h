// SPDX-License-Identifier: Apache-2.0
// What becomes of a URL that an application calls: by which way, to which entry, and where it would be dialled. Asks
// the router, judges no address. Only for `explain`.
#pragma once

#include <expected>
#include <string>

#include "http/refusal.h"
#include "http/target.h"
#include "penstock/config.h"
#include "proxy/route/router.h"

namespace penstock::app {

struct UrlTrace {
  enum class Way {
    plain,    ///< http://, sent as http
    secured,  ///< http://, sent on as https
    tunnel,   ///< https://, by CONNECT
    opened,   ///< https://, by a CONNECT that is opened here (https: intercept)
    gateway,  ///< http://PROXY/@NAME/…
    permit,   ///< http://PROXY/@NAME of an upstream of permits: nothing is dialled
  };
  Way way = Way::plain;
  http::Target asked;  ///< what patterns are matched against; for a gateway the same as `dialled`
  http::Target dialled;
  proxy::Route route;
  bool connect_opened = false;  ///< a CONNECT to `asked` is opened here, whatever it carries
};

/// The error says why the proxy would refuse the URL: it is malformed (`Reason::malformed`, `Reason::not_implemented`),
/// or no upstream of that name has a base URL or permits (`Reason::gateway_unknown`).
std::expected<UrlTrace, http::Refusal> trace_of(const Config& config, const proxy::Router& router,
                                                const std::string& url);

}  // namespace penstock::app
