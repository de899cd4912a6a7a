// SPDX-License-Identifier: Apache-2.0
// Reports the results of one client's TLS takeovers, and remembers in CertificateRejections whether the client rejects
// our certificate.
#pragma once

#include <string>
#include <string_view>

#include "http/target.h"
#include "proxy/dispatch/dispatcher.h"
#include "proxy/exchange/services.h"
#include "proxy/intercept/certificate_rejections.h"

namespace penstock::proxy {

class TakeoverReports {
 public:
  /// `name`: the client's address and port, for events.
  TakeoverReports(Dispatcher& dispatcher, const Services& services, CertificateRejections::Client client,
                  std::string name);

  const CertificateRejections::Client& client() const { return client_; }
  /// True if the client is known to reject our certificate for the host; that is reported.
  bool bypasses(const http::Target& outside) const;
  /// The client sent a request after the handshake.
  void accepted(const http::Target& outside) const;
  /// The client rejected our certificate, as `sign` shows. The report says so if the client gets tunnels from now on.
  void rejected(const http::Target& outside, Handshake result, CertificateRejections::Sign sign,
                std::string details) const;
  /// Any other result.
  void report(const http::Target& outside, Handshake result, std::string_view details = {}) const;

 private:
  Dispatcher& dispatcher_;
  const Services& services_;
  CertificateRejections::Client client_;
  std::string name_;
};

}  // namespace penstock::proxy
