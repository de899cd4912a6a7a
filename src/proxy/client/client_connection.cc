// SPDX-License-Identifier: Apache-2.0
// Hands each request to the dispatcher when the one before is answered, and closes the connection when it is its time.
#include "proxy/client/client_connection.h"

#include <utility>

#include "http/traceparent.h"
#include "proxy/exchange/address_check.h"

namespace penstock::proxy {

ClientConnection::ClientConnection(ClientConnectionEvents& events, Dispatcher& dispatcher, const Services& services,
                                   std::unique_ptr<loop::Stream> stream, ClientAccess access, HeldBytes held)
    : events_(events),
      dispatcher_(dispatcher),
      services_(services),
      stream_(std::move(stream)),
      access_(std::move(access)),
      going_on_(services.loop, [this] { go_on(); }),
      reader_(services, going_on_, *this),
      sink_(services, dispatcher, access_, reader_, std::move(held), *this),
      timeouts_(services.loop, [this] { on_timer(); }) {
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
  if (exchange()) dispatcher_.abandon(std::get<Serving>(phase_).take());
  stream_.reset();
  leave();
}

Exchange* ClientConnection::exchange() const {
  const auto* const serving = std::get_if<Serving>(&phase_);
  return serving ? serving->exchange : nullptr;
}

void ClientConnection::after_reading() {
  if (std::holds_alternative<SniffingConnect>(phase_) && !reader_.unread().empty()) going_on_.ask();
  keep_time();
}

ClientConnection::Takes ClientConnection::takes() const {
  if (std::holds_alternative<Closing>(phase_)) return Takes::nothing_more;
  if (std::holds_alternative<Idle>(phase_)) {
    if (reader_.has_ahead()) return Takes::ahead;
    return sink_.has_room() ? Takes::request : Takes::nothing;
  }
  if (!reader_.body_whole()) return exchange() && dispatcher_.wants_body(*exchange()) ? Takes::body : Takes::nothing;
  return sink_.keeps_connection() ? Takes::ahead : Takes::nothing;
}

// A request on its way to the dispatcher. Requests inside a CONNECT use the CONNECT's credentials, judged again for
// each request.

bool ClientConnection::on_request(http::RequestHead&& head) {
  new_ = false;
  if (outer_) outer_->on_request();
  timeouts_.wait_for_nothing();
  phase_ = Serving{};
  sink_.begin(
      {.head_method = head.method == "HEAD", .minor_version = head.minor_version, .keep_alive = head.keep_alive});
  const auto& credentials = outer_ ? outer_->credentials() : head.fields;
  if (const auto verdict = access_.judge(credentials)) {
    on_verdict(*verdict, std::move(head));
    return true;
  }
  auto check = access_.check(credentials, [this](const Authenticator::Verdict& verdict) {
    const auto checked = std::get<std::unique_ptr<Authenticating>>(std::exchange(phase_, Serving{}));
    on_verdict(verdict, std::move(checked->head));
    going_on_.ask();
  });
  if (!check) {
    refuse_arrival(check.error(), head.fields);
    return true;
  }
  phase_ = std::make_unique<Authenticating>(std::move(head), *std::move(check));
  return false;
}

void ClientConnection::on_verdict(const Authenticator::Verdict& verdict, http::RequestHead&& head) {
  if (verdict) {
    access_.set_user(*verdict);
    return admit(std::move(head));
  }
  const auto why = verdict.error().why;
  // The credentials are those of the CONNECT: only a new CONNECT can bring others.
  if (why == http::Reason::client_denied || (outer_ && why == http::Reason::credentials)) sink_.close_behind();
  refuse_arrival(verdict.error(), head.fields);
}

/// Accepts the request, unless it is a CONNECT that is answered before it is dialled.
void ClientConnection::admit(http::RequestHead&& head) {
  using Tunnels = Admission::Tunnels;
  const bool may_open = reader_.behind() == RequestReader::Behind::tunnel && !outer_;
  auto opening = may_open ? dispatcher_.opening(head, access_.gives_hints()) : std::nullopt;
  if (!opening) return accept(std::move(head), Tunnels::as_ever);
  TakeoverReports reports(dispatcher_, services_, {access_.from(), access_.user()}, access_.name());
  if (opening->intercepted && reports.bypasses(opening->outside))
    return accept(std::move(head), Tunnels::of_intercepting_entry);
  ConnectSnifferEvents& events = *this;
  phase_ =
      std::make_unique<ConnectSniffer>(services_, *std::move(opening), std::move(head), std::move(reports), events);
  sink_.answer_connect();
}

void ClientConnection::accept(http::RequestHead&& head, Admission::Tunnels tunnels) {
  Exchange* const accepted = dispatcher_.accept(sink_, std::move(head), outer_ ? &outer_->target() : nullptr, tunnels);
  if (accepted) std::get<Serving>(phase_).exchange = accepted;
}

/// `request`: its fields, as far as they are known.
void ClientConnection::refuse_arrival(const http::Refusal& refusal, const http::Fields& request) {
  const Stranger from{.client = access_.name(), .trace = http::trace_id_of(request)};
  const auto id = dispatcher_.report_refused(refusal, from, request);
  if (id) sink_.tell_id({id->data(), id->size()});
  sink_.answer_refusal(refusal);
}

bool ClientConnection::on_body(std::string_view bytes) {
  Exchange* const served = exchange();
  if (!served) return false;
  timeouts_.moved();
  served->body.append(bytes);
  dispatcher_.body_came(*served);
  return exchange() && dispatcher_.wants_body(*exchange());
}

void ClientConnection::on_body_end(http::Fields&& trailers) {
  Exchange* const served = exchange();
  if (!served) return;
  served->body.whole = true;
  if (!trailers.empty()) served->body.trailers = std::make_unique<const http::Fields>(std::move(trailers));
  dispatcher_.body_came(*served);
}

// A CONNECT that is answered before it is dialled.

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
  phase_ = Idle{};
  reader_.restart();
  reader_.resume();
  after_reading();
}

