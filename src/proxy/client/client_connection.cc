// SPDX-License-Identifier: Apache-2.0
// Hands each request to the dispatcher when the one before is answered, and closes the connection when it is its time.
#include "proxy/client/client_connection.h"

#include <utility>

#include "proxy/client/clients.h"
#include "proxy/exchange/address_check.h"

namespace penstock::proxy {

ClientConnection::ClientConnection(Clients& clients, Dispatcher& dispatcher, const Services& services,
                                   std::unique_ptr<loop::Stream> stream, const access::Address& from, HeldBytes held)
    : clients_(clients),
      dispatcher_(dispatcher),
      services_(services),
      stream_(std::move(stream)),
      access_(services, from),
      going_on_(services.loop, [this] { go_on(); }),
      reader_(services, going_on_, *this),
      sink_(services, dispatcher, access_, reader_, std::move(held), *this),
      timeouts_(services.loop, [this] { on_timed_out(); }) {
  stream_->set_events(*this);
  reader_.attach(*stream_);
  sink_.attach(*stream_);
  reader_.resume();
  after_reading();
}

// From the client.

void ClientConnection::on_read(std::string_view bytes) {
  reader_.read(bytes);
  after_reading();
}

void ClientConnection::on_gone() {
  if (outer_) outer_->on_gone(*stream_, services_.loop.now());
  if (exchange_) dispatcher_.abandon(*std::exchange(exchange_, nullptr));
  stream_.reset();
  leave();
}

void ClientConnection::after_reading() {
  if (sniffer_ && !reader_.unread().empty()) going_on_.ask();
  keep_time();
}

ClientConnection::Takes ClientConnection::takes() const {
  if (closing_) return Takes::nothing_more;
  if (!serving_ && !reader_.has_ahead()) return sink_.has_room() ? Takes::request : Takes::nothing;
  if (!serving_) return Takes::ahead;
  if (!reader_.body_whole()) return exchange_ && dispatcher_.wants_body(*exchange_) ? Takes::body : Takes::nothing;
  return sink_.keeps_connection() ? Takes::ahead : Takes::nothing;
}

// A request on its way to the dispatcher. Requests inside a CONNECT use the CONNECT's credentials, judged anew for each
// request.

bool ClientConnection::on_request(http::RequestHead&& head) {
  new_ = false;
  if (outer_) outer_->on_request();
  timeouts_.wait_for_nothing();
  serving_ = true;
  sink_.begin(
      {.head_method = head.method == "HEAD", .minor_version = head.minor_version, .keep_alive = head.keep_alive});
  const auto& credentials = outer_ ? outer_->credentials() : head.fields;
  if (const auto verdict = access_.judge(credentials)) {
    on_verdict(*verdict, std::move(head));
    return true;
  }
  auto check = access_.check(credentials, [this](const Authenticator::Verdict& result) { on_checked(result); });
  if (check) authenticating_ = std::make_unique<Authenticating>(std::move(head), *std::move(check));
  if (!check) refuse_arrival(check.error());
  return !check;
}

void ClientConnection::on_checked(const Authenticator::Verdict& verdict) {
  const auto checked = std::move(authenticating_);
  on_verdict(verdict, std::move(checked->head));
  going_on_.ask();
}

void ClientConnection::on_verdict(const Authenticator::Verdict& verdict, http::RequestHead&& head) {
  if (verdict) {
    access_.set_user(*verdict);
    return admit(std::move(head));
  }
  const auto why = verdict.error().why;
  // The credentials are those of the CONNECT: only a new CONNECT can bring others.
  if (why == http::Reason::client_denied || (outer_ && why == http::Reason::credentials)) sink_.close_behind();
  refuse_arrival(verdict.error());
}

void ClientConnection::admit(http::RequestHead&& head) {
  if (reader_.behind() == RequestReader::Behind::tunnel && open_at_once(head)) return;
  exchange_ = dispatcher_.accept(sink_, std::move(head), outer_ ? &outer_->target() : nullptr);
}

void ClientConnection::refuse_arrival(const http::Refusal& refusal) {
  dispatcher_.report_refused(refusal);
  sink_.answer_refusal(refusal);
}

bool ClientConnection::on_body(std::string_view bytes) {
  if (!exchange_) return false;
  timeouts_.moved();
  exchange_->body.append(bytes);
  dispatcher_.body_came(*exchange_);
  return dispatcher_.wants_body(*exchange_);
}

void ClientConnection::on_body_end(http::Fields&& trailers) {
  if (!exchange_) return;
  exchange_->body.whole = true;
  exchange_->body.trailers = std::move(trailers);
  dispatcher_.body_came(*exchange_);
}

// A CONNECT that is answered before it is dialled.

bool ClientConnection::open_at_once(http::RequestHead& head) {
  auto opening = outer_ ? std::nullopt : dispatcher_.opening(head, access_.gives_hints());
  if (!opening) return false;
  TakeoverReports reports(dispatcher_, services_, {access_.from(), access_.user()});
  if (opening->intercepted && reports.bypasses(opening->outside)) {
    exchange_ = dispatcher_.accept(sink_, std::move(head), nullptr, Admission::Tunnels::of_interceptors);
    return true;
  }
  ConnectSnifferEvents& events = *this;
  sniffer_ =
      std::make_unique<ConnectSniffer>(services_, *std::move(opening), std::move(head), std::move(reports), events);
  sink_.answer_connect();
  return true;
}

std::unique_ptr<loop::Stream> ClientConnection::lend_stream(std::string& early) {
  reader_.detach();
  early = reader_.take_unread();
  return std::move(stream_);
}

void ClientConnection::return_stream(std::unique_ptr<loop::Stream> stream, std::string_view early) {
  stream_ = std::move(stream);
  stream_->set_events(*this);
  reader_.attach(*stream_);
  sink_.attach(*stream_);
  reader_.read(early);
  after_reading();
}

void ClientConnection::on_requests_inside(std::unique_ptr<OuterConnect> connect) {
  outer_ = std::move(connect);
  sniffer_.reset();
  serving_ = false;
  reader_.restart();
  reader_.resume();
  after_reading();
}

void ClientConnection::on_tunnel(http::RequestHead head, Admission::Tunnels tunnels) {
  sniffer_.reset();
  exchange_ = dispatcher_.accept(sink_, std::move(head), nullptr, tunnels);
}

void ClientConnection::on_lost() {
  stream_.reset();
  leave();
}

// To the client.

void ClientConnection::on_continue_sent() {
  if (!exchange_) return;
  exchange_->head.expect_continue = false;  // its body is awaited from now on
  keep_time();
}

void ClientConnection::on_drained() {
  if (exchange_) return dispatcher_.resume(*exchange_);
  going_on_.ask();
}

std::unique_ptr<loop::Stream> ClientConnection::give_stream(std::string& early) {
  exchange_ = nullptr;
  early = reader_.take_unread();
  leave();
  return std::move(stream_);
}

void ClientConnection::on_answered(bool keeps) {
  exchange_ = nullptr;
  serving_ = false;
  if (!keeps) closing_ = true;
  going_on_.ask();
}

void ClientConnection::on_broken() {
  exchange_ = nullptr;
  loop::Stream::close_with_reset(std::move(stream_));
  leave();
}

// At the end of an iteration: the next request, more of a body, or closing.

void ClientConnection::go_on() {
  if (sniffer_) {
    if (stream_ && !reader_.unread().empty()) sniffer_->sniff(reader_.unread());
    return;
  }
  if (!serving_ && !reader_.leave_tunnel()) closing_ = true;
  if (reader_.failed() && exchange_ && !reader_.body_whole())
    dispatcher_.reject(*std::exchange(exchange_, nullptr), reader_.refusal());
  if (!serving_ && !closing_ && sink_.has_room() && !reader_.begin_next() && reader_.failed())
    refuse_unread(reader_.refusal());
  if (!closing_) {
    reader_.resume();
    after_reading();
  }
  if (!closing_ || serving_ || !stream_) return;
  loop::Stream::close_lingering(std::move(stream_));
  leave();
}

/// Refuses a head that never became a request: it was malformed or came too slowly.
void ClientConnection::refuse_unread(const http::Refusal& refusal) {
  sink_.begin({.head_method = reader_.failed_head_method(), .keep_alive = false});
  refuse_arrival(refusal);
}

void ClientConnection::close_if_idle() {
  if ((serving_ && !sniffer_) || closing_) return;
  stream_ ? close_politely() : leave();  // without a stream: the TLS takeover has it
}

void ClientConnection::close_politely() {
  if (stream_->queued() > 0 && !sniffer_) {
    closing_ = true;
    return going_on_.ask();
  }
  // Nothing is outstanding, so it may close at once; but TLS needs its close_notify to be sent first.
  outer_ && outer_->target().secure() ? loop::Stream::close_lingering(std::move(stream_)) : stream_.reset();
  leave();
}

void ClientConnection::reevaluate_access() {
  access_.reevaluate();
  keep_time();
}

// Client time-outs.

void ClientConnection::keep_time() {
  using For = ClientTimeouts::For;
  const auto& of_connection = services_.config.connection;
  switch (awaited()) {
    case For::nothing: return timeouts_.wait_for_nothing();
    case For::request: return timeouts_.wait_for(For::request, of_connection.keep_alive);
    case For::head: return timeouts_.wait_for(For::head, of_connection.header);
    case For::body: return timeouts_.wait_for(For::body, exchange_->upstream->settings.timeouts.body);
  }
}

ClientTimeouts::For ClientConnection::awaited() const {
  using For = ClientTimeouts::For;
  if (closing_ || reader_.failed() || sniffer_) return For::nothing;
  if (!serving_) return reader_.in_head() ? For::head : For::request;
  // Once the answer has begun, a client may wait for more of it before it sends more: then `timeouts.idle` decides.
  if (reader_.body_whole() || !reader_.may_parse() || exchange_->head.expect_continue) return For::nothing;
  return exchange_->flight && exchange_->flight->answered() ? For::nothing : For::body;
}

void ClientConnection::on_timed_out() {
  using For = ClientTimeouts::For;
  const auto late = [&](http::Reason why, const char* what, Duration limit, const char* key) {
    return http::Refusal{.why = why, .details = what + (" " + seconds(limit)) + " (" + key + ")"};
  };
  if (awaited() != timeouts_.what()) return keep_time();  // an answer has begun meanwhile
  if (timeouts_.what() == For::body) {
    const auto limit = exchange_->upstream->settings.timeouts.body;
    const auto why = late(http::Reason::body_timeout, "no byte of the request's body came for", limit, "timeouts.body");
    return dispatcher_.reject(*std::exchange(exchange_, nullptr), why);
  }
  if (timeouts_.what() == For::head) {
    const auto limit = services_.config.connection.header;
    const auto why = late(http::Reason::head_timeout, "the request's head took longer than", limit, "timeouts.header");
    return refuse_unread(why);
  }
  // A client that is still taking our last answers, or has just taken them, is not idle.
  const std::size_t before = std::exchange(untaken_, stream_->unread_by_peer());
  if (untaken_ == before) return close_politely();
  timeouts_.moved();
  keep_time();
}

void ClientConnection::leave() {
  closing_ = true;
  timeouts_.wait_for_nothing();
  reader_.detach();
  authenticating_.reset();
  sniffer_.reset();
  going_on_.cancel();
  clients_.remove(*this);
}

}  // namespace penstock::proxy
