// SPDX-License-Identifier: Apache-2.0
// From take-off to landing.
#include "proxy/flight.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "http/forwarding.h"
#include "proxy/connections.h"
#include "proxy/destination.h"
#include "proxy/dispatcher.h"
#include "proxy/judging.h"

namespace penstock::proxy {

namespace {
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kPatienceForContinue = 1'000'000;
constexpr std::size_t kAnswerHeadBytes = 256 * 1024;
constexpr std::size_t kAnswerHeadLines = 1000;

http::Why why_of(transfer::Failure failure) {
  using transfer::Failure;
  switch (failure) {
    case Failure::denied: return http::Why::destination_denied;
    case Failure::refused: return http::Why::connection_refused;
    case Failure::unroutable: return http::Why::destination_unroutable;
    case Failure::connect_timeout: return http::Why::connection_timeout;
    case Failure::no_descriptors: return http::Why::destination_unavailable;
    case Failure::stale_connection:
    case Failure::not_sent:
    case Failure::terminated: return http::Why::connection_terminated;
    case Failure::incomplete: return http::Why::response_incomplete;
    case Failure::coding: return http::Why::response_coding;
    case Failure::head_too_large: return http::Why::response_head_too_large;
    case Failure::protocol: return http::Why::protocol_error;
    case Failure::certificate: return http::Why::tls_certificate_error;
    case Failure::tls: return http::Why::tls_protocol_error;
    case Failure::none:
    case Failure::stopped:
    case Failure::internal: break;
  }
  return http::Why::internal_error;
}

/// For people; libcurl's own words are for programmers.
std::string_view sentence(transfer::Failure failure) {
  using transfer::Failure;
  switch (failure) {
    case Failure::denied: return "its address may not be dialled (access.allow)";
    case Failure::refused: return "the connection was refused";
    case Failure::unroutable: return "there is no route to it";
    case Failure::connect_timeout: return "no connection came about in time (timeouts.connect)";
    case Failure::no_descriptors: return "no file descriptor is left for a connection";
    case Failure::stale_connection:
    case Failure::not_sent:
    case Failure::terminated: return "the connection was closed before an answer came";
    case Failure::incomplete: return "the answer broke off";
    case Failure::coding: return "the answer's chunks are broken";
    case Failure::head_too_large: return "the answer's head is too large";
    case Failure::protocol: return "what came is not an HTTP/1 answer";
    case Failure::certificate:
    case Failure::tls:
    case Failure::none:
    case Failure::stopped:
    case Failure::internal: break;
  }
  return "";
}

bool connection_ended(transfer::Failure failure) {
  using transfer::Failure;
  return failure == Failure::none || failure == Failure::terminated || failure == Failure::incomplete;
}

transfer::BodyKind body_kind(const http::RequestHead& head) {
  switch (head.body) {
    case http::BodyKind::chunked: return transfer::BodyKind::chunked;
    case http::BodyKind::none: return transfer::BodyKind::none;
    case http::BodyKind::length: break;
  }
  // A GET that announces nothing needs no announcement; for a POST `Content-Length: 0` says something.
  const bool idle_talk = head.content_length == 0 && (head.method == "GET" || head.method == "HEAD");
  return idle_talk ? transfer::BodyKind::none : transfer::BodyKind::length;
}

std::string in_brackets(const std::string& address) {
  return address.find(':') == std::string::npos ? address : "[" + address + "]";
}
}  // namespace

Flight::Flight(const Services& services, Dispatcher& dispatcher, Exchange& exchange)
    : services_(services),
      dispatcher_(dispatcher),
      exchange_(exchange),
      reader_(kAnswerHeadBytes, kAnswerHeadLines),
      timer_(services.loop, [this] { on_time(); }),
      turn_end_(services.loop, [this] { end_turn(); }) {}

Flight::~Flight() = default;

void Flight::take_off() {
  if (exchange_.head.expect_continue) go_ahead_at_ = services_.loop.now() + kPatienceForContinue;
  keep_time();
  if (exchange_.target.literal) return send();
  if (const auto* addresses = services_.resolver.remembered(exchange_.target.host)) return dial(*addresses);
  look_up();
}

void Flight::look_up() {
  question_ = services_.resolver.ask(exchange_.target.host, [this](const loop::Lookup& lookup) {
    question_.reset();
    if (lookup) return dial(*lookup);
    fail(unresolved(exchange_.target.host, lookup.error()));
  });
}

void Flight::dial(const loop::Addresses& addresses) {
  const auto& target = exchange_.target;
  const auto none = judge(services_, target, addresses, [&](const std::string& address) {
    pin_ += pin_.empty() ? target.host + ":" + std::to_string(target.port) + ":" : ",";
    pin_ += in_brackets(address);
  });
  none ? fail(*none) : send();
}

void Flight::send() {
  const auto& target = exchange_.target;
  const auto& head = exchange_.head;
  transfer::Order order;
  order.method = head.method;
  order.origin = target.scheme + "://" + target.authority() + "/";
  order.resource = target.resource;
  order.pin = std::exchange(pin_, {});
  order.body = body_kind(head);
  order.length = head.content_length;
  order.expect_continue = head.expect_continue;
  order.fresh_connection = exchange_.sent_again;
  order.connect_timeout = exchange_.destination->settings.timeouts.connect;
  const http::Fields fields = http::request_fields(head, target, services_.config.proxy.via);
  order.lines.reserve(fields.bytes(), fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) order.lines.add(fields[i].name, fields[i].value);
  transfer_ = connections(order).start(std::move(order), *this);
}

/// Whoever logs in its connection gets one that nobody else uses, before and after; who keeps none, or has enough of
/// them, gets it for this request.
transfer::Multi& Flight::connections(transfer::Order& order) const {
  const Destination& destination = *exchange_.destination;
  const bool logs_in = logs_in_connection(exchange_.head.fields);
  OwnConnections* own = exchange_.requester.own_connections();
  if (own && logs_in) own->claim(destination.name);
  transfer::Multi* claimed = own ? own->to(destination.name, destination.settings.tls, services_.connections) : nullptr;
  order.own_connection = logs_in && !claimed;
  return claimed ? *claimed : destination.connections;
}

void Flight::on_connected() {
  connected_ = true;
  moved_ = services_.loop.now();
  exchange_.leaves(moved_);
  if (body_kind(exchange_.head) == transfer::BodyKind::none || exchange_.head.content_length == bytes_out_) {
    if (exchange_.head.body != http::BodyKind::chunked) body_sent();
  }
  keep_time();
}

void Flight::body_sent() {
  sent_ = services_.loop.now();
  keep_time();
}

void Flight::go_ahead() {
  if (go_ahead_at_ == 0) return;
  go_ahead_at_ = 0;
  moved_ = services_.loop.now();
  turn_end_.ask();
  keep_time();
}

void Flight::body_came() { turn_end_.ask(); }

void Flight::end_turn() {
  if (!transfer_) return;
  // libcurl would wait until the rest of the body is sent, which nobody wants any more.
  if (answered_ && sent_ == 0 && answer_is_whole()) return complete();
  if (go_ahead_at_ == 0) transfer_->resume_upload();
}

void Flight::resume() {
  if (!paused_by_client_) return;
  paused_by_client_ = false;
  moved_ = services_.loop.now();
  transfer_->resume_download();
}

bool Flight::on_line(std::string_view line) {
  using Verdict = http::ResponseHeadReader::Verdict;
  head_begun_ = true;
  switch (reader_.on_line(line)) {
    case Verdict::more: return true;
    case Verdict::interim: pass_interim(); return true;
    case Verdict::final: pass_head(); return true;
    case Verdict::switched:
    case Verdict::bad: break;
  }
  bad_head_ = true;
  return false;
}

void Flight::pass_interim() {
  const auto& head = reader_.head();
  exchange_.requester.answer_interim(
      head.status, head.reason,
      http::response_fields(head, exchange_.target, services_.config.proxy.via, std::nullopt));
  if (head.status == 100) go_ahead();
}

void Flight::pass_head() {
  const auto& head = reader_.head();
  answered_ = true;
  dispatcher_.heed(exchange_, head);
  OwnConnections* own = exchange_.requester.own_connections();
  if (own && asks_to_log_in_connection(head.fields)) own->claim(exchange_.destination->name);
  go_ahead_at_ = 0;
  moved_ = services_.loop.now();
  first_byte_ = moved_ - exchange_.took_off;
  const auto length = head.has_length ? std::optional(head.content_length) : std::nullopt;
  exchange_.requester.answer_head(
      head.status, head.reason,
      http::response_fields(head, exchange_.target, services_.config.proxy.via, Duration{exchange_.waited}), length);
  if (sent_ == 0) turn_end_.ask();
  keep_time();
}

Flight::Taken Flight::on_body(std::string_view bytes) {
  if (!exchange_.requester.has_room()) {
    paused_by_client_ = true;
    untaken_ = exchange_.requester.untaken();
    return Taken::none;
  }
  bytes_in_ += bytes.size();
  moved_ = services_.loop.now();
  exchange_.requester.answer_body(bytes);
  if (sent_ == 0) turn_end_.ask();
  return Taken::all;
}

Flight::Given Flight::give_body(char* room, std::size_t space, std::size_t& size) {
  auto& body = exchange_.body;
  if (go_ahead_at_ != 0) return Given::none;
  if (body.size() == 0 && body.whole) {
    if (sent_ == 0) body_sent();
    return Given::end;
  }
  if (body.size() == 0) return Given::none;
  size = body.take(room, space);
  bytes_out_ += size;
  moved_ = services_.loop.now();
  if (exchange_.head.body == http::BodyKind::length && bytes_out_ == exchange_.head.content_length) body_sent();
  exchange_.requester.body_wanted();
  return Given::bytes;
}

void Flight::give_trailers(transfer::HeaderLines& trailers) {
  const http::Fields fields = http::trailer_fields(exchange_.body.trailers);
  for (std::size_t i = 0; i < fields.size(); ++i) trailers.add(fields[i].name, fields[i].value);
}

bool Flight::answer_says_its_end() const { return reader_.head().has_length || reader_.head().chunked; }

bool Flight::answer_is_whole() const {
  const auto& head = reader_.head();
  return !head.has_body(exchange_.head.method) || (head.has_length && bytes_in_ == head.content_length);
}

void Flight::on_done(const transfer::Result& result) {
  if (answered_ && result.without_goodbye && reader_.head().has_body(exchange_.head.method) && !answer_says_its_end()) {
    return fail(http::Why::response_incomplete, "the answer was cut off");
  }
  // libcurl may fail on the rest of an upload after an answer that is complete.
  if (answered_ && (result.failure == transfer::Failure::none || (!bad_head_ && answer_is_whole()))) return complete();
  const bool stale = result.failure == transfer::Failure::stale_connection && exchange_.repeatable();
  const bool unsent = result.failure == transfer::Failure::not_sent && !exchange_.sent_again;
  if (stale || unsent) return dispatcher_.again(exchange_);
  failed(result);
}

void Flight::complete() {
  exchange_.requester.answer_end(http::trailer_fields(reader_.trailers()));
  dispatcher_.completed(exchange_);
}

void Flight::failed(const transfer::Result& result) {
  if (bad_head_) return fail(reader_.why(), reader_.details());
  if (head_begun_ && !answered_ && connection_ended(result.failure)) {
    return fail(http::Why::response_incomplete, "the answer ended within its head");
  }
  if (result.failure == transfer::Failure::none) return fail(http::Why::protocol_error, "not an HTTP answer");
  const auto said = sentence(result.failure);
  fail(why_of(result.failure), said.empty() ? result.details : std::string(said));
}

void Flight::fail(http::Why why, const std::string& details) {
  break_off({.why = why, .details = exchange_.destination->name + ": " + details});
}

void Flight::break_off(const http::Refusal& refusal) {
  if (answered_) {
    exchange_.requester.answer_broken();
  } else {
    exchange_.requester.answer_refusal(refusal);
  }
  dispatcher_.failed(exchange_, refusal.why, refusal.details);
}

void Flight::describe(Event& event) const {
  if (first_byte_) event.first_byte = Duration{*first_byte_};
  event.bytes_in = bytes_in_;
  event.bytes_out = bytes_out_;
}

void Flight::keep_time() {
  const std::int64_t next = deadline();
  if (next != kNever && (!timer_.running() || timer_.at() > next)) timer_.start(next);
}

std::int64_t Flight::deadline() const {
  const auto& timeouts = exchange_.destination->settings.timeouts;
  std::int64_t next = idle_deadline();
  if (timeouts.total.count() > 0) next = std::min(next, exchange_.took_off + timeouts.total.count());
  if (go_ahead_at_ != 0) next = std::min(next, go_ahead_at_);
  if (sent_ != 0 && !answered_ && timeouts.first_byte.count() > 0)
    next = std::min(next, sent_ + timeouts.first_byte.count());
  return next;
}

std::int64_t Flight::idle_deadline() const {
  const bool uploading = connected_ && sent_ == 0 && go_ahead_at_ == 0;
  const auto idle = exchange_.destination->settings.timeouts.idle.count();
  return (uploading || answered_) && idle > 0 ? moved_ + idle : kNever;
}

bool Flight::client_stalls() const { return answered_ ? paused_by_client_ : exchange_.body.size() == 0; }

/// The kernel tells of room only when there is a lot of it; a client that reads little by little must not look dead.
void Flight::note_slow_reader(std::int64_t now) {
  if (!paused_by_client_) return;
  const std::size_t before = std::exchange(untaken_, exchange_.requester.untaken());
  if (untaken_ < before) moved_ = now;
}

void Flight::on_time() {
  const auto& timeouts = exchange_.destination->settings.timeouts;
  const std::int64_t now = services_.loop.now();
  if (timeouts.total.count() > 0 && now >= exchange_.took_off + timeouts.total.count()) {
    return fail(http::Why::read_timeout, "not done after " + seconds(timeouts.total) + " (timeouts.total)");
  }
  if (go_ahead_at_ != 0 && now >= go_ahead_at_) {
    exchange_.requester.answer_interim(100, "Continue", {});
    return go_ahead();
  }
  if (sent_ != 0 && !answered_ && timeouts.first_byte.count() > 0 && now >= sent_ + timeouts.first_byte.count()) {
    return fail(http::Why::response_timeout,
                "no answer within " + seconds(timeouts.first_byte) + " (timeouts.firstByte)");
  }
  if (now >= idle_deadline()) note_slow_reader(now);
  if (now < idle_deadline()) return keep_time();
  const std::string silence = " for " + seconds(timeouts.idle) + " (timeouts.idle)";
  if (client_stalls()) return dispatcher_.stalled(exchange_, "the client moved no byte" + silence);
  fail(http::Why::read_timeout, "no byte moved" + silence);
}

}  // namespace penstock::proxy