void ClientConnection::on_tunnel(http::RequestHead head, Admission::Tunnels tunnels) {
  phase_ = Serving{};
  accept(std::move(head), tunnels);
}

void ClientConnection::on_lost() {
  stream_.reset();
  leave();
}

// To the client.

void ClientConnection::on_continue_sent() {
  if (!exchange()) return;
  exchange()->head.expect_continue = false;  // its body is awaited from now on
  keep_time();
}

void ClientConnection::on_drained() {
  if (exchange()) return dispatcher_.resume(*exchange());
  going_on_.ask();
}

std::unique_ptr<loop::Stream> ClientConnection::give_stream(std::string& early) {
  early = reader_.take_unread();
  leave();
  return std::move(stream_);
}

void ClientConnection::on_answered(bool keeps) {
  if (keeps) {
    phase_ = Idle{};
  } else {
    phase_ = Closing{};
  }
  going_on_.ask();
}

void ClientConnection::on_broken() {
  loop::Stream::close_with_reset(std::move(stream_));
  leave();
}

// At the end of an iteration: the next request, more of a body, or closing.

void ClientConnection::go_on() {
  if (const auto* const sniffing = std::get_if<SniffingConnect>(&phase_)) {
    if (stream_ && !reader_.unread().empty()) (*sniffing)->sniff(reader_.unread());
    return;
  }
  if (std::holds_alternative<Idle>(phase_) && !reader_.leave_tunnel()) phase_ = Closing{};
  if (reader_.failed() && exchange() && !reader_.body_whole())
    dispatcher_.reject(std::get<Serving>(phase_).take(), reader_.refusal());
  if (std::holds_alternative<Idle>(phase_) && sink_.has_room() && !reader_.begin_next() && reader_.failed())
    refuse_unread(reader_.refusal());
  if (!std::holds_alternative<Closing>(phase_)) {
    reader_.resume();
    after_reading();
  }
  if (!std::holds_alternative<Closing>(phase_) || !stream_) return;
  loop::Stream::close_lingering(std::move(stream_));
  leave();
}

/// Refuses a head that never became a request: it was malformed or came too slowly.
void ClientConnection::refuse_unread(const http::Refusal& refusal) {
  sink_.begin({.head_method = reader_.failed_head_method(), .keep_alive = false});
  refuse_arrival(refusal);
}

void ClientConnection::close_if_idle() {
  if (!std::holds_alternative<Idle>(phase_) && !std::holds_alternative<SniffingConnect>(phase_)) return;
  stream_ ? close_politely() : leave();  // without a stream: the TLS takeover has it
}

void ClientConnection::close_politely() {
  if (stream_->queued() > 0 && std::holds_alternative<Idle>(phase_)) {
    phase_ = Closing{};
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
    case For::body: return timeouts_.wait_for(For::body, exchange()->timeouts().body);
  }
}

ClientTimeouts::For ClientConnection::awaited() const {
  using For = ClientTimeouts::For;
  if (std::holds_alternative<Idle>(phase_) && !reader_.failed()) return reader_.in_head() ? For::head : For::request;
  // Once the answer has begun, a client may wait for more of it before it sends more: then `timeouts.idle` decides.
  const Exchange* const served = exchange();
  if (!served || reader_.body_whole() || !reader_.may_parse() || served->head.expect_continue) return For::nothing;
  return sink_.answer_has_begun() ? For::nothing : For::body;
}

void ClientConnection::on_timer() {
  if (!timeouts_.fired()) return;
  using For = ClientTimeouts::For;
  const auto late = [&](http::Reason why, const char* what, Duration limit, const char* key) {
    return http::Refusal{.why = why, .details = what + (" " + seconds(limit)) + " (" + key + ")"};
  };
  if (awaited() != timeouts_.what()) return keep_time();  // an answer has begun meanwhile
  if (timeouts_.what() == For::body) {
    const auto limit = exchange()->timeouts().body;
    const auto why = late(http::Reason::body_timeout, "no byte of the request's body came for", limit, "timeouts.body");
    return dispatcher_.reject(std::get<Serving>(phase_).take(), why);
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
  phase_ = Closing{};
  timeouts_.wait_for_nothing();
  reader_.detach();
  going_on_.cancel();
  events_.on_left(*this);
}

}  // namespace penstock::proxy
