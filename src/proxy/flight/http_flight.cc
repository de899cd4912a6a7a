// SPDX-License-Identifier: Apache-2.0
// See http_flight.h.
#include "proxy/flight/http_flight.h"

#include <algorithm>
#include <utility>

#include "http/forwarding.h"
#include "http/grammar.h"
#include "proxy/exchange/address_check.h"
#include "proxy/exchange/time_limits.h"
#include "proxy/exchange/transfer_refusal.h"
#include "proxy/exchange/upstream.h"
#include "proxy/exchange/upstream_pools.h"

namespace penstock::proxy {

namespace {
constexpr std::int64_t kPatienceForContinue = 1'000'000;
constexpr std::size_t kMostPerIteration = 128 * 1024;  // bytes of one response, so that others get their share

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
  // A GET or HEAD with `Content-Length: 0` is sent without that field; for a POST the field means something.
  const bool idle_talk = head.content_length == 0 && (head.method == "GET" || head.method == "HEAD");
  return idle_talk ? transfer::BodyKind::none : transfer::BodyKind::length;
}

bool breaks_off(transfer::Failure failure) {
  using transfer::Failure;
  return failure == Failure::terminated || failure == Failure::incomplete || failure == Failure::stale_connection;
}

SentRequest sent_request(const Exchange& exchange, std::int64_t now) {
  return {.head = exchange.head,
          .attempts = exchange.sendings.attempts,
          .has_its_body = exchange.body.from_start(),
          .now = now,
          .deadline = exchange.sendings.deadline,
          .retry = exchange.route().retry,
          .obey = exchange.route().obey};
}

std::string in_brackets(const std::string& address) {
  return address.find(':') == std::string::npos ? address : "[" + address + "]";
}

/// What is held back counts in caps.pendingMemory. Once an answer is passed on, nothing is kept to send the request
/// again.
void keep_what_may_be_needed(AttemptEvents& events, ResponseRelay& answer, Exchange& exchange) {
  if (answer.holds() && !events.holds(exchange, answer.held_bytes())) answer.pass_held();
  if (answer.answered() && !answer.holds() && exchange.keeps()) events.passes_on(exchange);
}
}  // namespace

HttpFlight::HttpFlight(const Services& services, AttemptEvents& events, Exchange& exchange)
    : services_(services),
      events_(events),
      exchange_(exchange),
      answer_(services, exchange),
      timer_(services.loop, [this] { on_time(); }),
      breath_(services.loop, [this] { breathe(); }),
      iteration_end_(services.loop, [this] { end_iteration(); }) {}

HttpFlight::~HttpFlight() = default;

void HttpFlight::take_off() {
  if (exchange_.head.expect_continue) go_ahead_at_ = services_.loop.now() + kPatienceForContinue;
  keep_time();
  if (exchange_.target.literal) return send();
  if (const auto* addresses = services_.resolver.remembered(exchange_.target.host)) return dial(*addresses);
  look_up();
}

void HttpFlight::look_up() {
  lookup_ = services_.resolver.ask(exchange_.target.host, [this](const loop::LookupResult& lookup) {
    lookup_.reset();
    if (lookup) return dial(*lookup);
    fail(unresolved(exchange_.target.host, lookup.error()));
  });
}

void HttpFlight::dial(const loop::Addresses& addresses) {
  const auto& target = exchange_.target;
  const auto none = judge(services_, target, addresses, [&](const std::string& address) {
    pin_ += pin_.empty() ? target.host + ":" + std::to_string(target.port) + ":" : ",";
    pin_ += in_brackets(address);
  });
  none ? fail(*none) : send();
}

