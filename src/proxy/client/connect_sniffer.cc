// SPDX-License-Identifier: Apache-2.0
// Sniffs the first bytes inside a CONNECT, has TLS taken over, and tells the connection what is inside.
#include "proxy/client/connect_sniffer.h"

#include <utility>

#include "http/credentials.h"
#include "http/protocol_sniff.h"
#include "proxy/client/authenticator.h"

namespace penstock::proxy {

namespace {
/// A client that is silent for so long waits for the server to speak first, as in some protocols: it gets a tunnel.
constexpr std::int64_t kPatienceForFirstBytes = 3'000'000;
/// Where no such tunnel is possible: a client that is silent for so long is closed.
constexpr std::int64_t kPatienceForRequests = 30'000'000;
constexpr char kTlsHandshake = 0x16;  // the first byte of a handshake record
}  // namespace

ConnectSniffer::ConnectSniffer(const Services& services, Admission::Opening&& opening, http::RequestHead&& head,
                               TakeoverReports reports, ConnectSnifferEvents& events)
    : services_(services),
      opening_(std::move(opening)),
      head_(std::move(head)),
      reports_(std::move(reports)),
      events_(events),
      patience_(services.loop, [this] { on_silence(); }) {
  patience_.start(services_.loop.now() + (opening_.may_be_silent ? kPatienceForFirstBytes : kPatienceForRequests));
  if (!opening_.intercepted) return;
  TlsTakeoverEvents& takeover_events = *this;
  takeover_ = std::make_unique<TlsTakeover>(services_, opening_.outside.host, reports_.client(), takeover_events);
}

void ConnectSniffer::sniff(std::string_view bytes) {
  if (takeover_ && bytes.front() == kTlsHandshake) return take_over();
  switch (http::sniff_protocol(bytes)) {
    case http::Protocol::undecided: return;
    case http::Protocol::request: return serve_inside(0);
    case http::Protocol::other: return become_tunnel();
  }
}

void ConnectSniffer::on_silence() { opening_.may_be_silent ? become_tunnel() : events_.on_lost(); }

void ConnectSniffer::become_tunnel() { events_.on_tunnel(std::move(head_), tunnels_); }

void ConnectSniffer::serve_inside(std::int64_t intercepted_at) {
  const bool named = services_.authenticator && !services_.authenticator->open();
  auto credentials = named ? http::only_credentials(head_.fields) : http::Fields{};
  events_.on_requests_inside(std::make_unique<OuterConnect>(std::move(opening_.outside), std::move(credentials),
                                                            std::move(reports_), intercepted_at));
}

// TLS takeover.

void ConnectSniffer::take_over() {
  patience_.stop();
  std::string early;
  auto stream = events_.lend_stream(early);
  takeover_->begin(std::move(stream), std::move(early));
}

void ConnectSniffer::on_intercepted(std::unique_ptr<loop::Stream> stream) {
  reports_.report(opening_.outside, Handshake::done);
  events_.return_stream(std::move(stream), {});
  opening_.outside.scheme = "https";
  serve_inside(services_.loop.now());
}

/// Goes on as without a takeover: what the client has sent, `early`, goes into a tunnel.
void ConnectSniffer::on_h2_only(std::unique_ptr<loop::Stream> stream, std::string early) {
  reports_.report(opening_.outside, Handshake::bypassed);
  tunnels_ = Admission::Tunnels::of_intercepting_entry;
  takeover_.reset();
  events_.return_stream(std::move(stream), early);
}

void ConnectSniffer::on_not_intercepted(Handshake result, const std::string& details) {
  using Sign = CertificateRejections::Sign;
  const auto& outside = opening_.outside;
  switch (result) {
    case Handshake::rejected: reports_.rejected(outside, result, Sign::alert, details); break;
    case Handshake::left: reports_.rejected(outside, result, Sign::broken_off, details); break;
    default: reports_.report(outside, result, details);
  }
  events_.on_lost();
}

}  // namespace penstock::proxy
