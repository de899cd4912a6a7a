// SPDX-License-Identifier: Apache-2.0
// The CONNECT that the requests of a connection come in, in plain HTTP or in TLS that was taken over. It also finds out
// whether the client accepts our certificate: its first request says so, and closing without one says the opposite.
#pragma once

#include <cstdint>

#include "http/fields.h"
#include "http/target.h"
#include "loop/stream.h"
#include "proxy/client/takeover_reports.h"

namespace penstock::proxy {

class OuterConnect {
 public:
  /// `intercepted_at`: when the TLS takeover succeeded, on the loop's clock; 0: the requests come in plain HTTP.
  OuterConnect(http::Target target, http::Fields credentials, TakeoverReports reports, std::int64_t intercepted_at);

  const http::Target& target() const { return target_; }
  /// The CONNECT's credentials; empty if access.users is not set.
  const http::Fields& credentials() const { return credentials_; }

  /// A request came in it.
  void on_request();
  /// The client has closed the connection.
  void on_gone(const loop::Stream& stream, std::int64_t now) const;

 private:
  const http::Target target_;
  const http::Fields credentials_;
  const TakeoverReports reports_;
  std::int64_t silent_since_;  // when the TLS takeover succeeded; 0 once a request has come
};

}  // namespace penstock::proxy