void HttpFlight::send() {
  const auto& target = exchange_.target;
  const auto& head = exchange_.head;
  transfer::Request order;
  order.method = head.method;
  order.origin = std::string(target.scheme) + "://" + target.authority() + "/";
  order.host = target.host;
  order.resource = target.resource;
  order.pin = std::exchange(pin_, {});
  order.body = body_kind(head);
  order.length = head.content_length;
  order.expect_continue = head.expect_continue;
  order.fresh_connection = exchange_.sendings.stale;
  order.connect_timeout = exchange_.timeouts().connect;
  const http::Fields fields = http::request_fields(head, target, services_.config.proxy.via);
  order.lines.reserve(fields.bytes(), fields.size());
  const bool in_no_coding = exchange_.load.cost && exchange_.load.cost->reads_answers();
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!in_no_coding || !http::equal_ignoring_case(fields[i].name, "accept-encoding"))
      order.lines.add(fields[i].name, fields[i].value);
  }
  if (in_no_coding) order.lines.add("Accept-Encoding", "identity");
  transfer_ = connections(order).start(std::move(order), *this);
}

/// A client that logs in on its connection (NTLM, Negotiate) gets a pool of its own for the upstream. If its sink has
/// no pinned pools, or too many already, the request gets a fresh connection that is not reused.
transfer::Pool& HttpFlight::connections(transfer::Request& order) const {
  const Upstream& upstream = *exchange_.upstream;
  const bool logs_in = logs_in_connection(exchange_.head.fields);
  PinnedPools* own = exchange_.sink.pinned_pools();
  if (own && logs_in) own->claim(upstream.name);
  const auto& shared = upstream.connections;
  transfer::Pool* claimed =
      own ? own->to(upstream.name, upstream.settings.tls, shared, services_.connections) : nullptr;
  order.own_connection = logs_in && !claimed;
  return claimed ? *claimed : *shared;
}

void HttpFlight::on_connected() {
  connected_ = true;
  moved_ = services_.loop.now();
  if (body_kind(exchange_.head) == transfer::BodyKind::none || exchange_.head.content_length == bytes_out_) {
    if (exchange_.head.body != http::BodyKind::chunked) body_sent();
  }
  keep_time();
}

void HttpFlight::on_head_sent() { exchange_.leaves(services_.loop.now()); }

void HttpFlight::body_sent() {
  sent_ = services_.loop.now();
  keep_time();
}

void HttpFlight::go_ahead() {
  if (go_ahead_at_ == 0) return;
  go_ahead_at_ = 0;
  moved_ = services_.loop.now();
  iteration_end_.ask();
  keep_time();
}

void HttpFlight::body_came() { iteration_end_.ask(); }

void HttpFlight::end_iteration() {
  this_iteration_ = 0;
  if (!transfer_) return;
  // The response is complete, so the rest of the request body is not needed; libcurl would still wait until it is sent.
  if (answered() && sent_ == 0 && answer_is_whole()) return complete();
  if (go_ahead_at_ == 0) transfer_->resume_upload();
}

void HttpFlight::resume() {
  if (!answer_.resume()) return;
  moved_ = services_.loop.now();
  transfer_->resume_download();
}

void HttpFlight::breathe() {
  if (answer_.holds() || exchange_.sink.has_room()) return transfer_->resume_download();
  answer_.wait_for_client();
}

bool HttpFlight::on_line(std::string_view line) {
  using Verdict = http::ResponseHeadReader::Verdict;
  switch (answer_.on_line(line)) {
    case Verdict::more: return true;
    case Verdict::interim: pass_interim(); return true;
    case Verdict::final: pass_head(); return true;
    case Verdict::switched:
    case Verdict::bad: break;
  }
  bad_head_ = true;
  return false;
}

void HttpFlight::pass_interim() {
  answer_.pass_interim();
  if (answer_.head().status == 100) go_ahead();
}

