// SPDX-License-Identifier: Apache-2.0
// Requests in, answers out, in order.
#include "proxy/client_connection.h"

#include <algorithm>
#include <utility>

#include "http/first_bytes.h"
#include "proxy/clients.h"

namespace penstock::proxy {

namespace {
constexpr std::size_t kReadAhead = 16 * 1024;
/// A client that says nothing for so long wants to hear the server first: there are such protocols.
constexpr std::int64_t kPatienceForFirstBytes = 3'000'000;
/// But not where only requests are served.
constexpr std::int64_t kPatienceForRequests = 30'000'000;
constexpr std::string_view kEstablished = "HTTP/1.1 200 Connection established\r\n\r\n";

/// Whether what comes behind it can only be the next request.
bool may_be_passed(const http::RequestHead& head) {
  return !head.has_body() && head.method != "CONNECT" && head.upgrade.empty();
}
}  // namespace

ClientConnection::ClientConnection(Clients& clients, Dispatcher& dispatcher, const Services& services,
                                   std::unique_ptr<loop::Stream> stream, bool welcome)
    : clients_(clients),
      dispatcher_(dispatcher),
      services_(services),
      stream_(std::move(stream)),
      parser_(services.config.caps, *this),
      writer_({}),
      going_on_(services.loop, [this] { go_on(); }),
      welcome_(welcome) {
  stream_->listen_to(*this);
  reading_ = true;
  stream_->read_on();
}

ClientConnection::~ClientConnection() = default;

// From the client.

void ClientConnection::on_read(std::string_view bytes) {
  if (unread_.empty()) return parse(bytes);
  unread_.append(bytes);
  parse(std::exchange(unread_, {}));
}

void ClientConnection::on_gone() {
  if (exchange_) dispatcher_.abandon(*std::exchange(exchange_, nullptr));
  stream_.reset();
  leave();
}

void ClientConnection::parse(std::string_view bytes) {
  if (failed_) return;
  while (!bytes.empty() && may_parse()) {
    const auto progress = parser_.consume(bytes);
    bytes.remove_prefix(progress.consumed);
    failed_ = progress.state == http::RequestParser::State::failed;
  }
  if (failed_) return going_on_.ask();
  unread_.append(bytes);
  if (opened_ && !unread_.empty()) going_on_.ask();
  const bool wanted = wants_bytes();
  if (wanted == reading_) return;
  reading_ = wanted;
  wanted ? stream_->read_on() : stream_->read_off();
}

/// What may not be parsed yet is still read, a little: so a client that leaves is heard at once.
bool ClientConnection::wants_bytes() const {
  if (may_parse()) return unread_.empty();
  return !closing_ && body_whole_ && unread_.size() < kReadAhead;
}

bool ClientConnection::may_parse() const {
  if (failed_ || closing_ || connecting_ || upgrading_) return false;
  if (serving_ && !body_whole_) return exchange_ && dispatcher_.wants_body(*exchange_);
  if (serving_ && !answering_.keep_alive) return false;
  if (!serving_ && ahead_.empty()) return has_room();
  const auto& caps = services_.config.caps;
  return (ahead_.empty() || may_be_passed(ahead_.back())) && ahead_.size() < caps.pipelined &&
         ahead_bytes_ < caps.header_bytes;
}

void ClientConnection::on_head(http::RequestHead&& head) {
  if (!serving_ && ahead_.empty()) return begin(std::move(head));
  ahead_bytes_ += head.fields.bytes() + head.target.size();
  if (head.has_body()) parser_.pause();
  ahead_.push_back(std::move(head));
}

void ClientConnection::begin(http::RequestHead&& head) {
  serving_ = true;
  body_whole_ = !head.has_body();
  connecting_ = head.method == "CONNECT";
  upgrading_ = !head.upgrade.empty();
  answering_ = {.head_method = head.method == "HEAD",
                .minor_version = head.minor_version,
                .keep_alive = head.keep_alive && !winding_down_};
  writer_ = http::ResponseWriter(answering_);
  if (welcome_) {
    if (connecting_ && open_at_once(head)) return;
    exchange_ = dispatcher_.accept(*this, std::move(head), outside_.get());
    return;
  }
  const http::Refusal unwelcome{.why = http::Why::client_denied,
                                .details = "clients from this network may not use this proxy (access.clients)"};
  dispatcher_.report_refused(unwelcome);
  answering_.keep_alive = false;
  answer_refusal(unwelcome);
}

void ClientConnection::on_body(std::string_view bytes) {
  if (!exchange_) return parser_.pause();
  exchange_->body.append(bytes);
  dispatcher_.body_came(*exchange_);
  if (!dispatcher_.wants_body(*exchange_)) parser_.pause();
}

void ClientConnection::on_complete(http::Fields&& trailers) {
  if (body_whole_) return;  // one that had none, or one read ahead
  body_whole_ = true;
  if (!exchange_) return;
  exchange_->body.whole = true;
  exchange_->body.trailers = std::move(trailers);
  dispatcher_.body_came(*exchange_);
}

// Plain requests inside a CONNECT: some clients send nothing else, and each is to be governed by itself. They show in
// the first bytes, which come behind a 200 only.

bool ClientConnection::open_at_once(http::RequestHead& head) {
  auto outside = outside_ ? std::nullopt : dispatcher_.outside_of_plain(head);
  if (!outside) return false;
  const bool silent = dispatcher_.may_be_silent(*outside);
  opened_.reset(
      new Opened{*std::move(outside), std::move(head), silent, {services_.loop, [this] { heard_nothing(); }}});
  opened_->patience.start(services_.loop.now() + (silent ? kPatienceForFirstBytes : kPatienceForRequests));
  out().append(kEstablished);
  stream_->touch();
  return true;
}

void ClientConnection::look_inside() {
  switch (http::judge_first_bytes(unread_)) {
    case http::FirstBytes::undecided: return;
    case http::FirstBytes::request: return serve_inside();
    case http::FirstBytes::other: return become_tunnel();
  }
}

void ClientConnection::serve_inside() {
  outside_ = std::make_unique<http::Target>(std::move(opened_->outside));
  opened_.reset();
  serving_ = connecting_ = false;
  parser_.restart();
  parse(std::exchange(unread_, {}));
}

void ClientConnection::heard_nothing() {
  if (opened_->may_be_silent) return become_tunnel();
  stream_.reset();
  leave();
}

void ClientConnection::become_tunnel() {
  const auto opened = std::move(opened_);
  greeted_ = true;
  exchange_ = dispatcher_.accept(*this, std::move(opened->head));
}

// To the client.

void ClientConnection::answer_interim(int status, std::string_view reason, const http::Fields& fields) {
  writer_.interim(out(), status, reason, fields);
  stream_->touch();
}

void ClientConnection::answer_head(int status, std::string_view reason, const http::Fields& fields,
                                   std::optional<std::uint64_t> length) {
  // An upload that the upstream has turned down will not be heard to its end.
  if (winding_down_ || (!body_whole_ && status >= 400)) answering_.keep_alive = false;
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

void ClientConnection::body_wanted() {
  if (!reading_ || !unread_.empty()) going_on_.ask();
}

std::unique_ptr<loop::Stream> ClientConnection::hand_over(std::string& early) {
  if (!greeted_) out().append(kEstablished);
  stream_->touch();
  return give_away(early);
}

std::unique_ptr<loop::Stream> ClientConnection::give_away(std::string& early) {
  exchange_ = nullptr;
  early = std::exchange(unread_, {});
  leave();
  return std::move(stream_);
}

void ClientConnection::answer_end(const http::Fields& trailers) {
  writer_.end(out(), trailers);
  stream_->touch();
  answered();
}

void ClientConnection::answer_refusal(const http::Refusal& refusal) {
  if (greeted_) return answer_broken();
  const bool bytes_for_a_tunnel = connecting_ && !unread_.empty();
  const bool last = !body_whole_ || failed_ || winding_down_ || dispatcher_.draining() || bytes_for_a_tunnel;
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
  serving_ = upgrading_ = false;
  if (!writer_.keeps_connection() || !body_whole_ || winding_down_) closing_ = true;
  going_on_.ask();
}

// At the end of a turn: the next request, more of a body, or good-bye.

void ClientConnection::go_on() {
  if (opened_) return look_inside();
  if (connecting_ && !serving_) {
    connecting_ = false;
    if (!unread_.empty()) closing_ = true;  // meant for the tunnel that was refused: never read as requests
  }
  if (failed_ && exchange_ && !body_whole_) dispatcher_.reject(*std::exchange(exchange_, nullptr), parser_.refusal());
  if (!serving_ && !closing_ && has_room()) serve_next();
  if (!closing_) parse(std::exchange(unread_, {}));
  if (!closing_ || serving_ || !stream_) return;
  loop::Stream::close_gently(std::move(stream_));
  leave();
}

void ClientConnection::serve_next() {
  if (!ahead_.empty()) {
    http::RequestHead next = std::move(ahead_.front());
    ahead_.erase(ahead_.begin());
    ahead_bytes_ -= std::min(ahead_bytes_, next.fields.bytes() + next.target.size());
    return begin(std::move(next));
  }
  if (failed_) answer_malformed();
}

void ClientConnection::answer_malformed() {
  const http::Refusal& refusal = parser_.refusal();
  dispatcher_.report_refused(refusal);
  answering_ = {.keep_alive = false};
  answer_refusal(refusal);
}

void ClientConnection::close_if_idle() {
  if ((serving_ && !opened_) || closing_ || !stream_) return;
  if (stream_->queued() > 0 && !opened_) {
    closing_ = true;
    return going_on_.ask();
  }
  stream_.reset();  // neither side owes the other anything
  leave();
}

void ClientConnection::leave() {
  closing_ = true;
  opened_.reset();
  going_on_.cancel();
  clients_.remove(*this);
}

}  // namespace penstock::proxy
