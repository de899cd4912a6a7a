// SPDX-License-Identifier: Apache-2.0
// From the first byte to the end of both sides.
#include "proxy/passage.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "proxy/dispatcher.h"
#include "proxy/time_limits.h"

namespace penstock::proxy {

namespace {
/// An upstream that has closed gets its slot back soon: most clients look at a connection that they keep for later only
/// when they use it again.
constexpr std::int64_t kPatienceAfterUpstream = 2'000'000;
constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();
}  // namespace

Passage::Passage(const Services& services, Dispatcher& dispatcher, Exchange& exchange, TunnelTotals& all, After after)
    : services_(services),
      dispatcher_(dispatcher),
      exchange_(exchange),
      all_(all),
      timer_(services.loop, [this] { on_time(); }),
      untaken_(kUnknown),
      upstream_spoke_(after == After::upgrade),
      hello_wanted_(after == After::connect),
      client_(*this),
      upstream_(*this) {}

Passage::~Passage() {
  if (open_) --all_.open;
}

void Passage::open(std::unique_ptr<loop::Stream> client, std::unique_ptr<loop::Stream> upstream) {
  client_.stream = std::move(client);
  upstream_.stream = std::move(upstream);
  open_ = true;
  ++all_.open;
  moved();
  for (auto* side : {&client_, &upstream_}) {
    side->stream->listen_to(*side);
    side->stream->keep_half_open();
    side->stream->read_on();
  }
  keep_time();
}

void Passage::pass(Side& from, std::string_view bytes) {
  moved();
  from.bytes += bytes.size();
  const bool from_client = &from == &client_;
  (from_client ? all_.bytes_out : all_.bytes_in) += bytes.size();
  if (from_client && hello_wanted_) hello_wanted_ = hello_.feed(bytes);
  if (!other(from).stream->send(bytes)) from.stream->read_off();
}

void Passage::drained(Side& side) {
  moved();
  other(side).stream->read_on();
}

void Passage::ended(Side& side) {
  side.has_ended = true;
  other(side).stream->end_writing();
  if (other(side).has_ended) return end(&side != &client_);
  moved();
  keep_time();
}

/// Once the upstream has said all, whoever resets has only closed; the rest of it is on its way to the client.
/// Otherwise something was cut off, which the other side must see.
void Passage::gone(Side& side) {
  if (upstream_.has_ended) return end(false);
  const bool client = &side == &client_;
  cut();
  dispatcher_.failed(exchange_, http::Why::connection_terminated,
                     client ? "the client left" : exchange_.destination->name + ": the connection was reset",
                     client ? Outcome::client_gone : Outcome::upstream_error);
}

/// Both have closed, one of them first. What is still on its way to a side goes on without us.
void Passage::end(bool client_first) {
  loop::Stream::close_gently(std::move(client_.stream));
  loop::Stream::close_gently(std::move(upstream_.stream));
  if (upstream_spoke_ || upstream_.bytes > 0) return dispatcher_.completed(exchange_);
  dispatcher_.failed(exchange_, http::Why::connection_terminated,
                     exchange_.destination->name + ": closed without a byte from it",
                     client_first ? Outcome::client_gone : Outcome::upstream_error);
}

void Passage::cut() {
  loop::Stream::close_with_reset(std::move(client_.stream));
  loop::Stream::close_with_reset(std::move(upstream_.stream));
}

void Passage::describe(Event& event) const {
  event.bytes_in = upstream_.bytes;
  event.bytes_out = client_.bytes;
  event.sni = hello_.sni();
  event.alpn = hello_.alpn();
}

// Its time.

void Passage::moved() {
  moved_ = services_.loop.now();
  untaken_ = kUnknown;
}

void Passage::keep_time() {
  const std::int64_t next = deadline();
  if (next != kNever && (!timer_.running() || timer_.at() > next)) timer_.start(next);
}

std::int64_t Passage::deadline() const {
  const auto idle = exchange_.destination->settings.timeouts.tunnel_idle.count();
  const auto total = total_deadline(exchange_);
  if (upstream_.has_ended) return std::min(total, moved_ + kPatienceAfterUpstream);
  return std::min(total, idle > 0 ? moved_ + idle : kNever);
}

/// The kernel tells of room only when there is a lot of it; a side that reads little by little must not look dead.
bool Passage::stalls() {
  const auto untaken = client_.stream->unread_by_peer() + upstream_.stream->unread_by_peer();
  return untaken >= std::exchange(untaken_, untaken) || untaken == 0;
}

void Passage::on_time() {
  const auto tunnel_idle = exchange_.destination->settings.timeouts.tunnel_idle;
  const std::int64_t now = services_.loop.now();
  if (now < deadline()) return keep_time();
  if (now >= total_deadline(exchange_)) {
    const auto over = total_is_over(exchange_);
    cut();
    return dispatcher_.failed(exchange_, over.why, exchange_.destination->name + ": " + over.details);
  }
  if (upstream_.has_ended && upstream_.stream->unread_by_peer() == 0) return end(false);
  if (!stalls()) {
    moved_ = now;
    return keep_time();
  }
  const std::int64_t idle = tunnel_idle.count();
  if (upstream_.has_ended && (idle == 0 || now < moved_ + idle)) {
    return timer_.start(now + kPatienceAfterUpstream);  // it has not read all that the client sent
  }
  cut();
  dispatcher_.failed(exchange_, http::Why::read_timeout,
                     "no byte moved for " + seconds(tunnel_idle) + " (timeouts.tunnelIdle)", Outcome::client_gone);
}

}  // namespace penstock::proxy
