// SPDX-License-Identifier: Apache-2.0
// See relay.h.
#include "proxy/flight/relay.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "access/address.h"
#include "proxy/exchange/time_limits.h"

namespace penstock::proxy {

namespace {
/// If the upstream has closed, its slot is freed soon: most clients notice only when they next use the connection.
constexpr std::int64_t kPatienceAfterUpstream = 2'000'000;
/// A client that has closed its side may still be owed an answer, but most such clients are gone.
constexpr std::int64_t kPatienceAfterClient = 30'000'000;
/// How long such a tunnel keeps its slot.
constexpr std::int64_t kSlotAfterClient = 2'000'000;
/// If the upstream sends while its tunnel rests, the tunnel is marked as rested again after this long, so that it does
/// not count as the one that has rested longest.
constexpr std::int64_t kRestsAnew = 10'000'000;
constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();
}  // namespace

Relay::Relay(const Services& services, AttemptEvents& events, Exchange& exchange, OpenTunnels& tunnels, After after)
    : services_(services),
      events_(events),
      exchange_(exchange),
      tunnels_(tunnels),
      timer_(services.loop, [this] { on_time(); }),
      status_(after == After::connect ? 200 : 101),
      untaken_(kUnknown),
      upstream_spoke_(after == After::upgrade),
      hello_wanted_(after == After::connect),
      client_(*this),
      upstream_(*this) {}

void Relay::open(std::unique_ptr<loop::Stream> client, std::unique_ptr<loop::Stream> upstream) {
  client_.stream = std::move(client);
  upstream_.stream = std::move(upstream);
  entry_.emplace(tunnels_);
  moved();
  for (auto* side : {&client_, &upstream_}) {
    side->stream->set_events(*side);
    side->stream->keep_half_open();
    side->stream->read_on();
  }
  keep_time();
}

void Relay::pass(Side& from, std::string_view bytes) {
  moved();
  if (state_ != State::busy && !may_pass(from, bytes)) return;
  from.bytes += bytes.size();
  const bool from_client = &from == &client_;
  from_client ? entry_->passed_out(bytes.size()) : entry_->passed_in(bytes.size());
  if (from_client && hello_wanted_) hello_wanted_ = hello_.feed(bytes);
  if (!other(from).stream->send(bytes)) from.stream->read_off();
  if (std::exchange(awaits_, from_client) && !from_client) keep_time();
}

/// Upstream bytes always pass. Client bytes wait for a slot; one read is held here and the rest stays in the kernel.
bool Relay::may_pass(const Side& from, std::string_view bytes) {
  if (&from == &upstream_) {
    if (state_ == State::resting && moved_ - rested_ >= kRestsAnew) {
      rested_ = moved_;
      park();
    }
    return true;
  }
  if (state_ == State::resting) {
    state_ = State::wants_slot;
    exchange_.queue->resume(exchange_.ticket);
  }
  if (state_ == State::busy) return true;
  held_.append(bytes);
  client_.stream->read_off();
  return false;
}

void Relay::go_on() {
  state_ = State::busy;
  if (held_.empty()) return;  // the slot came inside UpstreamQueue::resume(), so nothing was held
  const std::string bytes = std::exchange(held_, {});
  client_.stream->read_on();
  pass(client_, bytes);
  keep_time();
}

void Relay::drained(Side& side) {
  moved();
  if (&side == &upstream_ && state_ == State::wants_slot) return;
  other(side).stream->read_on();
}

void Relay::ended(Side& side) {
  side.has_ended = true;
  if (&side == &client_) {
    heard_ = upstream_.bytes;
    const auto address = access::parse_address(client_.stream->peer().address);
    entry_->half_close(*this, address ? std::optional(access::client_of(*address)) : std::nullopt);
  }
  other(side).stream->end_writing();
  if (other(side).has_ended) return end(&side != &client_);
  moved();
  keep_time();
  if (&side != &client_) return;
  if (!awaits_ && rest_deadline() != kNever) rest();
  exchange_.queue->mark_spare(exchange_.ticket);
}

/// Once the upstream has sent everything, a reset is only a close, and the rest is on its way to the client. Otherwise
/// data was cut off, and the other side must see that.
void Relay::gone(Side& side) {
  const bool client = &side == &client_;
  if (upstream_.has_ended || (client && upstream_.stream->is_read_out())) return end(false);
  const bool nothing_since = client_.has_ended && upstream_.bytes == heard_;
  const bool well = client ? client_.has_ended || state_ == State::resting : nothing_since;
  cut();
  const std::string details = client ? "the client left" : exchange_.upstream->name + ": the connection was reset";
  finish(well, {.why = http::Reason::connection_terminated,
                .details = details,
                .outcome = client ? Outcome::client_gone : Outcome::upstream_error});
}

/// `well`: nothing was under way any more. A tunnel without a byte from the upstream never ends well.
void Relay::finish(bool well, const AttemptFailure& otherwise) {
  if (well && spoke()) return events_.completed(exchange_, result());
  events_.failed(exchange_, otherwise, result());
}

void Relay::make_room(std::string_view why) {
  const bool well = state_ == State::resting || !awaits_;
  cut();  // frees the client's slot of the connection quota at once
  finish(well, {.why = http::Reason::connection_terminated, .details = why, .outcome = Outcome::client_gone});
}

/// False in the middle of an answer.
bool Relay::may_make_room() const {
  const bool begun = upstream_.bytes > heard_;
  return !begun || state_ == State::resting || services_.loop.now() >= moved_ + kSlotAfterClient;
}

void Relay::abort(const http::Refusal& refusal) {
  const bool well = state_ == State::resting || client_.has_ended;
  cut();
  finish(well, {.why = refusal.why, .details = refusal.details});
}

/// Both sides have closed; `client_first` if the client closed first. Bytes still queued are sent after the relay is
/// gone.
void Relay::end(bool client_first) {
  loop::Stream::close_lingering(std::move(client_.stream));
  loop::Stream::close_lingering(std::move(upstream_.stream));
  const std::string details = exchange_.upstream->name + ": closed without a byte from it";
  finish(true, {.why = http::Reason::connection_terminated,
                .details = details,
                .outcome = client_first ? Outcome::client_gone : Outcome::upstream_error});
}

/// Resets both sides: only a reset shows a peer that the data is incomplete.
void Relay::cut() {
  loop::Stream::close_with_reset(std::move(client_.stream));
  loop::Stream::close_with_reset(std::move(upstream_.stream));
}

AttemptResult Relay::result() const {
  if (!is_open()) return {};
  return {.status = status_,
          .bytes_in = upstream_.bytes,
          .bytes_out = client_.bytes,
          .tunnel = true,
          .sni = hello_.sni(),
          .alpn = hello_.alpn()};
}

// Time-outs.

void Relay::moved() {
  moved_ = services_.loop.now();
  untaken_ = kUnknown;
}

void Relay::keep_time() {
  const std::int64_t next = std::min(end_deadline(), rest_deadline());
  if (next != kNever && (!timer_.running() || timer_.at() > next)) timer_.start(next);
}

std::int64_t Relay::end_deadline() const {
  const auto idle = exchange_.timeouts().tunnel_idle.count();
  const auto total = total_deadline(exchange_);
  if (upstream_.has_ended) return std::min(total, moved_ + kPatienceAfterUpstream);
  if (state_ == State::wants_slot) return total;  // the client's bytes are held back here, so nothing can move
  const auto patience = idle > 0 ? moved_ + idle : kNever;
  return std::min({total, patience, client_.has_ended ? moved_ + kPatienceAfterClient : kNever});
}

std::int64_t Relay::rest_deadline() const {
  const auto rest = exchange_.timeouts().tunnel_rest.count();
  const bool may_rest = state_ == State::busy && !upstream_.has_ended && rest > 0;
  if (may_rest && awaits_ && client_.has_ended) return moved_ + kSlotAfterClient;
  return may_rest && !awaits_ ? moved_ + rest : kNever;
}

/// The kernel reports room only when there is a lot of it; a peer that reads little by little must not look dead.
bool Relay::stalls() {
  const auto untaken = client_.stream->unread_by_peer() + upstream_.stream->unread_by_peer();
  return untaken >= std::exchange(untaken_, untaken) || untaken == 0;
}

void Relay::on_time() {
  const std::int64_t now = services_.loop.now();
  if (now < end_deadline()) return now < rest_deadline() ? keep_time() : rest();
  if (now >= total_deadline(exchange_)) {
    const auto over = total_is_over(exchange_);
    cut();
    const std::string details = exchange_.upstream->name + ": " + over.details;
    return events_.failed(exchange_, {.why = over.why, .details = details}, result());
  }
  if (upstream_.has_ended && upstream_.stream->unread_by_peer() == 0) return end(false);
  if (!stalls()) {
    moved_ = now;
    return keep_time();
  }
  const std::int64_t idle = exchange_.timeouts().tunnel_idle.count();
  if (upstream_.has_ended && (idle == 0 || now < moved_ + idle)) {
    return timer_.start(now + kPatienceAfterUpstream);  // the upstream has not yet read all that the client sent
  }
  stop_idling(now);
}

/// Gives up the slot, which may start other exchanges.
void Relay::rest() {
  const std::int64_t now = services_.loop.now();
  if (client_.stream->queued() > 0 || upstream_.stream->queued() > 0) {  // bytes are still queued
    return timer_.start(std::min(end_deadline(), now + exchange_.timeouts().tunnel_rest.count()));
  }
  state_ = State::resting;
  rested_ = now;
  keep_time();
  park();
}

void Relay::park() {
  exchange_.rests = true;
  exchange_.queue->park(exchange_.ticket);
}

/// Ends a tunnel that has been idle for too long. It ends well if no answer was awaited.
void Relay::stop_idling(std::int64_t now) {
  const auto tunnel_idle = exchange_.timeouts().tunnel_idle;
  const bool by_idle = tunnel_idle.count() > 0 && now >= moved_ + tunnel_idle.count();
  const bool well = untaken_ == 0 && (client_.has_ended || !awaits_);
  cut();
  const std::string details =
      by_idle ? "no byte moved for " + seconds(tunnel_idle) + " (timeouts.tunnelIdle)"
              : "the client had closed its side, and no byte came for " + seconds(Duration{kPatienceAfterClient});
  finish(well, {.why = http::Reason::read_timeout, .details = details, .outcome = Outcome::client_gone});
}

}  // namespace penstock::proxy
