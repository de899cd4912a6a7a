// SPDX-License-Identifier: Apache-2.0
// Hands each request to the dispatcher when the one before is answered, and writes the answers.
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
      held_(std::move(held)),
      writer_({}),
      going_on_(services.loop, [this] { go_on(); }),
      reader_(services, going_on_, *this),
      timeouts_(services.loop, [this] { on_timed_out(); }),
      from_(from),
      client_allowed_(services.verdict.client(from)) {
  stream_->set_events(*this);
  reader_.attach(*stream_);
  reader_.resume();
  after_reading();
}

ClientConnection::~ClientConnection() = default;

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
  if (!serving_ && !reader_.has_ahead()) return has_room() ? Takes::request : Takes::nothing;
  if (!serving_) return Takes::ahead;
  if (!reader_.body_whole()) return exchange_ && dispatcher_.wants_body(*exchange_) ? Takes::body : Takes::nothing;
  return answering_.keep_alive ? Takes::ahead : Takes::nothing;
}

bool ClientConnection::on_request(http::RequestHead&& head) {
  new_ = false;
  if (outer_) outer_->on_request();
  begin(std::move(head));
  return !authenticating_;
}

void ClientConnection::begin(http::RequestHead&& head) {
  timeouts_.wait_for_nothing();
  serving_ = true;
  answering_ = {.head_method = head.method == "HEAD",
                .minor_version = head.minor_version,
                .keep_alive = head.keep_alive && !closes_after_answers_};
  writer_ = http::ResponseWriter(answering_);
  if (!client_allowed_) {
    answering_.keep_alive = false;
    return refuse_arrival({.why = http::Reason::client_denied,
                           .details = "clients from this network may not use this proxy (access.clients)"});
  }
  if (is_let_in(head)) admit(std::move(head));
}

void ClientConnection::admit(http::RequestHead&& head) {
  if (reader_.behind() == RequestReader::Behind::tunnel && open_at_once(head)) return;
  exchange_ = dispatcher_.accept(*this, std::move(head), outer_ ? &outer_->target() : nullptr);
}

void ClientConnection::refuse_arrival(const http::Refusal& refusal) {
  dispatcher_.report_refused(refusal);
  answer_refusal(refusal);
}

// Authentication (access.users). Requests inside a CONNECT use the CONNECT's credentials, judged anew for each request.

const http::Fields& ClientConnection::credentials_of(const http::RequestHead& head) const {
  return outer_ ? outer_->credentials() : head.fields;
}

bool ClientConnection::is_let_in(http::RequestHead& head) {
  user_.clear();
  if (!services_.authenticator || services_.authenticator->open()) return true;
  const auto verdict = services_.authenticator->ask(credentials_of(head));
  if (verdict) return on_authenticated(*verdict);
  await_authentication(head);
  return false;
}

bool ClientConnection::on_authenticated(const Authenticator::Verdict& verdict) {
  if (verdict) {
    user_ = *verdict;
  } else {
    // The credentials are those of the CONNECT: only a new CONNECT can bring others.
    if (outer_ && verdict.error().why == http::Reason::credentials) answering_.keep_alive = false;
    refuse_arrival(verdict.error());
  }
  return verdict.has_value();
}

void ClientConnection::await_authentication(http::RequestHead& head) {
  auto check = services_.authenticator->check(
      credentials_of(head), from_, [this](const Authenticator::Verdict& verdict) { end_authentication(verdict); });
  if (!check) return refuse_arrival(check.error());
  authenticating_ = std::make_unique<Authenticating>(std::move(head), std::move(*check));
}

void ClientConnection::end_authentication(const Authenticator::Verdict& verdict) {
  const auto at_gate = std::move(authenticating_);
  if (on_authenticated(verdict)) admit(std::move(at_gate->head));
  going_on_.ask();
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
  auto opening = outer_ ? std::nullopt : dispatcher_.opening(head, gives_hints());
  if (!opening) return false;
  TakeoverReports reports(dispatcher_, services_, {from_, user_});
  if (opening->intercepted && reports.bypasses(opening->outside)) {
    exchange_ = dispatcher_.accept(*this, std::move(head), nullptr, Admission::Tunnels::of_interceptors);
    return true;
  }
  ConnectSnifferEvents& events = *this;
  sniffer_ =
      std::make_unique<ConnectSniffer>(services_, *std::move(opening), std::move(head), std::move(reports), events);
  out().append(kEstablished);
  stream_->touch();
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
  connect_answered_ = true;
  exchange_ = dispatcher_.accept(*this, std::move(head), nullptr, tunnels);
}

