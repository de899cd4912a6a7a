// SPDX-License-Identifier: Apache-2.0
// Tries the addresses in order and gives each its share of the time.
#include "proxy/flight/dialer.h"

#include <algorithm>
#include <utility>

#include "proxy/exchange/address_check.h"
#include "proxy/exchange/time_limits.h"
#include "tls/tls_stream.h"

namespace penstock::proxy {

namespace {
http::Refusal refusal_of(loop::DialFailure failure, std::string words = {}) {
  using loop::DialFailure;
  switch (failure) {
    case DialFailure::refused:
      return {.why = http::Reason::connection_refused, .details = "the connection was refused"};
    case DialFailure::unroutable:
      return {.why = http::Reason::destination_unroutable, .details = "there is no route to it"};
    case DialFailure::timed_out:
      return {.why = http::Reason::connection_timeout,
              .details = "no connection came about in time (timeouts.connect)"};
    case DialFailure::no_descriptors:
      return {.why = http::Reason::destination_unavailable, .details = "no file descriptor is left for a connection"};
    case DialFailure::certificate: return {.why = http::Reason::tls_certificate_error, .details = std::move(words)};
    case DialFailure::handshake: return {.why = http::Reason::tls_protocol_error, .details = std::move(words)};
    case DialFailure::none:
    case DialFailure::abandoned:
    case DialFailure::other: break;
  }
  return {.why = http::Reason::connection_terminated, .details = "no connection came about"};
}
}  // namespace

Dialer::Dialer(const Services& services, const Exchange& exchange, DialerEvents& events,
               tls::ClientIdentities* identities)
    : services_(services),
      exchange_(exchange),
      events_(events),
      timer_(services.loop, [this] { on_time(); }),
      identities_(identities),
      connect_by_(kNever),
      attempt_ends_(kNever) {}

void Dialer::start() {
  if (!exchange_.target.secure()) return look_up();
  auto identity = identities_->find_or_make(exchange_.upstream->settings.tls);
  if (!identity) return fail({.why = http::Reason::internal_error, .details = std::move(identity.error().message)});
  identity_ = *std::move(identity);
  look_up();
}

void Dialer::look_up() {
  keep_time();
  const auto& target = exchange_.target;
  if (target.literal) return judge_addresses({target.host});
  if (const auto* addresses = services_.resolver.remembered(target.host)) return judge_addresses(*addresses);
  lookup_ = services_.resolver.ask(target.host, [this](const loop::LookupResult& lookup) {
    lookup_.reset();
    lookup ? judge_addresses(*lookup) : fail(unresolved(exchange_.target.host, lookup.error()));
  });
}

void Dialer::judge_addresses(const loop::Addresses& addresses) {
  const auto none = judge(services_, exchange_.target, addresses,
                          [this](const std::string& address) { addresses_.push_back(address); });
  if (none) return fail(*none);
  const auto patience = exchange_.timeouts().connect.count();
  if (patience > 0) connect_by_ = services_.loop.now() + patience;
  dial();
}

/// Each address gets half of the time that is left, the last one all of it.
void Dialer::dial() {
  const auto now = services_.loop.now();
  const auto& target = exchange_.target;
  const Endpoint there{addresses_[dialled_], target.port};
  stream_ = identity_ ? tls::Stream::dial(services_.loop, there, *identity_, target.host, *this)
                      : loop::Stream::dial(services_.loop, there, *this);
  const bool last = ++dialled_ == addresses_.size();
  attempt_ends_ = connect_by_ == kNever || last ? connect_by_ : now + (connect_by_ - now) / 2;
  keep_time();
}

void Dialer::on_connected() {
  timer_.stop();
  events_.on_dialled(std::move(stream_));
}

/// If TLS fails at one address it would fail at the others too, so they are not tried.
void Dialer::on_gone() {
  using loop::DialFailure;
  const auto failure = stream_->dial_failure();
  if (failure != DialFailure::certificate && failure != DialFailure::handshake) return not_connected(failure);
  fail(refusal_of(failure, stream_->failure_words()));
}

/// The remaining addresses are judged again: the configuration may have changed during the last attempt.
void Dialer::not_connected(loop::DialFailure failure) {
  const auto& target = exchange_.target;
  while (dialled_ < addresses_.size() && !is_still_allowed(services_, target, addresses_[dialled_])) ++dialled_;
  if (dialled_ < addresses_.size() && services_.loop.now() < connect_by_) return dial();
  fail(refusal_of(failure));
}

void Dialer::fail(const http::Refusal& refusal) {
  timer_.stop();
  stream_.reset();
  events_.on_not_dialled(refusal);
}

void Dialer::keep_time() {
  const std::int64_t next = std::min(attempt_ends_, total_deadline(exchange_));
  if (next != kNever) timer_.start(next);
}

void Dialer::on_time() {
  if (services_.loop.now() < std::min(attempt_ends_, total_deadline(exchange_))) return keep_time();
  if (services_.loop.now() >= total_deadline(exchange_)) return fail(total_is_over(exchange_));
  not_connected(loop::DialFailure::timed_out);
}

}  // namespace penstock::proxy
