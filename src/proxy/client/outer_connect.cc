// SPDX-License-Identifier: Apache-2.0
// What a client shows of its trust after the handshake.
#include "proxy/client/outer_connect.h"

#include <utility>

#include "proxy/intercept/tls_takeover.h"

namespace penstock::proxy {

namespace {
/// A client that leaves so soon after the handshake, without a request, is taken to reject our certificate.
constexpr std::int64_t kSoon = 1'000'000;
}  // namespace

OuterConnect::OuterConnect(http::Target target, http::Fields credentials, TakeoverReports reports,
                           std::int64_t intercepted_at)
    : target_(std::move(target)),
      credentials_(std::move(credentials)),
      reports_(std::move(reports)),
      silent_since_(intercepted_at) {}

void OuterConnect::on_request() {
  if (std::exchange(silent_since_, 0) != 0) reports_.accepted(target_);
}

/// Some clients check the certificate only after the handshake, and close without an alert if they reject it.
void OuterConnect::on_gone(const loop::Stream& stream, std::int64_t now) const {
  if (silent_since_ == 0) return;
  if (stream.dial_failure() == loop::DialFailure::certificate) {
    const auto details = rejection(target_.host, stream.failure_words());
    return reports_.rejected(target_, Handshake::rejected, CertificateRejections::Sign::alert, details);
  }
  if (now - silent_since_ > kSoon) return;
  reports_.rejected(target_, Handshake::left, CertificateRejections::Sign::left, departure(target_.host));
}

}  // namespace penstock::proxy
