// SPDX-License-Identifier: Apache-2.0
// What is reported of a takeover, and what is remembered of it.
#include "proxy/client/takeover_reports.h"

#include <utility>

#include "proxy/intercept/interception_service.h"

namespace penstock::proxy {

TakeoverReports::TakeoverReports(Dispatcher& dispatcher, const Services& services, CertificateRejections::Client client,
                                 std::string name)
    : dispatcher_(dispatcher), services_(services), client_(std::move(client)), name_(std::move(name)) {}

bool TakeoverReports::bypasses(const http::Target& outside) const {
  if (!services_.interception->rejections.bypasses(client_, outside.host, services_.loop.now())) return false;
  report(outside, Handshake::bypassed);
  return true;
}

void TakeoverReports::accepted(const http::Target& outside) const {
  services_.interception->rejections.accepted(client_, outside.host);
}

void TakeoverReports::rejected(const http::Target& outside, Handshake result, CertificateRejections::Sign sign,
                               std::string details) const {
  auto& rejections = services_.interception->rejections;
  const auto now = services_.loop.now();
  rejections.rejected(client_, outside.host, sign, now);
  if (rejections.bypasses(client_, outside.host, now))
    details += "; it gets tunnels for an hour (intercept.bypassOnPin)";
  report(outside, result, details);
}

void TakeoverReports::report(const http::Target& outside, Handshake result, std::string_view details) const {
  dispatcher_.report_handshake(
      {.outside = outside, .result = result, .user = client_.user, .client = name_, .details = details});
}

}  // namespace penstock::proxy