void ClientConnection::on_lost() {
  stream_.reset();
  leave();
}

// To the client.

void ClientConnection::answer_interim(int status, std::string_view reason, const http::Fields& fields) {
  writer_.interim(out(), status, reason, fields);
  stream_->touch();
  if (status != 100 || !exchange_) return;
  exchange_->head.expect_continue = false;  // the client got its 100: its body is awaited from now on
  keep_time();
}

void ClientConnection::answer_head(int status, std::string_view reason, const http::Fields& fields,
                                   std::optional<std::uint64_t> length) {
  // The rest of an upload that was answered with an error is not read.
  if (closes_after_answers_ || (!reader_.body_whole() && status >= 400)) answering_.keep_alive = false;
  writer_ = http::ResponseWriter(answering_);
  writer_.head(out(), status, reason, fields, length);
  stream_->touch();
}

void ClientConnection::answer_body(std::string_view bytes) {
  writer_.body(out(), bytes);
  stream_->touch();
}

bool ClientConnection::has_room() const { return stream_->queued() < loop::Stream::kHighWater; }

void ClientConnection::on_drained() {
  if (exchange_) return dispatcher_.resume(*exchange_);
  going_on_.ask();
}

std::unique_ptr<loop::Stream> ClientConnection::hand_over(std::string& early) {
  if (!connect_answered_) out().append(kEstablished);
  stream_->touch();
  return give_away(early);
}

std::unique_ptr<loop::Stream> ClientConnection::give_away(std::string& early) {
  exchange_ = nullptr;
  early = reader_.take_unread();
  leave();
  return std::move(stream_);
}

void ClientConnection::answer_end(const http::Fields& trailers) {
  writer_.end(out(), trailers);
  stream_->touch();
  answered();
}

void ClientConnection::answer_refusal(const http::Refusal& refusal) {
  if (connect_answered_) return answer_broken();
  const bool bytes_for_a_tunnel = reader_.behind() == RequestReader::Behind::tunnel && !reader_.unread().empty();
  const bool last = !reader_.body_whole() || reader_.failed() || closes_after_answers_ || dispatcher_.draining() ||
                    bytes_for_a_tunnel;
  if (last) answering_.keep_alive = false;
  writer_ = http::ResponseWriter(answering_);
  http::write_refusal(out(), refusal, services_.config.proxy.via, answering_);
  if (!answering_.keep_alive) closing_ = true;
  stream_->touch();
  answered();
}

void ClientConnection::answer_broken() {
  exchange_ = nullptr;
  loop::Stream::close_with_reset(std::move(stream_));
  leave();
}

void ClientConnection::answered() {
  exchange_ = nullptr;
  serving_ = false;
  reader_.answered();
  if (!writer_.keeps_connection() || !reader_.body_whole() || closes_after_answers_) closing_ = true;
  going_on_.ask();
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
  if (!serving_ && !closing_ && has_room()) serve_next();
  if (!closing_) {
    reader_.resume();
    after_reading();
  }
  if (!closing_ || serving_ || !stream_) return;
  loop::Stream::close_lingering(std::move(stream_));
  leave();
}

void ClientConnection::serve_next() {
  if (!reader_.begin_next() && reader_.failed()) refuse_unread(reader_.refusal());
}

/// Refuses a head that never became a request: it was malformed or came too slowly.
void ClientConnection::refuse_unread(const http::Refusal& refusal) {
  dispatcher_.report_refused(refusal);
  answering_ = {.head_method = reader_.failed_head_method(), .keep_alive = false};
  answer_refusal(refusal);
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
  client_allowed_ = services_.verdict.client(from_);
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