void HttpFlight::pass_head() {
  // With two framings the body may really be two responses; the second would be taken for the answer to the next
  // request.
  if (answer_.head().framed_twice) transfer_->end_connection();
  PinnedPools* own = exchange_.sink.pinned_pools();
  if (own && asks_to_log_in_connection(answer_.head().fields)) own->claim(exchange_.upstream->name);
  go_ahead_at_ = 0;
  moved_ = services_.loop.now();
  const auto& head = answer_.head();
  answer_.pass_head(head.status < 400 ? Again::no
                                      : judge_answer(exchange_.upstream->settings, sent_request(exchange_, moved_),
                                                     head, services_.loop.wall()));
  keep_what_may_be_needed(events_, answer_, exchange_);
  if (answer_.head().chunked) chunks_.emplace(answer_.reader(), exchange_.head.method);
  if (sent_ == 0) iteration_end_.ask();
  keep_time();
}

HttpFlight::Taken HttpFlight::on_body(std::string_view bytes) {
  if (!answer_.holds() && !exchange_.sink.has_room()) {
    answer_.wait_for_client();
    return Taken::none;
  }
  moved_ = services_.loop.now();
  if (this_iteration_ + bytes.size() > kMostPerIteration || moved_ < answer_.rests_until()) {
    breath_.start(std::max(moved_, answer_.rests_until()));  // in the next iteration, or when the rest is over
    return Taken::none;
  }
  this_iteration_ += bytes.size();
  iteration_end_.ask();
  const Taken taken = chunks_ ? pass_chunks(bytes) : (answer_.pass_body(bytes), Taken::all);
  keep_what_may_be_needed(events_, answer_, exchange_);
  return taken;
}

/// The chunks are decoded here because libcurl's decoder is more lenient than the grammar; libcurl only finds their
/// end.
HttpFlight::Taken HttpFlight::pass_chunks(std::string_view bytes) {
  chunks_state_ = answer_.pass_encoded(*chunks_, bytes);
  if (chunks_state_ == http::BodyDecoder::State::bad) return Taken::stop;
  // Bytes behind the last chunk must not be taken for the response to the next request on this connection.
  if (!bytes.empty()) transfer_->end_connection();
  return Taken::all;
}

HttpFlight::Given HttpFlight::give_body(char* room, std::size_t space, std::size_t& size) {
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
  exchange_.sink.body_wanted();
  return Given::bytes;
}

void HttpFlight::give_trailers(transfer::HeaderLines& trailers) {
  if (!exchange_.body.trailers) return;
  const http::Fields fields = http::trailer_fields(*exchange_.body.trailers);
  for (std::size_t i = 0; i < fields.size(); ++i) trailers.add(fields[i].name, fields[i].value);
}

bool HttpFlight::answer_is_whole() const {
  const auto& head = answer_.head();
  if (!head.has_body(exchange_.head.method)) return true;
  if (chunks_) return chunks_state_ == http::BodyDecoder::State::whole;
  return head.has_length && answer_.bytes() == head.content_length;
}

void HttpFlight::on_done(const transfer::Result& result) {
  const auto& head = answer_.head();
  const bool needs_end = head.has_body(exchange_.head.method) && !head.has_length && !head.chunked;
  if (answered() && result.without_goodbye && needs_end) {
    return fail(http::Reason::response_incomplete, "the answer was cut off");
  }
  // After a complete response libcurl may still fail on the rest of the upload.
  const bool ended = result.failure == transfer::Failure::none && !chunks_;
  const bool sound = ended || (!bad_head_ && answer_is_whole());
  if (answered() && sound) return complete();
  const bool stale = result.failure == transfer::Failure::stale_connection && exchange_.repeatable();
  const bool unsent = result.failure == transfer::Failure::not_sent && !exchange_.sendings.stale;
  if (stale || unsent) return events_.requeue(exchange_);
  if (connected_ && !answered() && !bad_head_ && breaks_off(result.failure)) {
    std::unique_ptr<KeptAnswer> none;
    const auto sent = sent_request(exchange_, services_.loop.now());
    if (events_.send_again(exchange_, judge_break(exchange_.upstream->settings, sent), none)) return;
  }
  failed(result);
}

