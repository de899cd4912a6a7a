// SPDX-License-Identifier: Apache-2.0
// The part of ClientConnection that finds out what a CONNECT carries: plain requests, or TLS to be taken over
// (tls_takeover.h) with requests in it; each request is then limited by itself. Anything else becomes a tunnel. The
// first bytes tell, and a client sends them only after a 200.
#include <utility>

#include "http/protocol_sniff.h"
#include "proxy/client/client_connection.h"
#include "proxy/client/clients.h"

namespace penstock::proxy {

namespace {
/// A client that is silent for so long waits for the server to speak first, as in some protocols: it gets a tunnel.
constexpr std::int64_t kPatienceForFirstBytes = 3'000'000;
/// Where no such tunnel is possible: a client that is silent for so long is closed.
constexpr std::int64_t kPatienceForRequests = 30'000'000;
/// A client that leaves so soon after the handshake, without a request, is taken to reject our certificate.
constexpr std::int64_t kSoon = 1'000'000;
constexpr char kTlsHandshake = 0x16;  // the first byte of a handshake record
}  // namespace

bool ClientConnection::open_at_once(http::RequestHead& head) {
  auto opening = outside_ ? std::nullopt : dispatcher_.opening(head, gives_hints());
  if (!opening) return false;
  const bool intercepted = opening->intercepted;
  if (intercepted && bypasses(opening->outside)) {
    exchange_ = dispatcher_.accept(*this, std::move(head), nullptr, Admission::Tunnels::of_interceptors);
    return true;
  }
  const auto patience = opening->may_be_silent ? kPatienceForFirstBytes : kPatienceForRequests;
  opened_.reset(
      new Opened{*std::move(opening), std::move(head), {services_.loop, [this] { on_sniff_timeout(); }}, {}, {}});
  opened_->patience.start(services_.loop.now() + patience);
  TlsTakeoverEvents& events = *this;
  if (intercepted) {
    opened_->interception = std::make_unique<TlsTakeover>(services_, opened_->what.outside.host,
                                                          CertificateRejections::Client{from_, user_}, events);
  }
  out().append(kEstablished);
  stream_->touch();
  return true;
}

/// True if this client is known to reject our certificate for the host.
bool ClientConnection::bypasses(const http::Target& outside) {
  if (!services_.interceptor->rejections.bypasses({from_, user_}, outside.host, services_.loop.now())) return false;
  report_handshake(outside, Handshake::bypassed);
  return true;
}

void ClientConnection::sniff() {
  if (!stream_ || unread_.empty()) return;
  if (opened_->interception && unread_.front() == kTlsHandshake) return intercept();
  switch (http::sniff_protocol(unread_)) {
    case http::Protocol::undecided: return;
    case http::Protocol::request: return serve_inside();
    case http::Protocol::other: return become_tunnel();
  }
}

void ClientConnection::serve_inside() {
  const bool named = services_.authenticator && !services_.authenticator->open();
  auto credentials = named ? http::only_credentials(opened_->head.fields) : http::Fields{};
  outside_.reset(new Outside{std::move(opened_->what.outside), std::move(credentials)});
  opened_.reset();
  serving_ = connecting_ = false;
  parser_.restart();
  parse(std::exchange(unread_, {}));
}

void ClientConnection::on_sniff_timeout() {
  if (opened_->what.may_be_silent) return become_tunnel();
  stream_.reset();
  leave();
}

void ClientConnection::become_tunnel() {
  const auto opened = std::move(opened_);
  connect_answered_ = true;
  exchange_ = dispatcher_.accept(*this, std::move(opened->head), nullptr, opened->tunnels);
}

// TLS takeover.

void ClientConnection::intercept() {
  opened_->patience.stop();
  reading_ = false;
  opened_->interception->begin(std::move(stream_), std::exchange(unread_, {}));
}

void ClientConnection::on_intercepted(std::unique_ptr<loop::Stream> stream) {
  report_handshake(opened_->what.outside, Handshake::done);
  stream_ = std::move(stream);
  stream_->set_events(*this);
  intercepted_at_ = services_.loop.now();
  opened_->what.outside.scheme = "https";
  serve_inside();
}

/// Goes on as without a takeover: what the client has sent, `early`, goes into a tunnel.
void ClientConnection::on_h2_only(std::unique_ptr<loop::Stream> stream, std::string early) {
  report_handshake(opened_->what.outside, Handshake::bypassed);
  opened_->tunnels = Admission::Tunnels::of_interceptors;
  stream_ = std::move(stream);
  stream_->set_events(*this);
  opened_->interception.reset();
  parse(early);
}

void ClientConnection::on_not_intercepted(Handshake result, const std::string& details) {
  const auto opened = std::move(opened_);
  const auto& outside = opened->what.outside;
  if (result == Handshake::rejected || result == Handshake::left) {
    const auto sign =
        result == Handshake::rejected ? CertificateRejections::Sign::alert : CertificateRejections::Sign::broken_off;
    report_rejection(outside, result, sign, details);
  } else {
    report_handshake(outside, result, details);
  }
  leave();
}

void ClientConnection::on_first_request_in_tls() {
  intercepted_at_ = 0;
  services_.interceptor->rejections.accepted({from_, user_}, outside_->target.host);
}

/// Some clients check the certificate only after the handshake, and close without an alert if they reject it.
void ClientConnection::on_silent_close() {
  const bool rejected = stream_->dial_failure() == loop::DialFailure::certificate;
  if (!rejected && services_.loop.now() - intercepted_at_ > kSoon) return;
  if (rejected) {
    const auto details = rejection(outside_->target.host, stream_->failure_words());
    return report_rejection(outside_->target, Handshake::rejected, CertificateRejections::Sign::alert, details);
  }
  report_rejection(outside_->target, Handshake::left, CertificateRejections::Sign::left,
                   departure(outside_->target.host));
}

/// The report says so if the client gets tunnels from now on.
void ClientConnection::report_rejection(const http::Target& outside, Handshake result, CertificateRejections::Sign sign,
                                        std::string details) {
  auto& rejections = services_.interceptor->rejections;
  const CertificateRejections::Client client{from_, user_};
  const auto now = services_.loop.now();
  rejections.rejected(client, outside.host, sign, now);
  if (rejections.bypasses(client, outside.host, now))
    details += "; it gets tunnels for an hour (intercept.bypassOnPin)";
  report_handshake(outside, result, details);
}

void ClientConnection::report_handshake(const http::Target& outside, Handshake result, std::string_view details) {
  dispatcher_.report_handshake({.outside = outside, .result = result, .user = user_, .details = details});
}

}  // namespace penstock::proxy
