// SPDX-License-Identifier: Apache-2.0
// From CONNECT to the end of both sides.
#include "proxy/tunnel.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "proxy/dispatcher.h"
#include "proxy/judging.h"

namespace penstock::proxy {

namespace {
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
/// An upstream that has closed gets its slot back soon: most clients look at a connection that they keep for later only
/// when they use it again.
constexpr std::int64_t kPatienceAfterUpstream = 2'000'000;
constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();

http::Refusal refusal_of(loop::DialFailure failure) {
  using loop::DialFailure;
  switch (failure) {
    case DialFailure::refused: return {.why = http::Why::connection_refused, .details = "the connection was refused"};
    case DialFailure::unroutable:
      return {.why = http::Why::destination_unroutable, .details = "there is no route to it"};
    case DialFailure::timed_out:
      return {.why = http::Why::connection_timeout, .details = "no connection came about in time (timeouts.connect)"};
    case DialFailure::no_descriptors:
      return {.why = http::Why::destination_unavailable, .details = "no file descriptor is left for a connection"};
    case DialFailure::none:
    case DialFailure::other: break;
  }
  return {.why = http::Why::connection_terminated, .details = "no connection came about"};
}
}  // namespace

Tunnel::Tunnel(const Services& services, Dispatcher& dispatcher, Exchange& exchange, TunnelTotals& all)
    : services_(services),
      dispatcher_(dispatcher),
      exchange_(exchange),
      all_(all),
      timer_(services.loop, [this] { on_time(); }),
      connect_by_(kNever),
      attempt_ends_(kNever),
      untaken_(kUnknown),
      client_(*this),
      upstream_(*this) {}

Tunnel::~Tunnel() {
  if (open_) --all_.open;
}

// Until it is open.

void Tunnel::take_off() {
  keep_time();
  const auto& target = exchange_.target;
  if (target.literal) return judge_addresses({target.host});
  if (const auto* addresses = services_.resolver.remembered(target.host)) return judge_addresses(*addresses);
  question_ = services_.resolver.ask(target.host, [this](const loop::Lookup& lookup) {
    question_.reset();
    if (lookup) return judge_addresses(*lookup);
    const auto why = unresolved(exchange_.target.host, lookup.error());
    fail(why.why, why.details);
  });
}

void Tunnel::judge_addresses(const loop::Addresses& addresses) {
  const auto none = judge(services_, exchange_.target, addresses,
                          [this](const std::string& address) { addresses_.push_back(address); });
  if (none) return fail(none->why, none->details);
  const auto patience = exchange_.destination->settings.timeouts.connect.count();
  if (patience > 0) connect_by_ = services_.loop.now() + patience;
  dial();
}

/// An address that does not answer may cost half of the time that is left, unless it is the last.
void Tunnel::dial() {
  const auto now = services_.loop.now();
  upstream_.stream = loop::Stream::dial(services_.loop, {addresses_[dialled_], exchange_.target.port}, upstream_);
  const bool last = ++dialled_ == addresses_.size();
  attempt_ends_ = connect_by_ == kNever || last ? connect_by_ : now + (connect_by_ - now) / 2;
  keep_time();
}

void Tunnel::not_connected(loop::DialFailure failure) {
  if (dialled_ < addresses_.size() && services_.loop.now() < connect_by_) return dial();
  const auto refusal = refusal_of(failure);
  fail(refusal.why, refusal.details);
}

void Tunnel::open() {
  std::string early;
  client_.stream = exchange_.requester.hand_over(early);
  open_ = true;
  ++all_.open;
  moved();
  exchange_.leaves(moved_);
  client_.stream->listen_to(client_);
  for (auto* side : {&client_, &upstream_}) {
    side->stream->keep_half_open();
    side->stream->read_on();
  }
  keep_time();
  if (!early.empty()) pass(client_, early);
}

// While it is open.

void Tunnel::pass(Side& from, std::string_view bytes) {
  moved();
  from.bytes += bytes.size();
  const bool from_client = &from == &client_;
  (from_client ? all_.bytes_out : all_.bytes_in) += bytes.size();
  if (from_client && hello_wanted_) hello_wanted_ = hello_.feed(bytes);
  if (!other(from).stream->send(bytes)) from.stream->read_off();
}

void Tunnel::drained(Side& side) {
  moved();
  other(side).stream->read_on();
}

void Tunnel::ended(Side& side) {
  side.has_ended = true;
  other(side).stream->end_writing();
  if (other(side).has_ended) return end(&side != &client_);
  moved();
  keep_time();
}

/// A client that resets when the upstream has said all has closed too. Otherwise something was cut off, which the other
/// side must see.
void Tunnel::gone(Side& side) {
  if (!open_) return not_connected(side.stream->dial_failure());
  const bool client = &side == &client_;
  if (client && upstream_.has_ended) return end(false);
  cut();
  dispatcher_.failed(exchange_, http::Why::connection_terminated,
                     client ? "the client left" : exchange_.destination->name + ": the connection was reset",
                     client ? Outcome::client_gone : Outcome::upstream_error);
}

/// Both have closed, one of them first. What is still on its way to a side goes on without us.
void Tunnel::end(bool client_first) {
  loop::Stream::close_gently(std::move(client_.stream));
  loop::Stream::close_gently(std::move(upstream_.stream));
  if (upstream_.bytes > 0) return dispatcher_.completed(exchange_);
  dispatcher_.failed(exchange_, http::Why::connection_terminated,
                     exchange_.destination->name + ": closed without a byte from it",
                     client_first ? Outcome::client_gone : Outcome::upstream_error);
}

void Tunnel::fail(http::Why why, const std::string& details) {
  break_off({.why = why, .details = exchange_.destination->name + ": " + details});
}

void Tunnel::break_off(const http::Refusal& refusal) {
  open_ ? cut() : exchange_.requester.answer_refusal(refusal);
  dispatcher_.failed(exchange_, refusal.why, refusal.details);
}

/// Only a reset tells that what came was not all.
void Tunnel::cut() {
  loop::Stream::close_with_reset(std::move(client_.stream));
  loop::Stream::close_with_reset(std::move(upstream_.stream));
}

void Tunnel::describe(Event& event) const {
  event.bytes_in = upstream_.bytes;
  event.bytes_out = client_.bytes;
  event.sni = hello_.sni();
  event.alpn = hello_.alpn();
}

// Its time.

void Tunnel::moved() {
  moved_ = services_.loop.now();
  untaken_ = kUnknown;
}

void Tunnel::keep_time() {
  const std::int64_t next = deadline();
  if (next != kNever && (!timer_.running() || timer_.at() > next)) timer_.start(next);
}

std::int64_t Tunnel::deadline() const {
  const auto& timeouts = exchange_.destination->settings.timeouts;
  const auto total = timeouts.total.count() > 0 ? exchange_.took_off + timeouts.total.count() : kNever;
  if (!open_) return std::min(total, attempt_ends_);
  if (upstream_.has_ended) return std::min(total, moved_ + kPatienceAfterUpstream);
  return std::min(total, timeouts.tunnel_idle.count() > 0 ? moved_ + timeouts.tunnel_idle.count() : kNever);
}

/// The kernel tells of room only when there is a lot of it; a side that reads little by little must not look dead.
bool Tunnel::stalls() {
  const auto untaken = client_.stream->unread_by_peer() + upstream_.stream->unread_by_peer();
  return untaken >= std::exchange(untaken_, untaken) || untaken == 0;
}

void Tunnel::on_time() {
  const auto& timeouts = exchange_.destination->settings.timeouts;
  const std::int64_t now = services_.loop.now();
  if (now < deadline()) return keep_time();
  if (timeouts.total.count() > 0 && now >= exchange_.took_off + timeouts.total.count()) {
    return fail(http::Why::read_timeout, "not done after " + seconds(timeouts.total) + " (timeouts.total)");
  }
  if (!open_) return not_connected(loop::DialFailure::timed_out);
  if (upstream_.has_ended && upstream_.stream->unread_by_peer() == 0) return end(false);
  if (!stalls()) {
    moved_ = now;
    return keep_time();
  }
  const std::int64_t idle = timeouts.tunnel_idle.count();
  if (upstream_.has_ended && (idle == 0 || now < moved_ + idle)) {
    return timer_.start(now + kPatienceAfterUpstream);  // it has not read all that the client sent
  }
  cut();
  dispatcher_.failed(exchange_, http::Why::read_timeout,
                     "no byte moved for " + seconds(timeouts.tunnel_idle) + " (timeouts.tunnelIdle)",
                     Outcome::client_gone);
}

}  // namespace penstock::proxy