void HttpFlight::failed(const transfer::Result& result) {
  if (bad_head_) return fail(answer_.reader().why(), answer_.reader().details());
  if (chunks_state_ == http::BodyDecoder::State::bad) return fail(chunks_->why(), chunks_->details());
  if (answer_.has_begun() && !answered() && connection_ended(result.failure)) {
    return fail(http::Reason::response_incomplete, "the answer ended within its head");
  }
  if (result.failure == transfer::Failure::none) return fail(http::Reason::protocol_error, "not an HTTP answer");
  fail(refusal_of(result));
}

/// An answer that was held back and breaks off is not worth keeping, and its request may be sent again all the same.
void HttpFlight::fail(const http::Refusal& refusal) {
  std::unique_ptr<KeptAnswer> none;
  if (events_.send_again(exchange_, answer_.conclude(), none)) return;
  abort(of(exchange_.upstream->name, refusal));
}

void HttpFlight::complete() {
  if (answer_.holds()) {
    auto& answer = answer_.whole(bytes_out_);
    if (events_.send_again(exchange_, answer->why(), answer)) return;
  }
  answer_.end();
  events_.completed(exchange_, result());
}

void HttpFlight::abort(const http::Refusal& refusal) {
  answer_.break_off(refusal);
  events_.failed(exchange_, {.why = refusal.why, .details = refusal.details}, result());
}

AttemptResult HttpFlight::result() const {
  auto result = answer_.result();
  result.bytes_out = bytes_out_;
  return result;
}

void HttpFlight::keep_time() {
  const std::int64_t next = deadline();
  if (next != kNever && (!timer_.running() || timer_.at() > next)) timer_.start(next);
}

std::int64_t HttpFlight::deadline() const {
  const auto& timeouts = exchange_.timeouts();
  std::int64_t next = std::min({idle_deadline(), total_deadline(exchange_), answer_.patient_until()});
  if (go_ahead_at_ != 0) next = std::min(next, go_ahead_at_);
  if (sent_ != 0 && !answered() && timeouts.first_byte.count() > 0)
    next = std::min(next, sent_ + timeouts.first_byte.count());
  return next;
}

std::int64_t HttpFlight::idle_deadline() const {
  const bool uploading = connected_ && sent_ == 0 && go_ahead_at_ == 0;
  const auto idle = exchange_.timeouts().idle.count();
  return (uploading || answered()) && idle > 0 ? moved_ + idle : kNever;
}

bool HttpFlight::client_stalls() const { return answered() ? answer_.waits_for_client() : exchange_.body.size() == 0; }

void HttpFlight::on_time() {
  const auto& timeouts = exchange_.timeouts();
  const std::int64_t now = services_.loop.now();
  if (now >= total_deadline(exchange_)) return fail(total_is_over(exchange_));
  if (go_ahead_at_ != 0 && now >= go_ahead_at_) {
    exchange_.sink.answer_interim(100, "Continue", {});
    return go_ahead();
  }
  if (sent_ != 0 && !answered() && timeouts.first_byte.count() > 0 && now >= sent_ + timeouts.first_byte.count()) {
    return fail(http::Reason::response_timeout,
                "no answer within " + seconds(timeouts.first_byte) + " (timeouts.firstByte)");
  }
  if (now >= answer_.patient_until()) {
    answer_.lose_patience();
    keep_what_may_be_needed(events_, answer_, exchange_);
  }
  if (now >= idle_deadline() && answer_.client_reads_on()) moved_ = now;
  if (now < idle_deadline()) return keep_time();
  const std::string silence = " for " + seconds(timeouts.idle) + " (timeouts.idle)";
  if (client_stalls()) return events_.stalled(exchange_, "the client moved no byte" + silence, result());
  fail(http::Reason::read_timeout, "no byte moved" + silence);
}

}  // namespace penstock::proxy
