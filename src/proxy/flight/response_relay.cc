// SPDX-License-Identifier: Apache-2.0
// See response_relay.h.
#include "proxy/flight/response_relay.h"

#include <utility>

#include "http/error_codes.h"
#include "http/forwarding.h"
#include "proxy/exchange/time_limits.h"
#include "proxy/exchange/upstream.h"

namespace penstock::proxy {

namespace {
constexpr std::size_t kHeadLines = 1000;
constexpr std::size_t kSmall = 1024;          // bytes; smaller chunks are merged
constexpr std::size_t kFewChunks = 256;       // up to this many in one read need no rest, whatever their size
constexpr std::size_t kCrumb = 16;            // bytes per chunk, its size line and line ends included
constexpr std::int64_t kRest = 20'000;        // microseconds
constexpr std::int64_t kJudgement = 500'000;  // likewise; less than Gates::await_judgement() allows for
}  // namespace

ResponseRelay::ResponseRelay(const Services& services, Exchange& exchange)
    : services_(services), exchange_(exchange), reader_(kHeadBytes, kHeadLines), observer_(exchange.queue) {}

http::ResponseHeadReader::Verdict ResponseRelay::on_line(std::string_view line) {
  begun_ = true;
  return reader_.on_line(line);
}

void ResponseRelay::pass_interim() {
  exchange_.sink.answer_interim(
      head().status, head().reason,
      http::response_fields(head(), exchange_.target, services_.config.proxy.via, std::nullopt));
}

void ResponseRelay::pass_head(Again why) {
  answered_ = true;
  first_byte_ = services_.loop.now() - exchange_.took_off;
  if (exchange_.load.cost) exchange_.load.cost->answer_begins(head().fields);
  const auto length = head().has_length ? std::optional(head().content_length) : std::nullopt;
  const auto& via = services_.config.proxy.via;
  const int attempts = exchange_.sendings.attempts;
  auto fields = http::response_fields(head(), exchange_.target, via, Duration{exchange_.waited});
  auto proxy_status = attempts > 1 ? http::proxy_status(attempts, via) : std::string();
  const bool small = !head().has_body(exchange_.head.method) || length.value_or(0) <= KeptAnswer::kMost;
  const bool holds = why != Again::no && small, judges = small && may_name_what_no_waiting_cures();
  if (judges) {
    tell(Pausing::Known::head);
    judged_until_ = services_.loop.now() + kJudgement;
    if (!holds) passed_.emplace();
  } else {
    observe();
  }
  if (!holds) {
    if (!proxy_status.empty()) fields.add("Proxy-Status", proxy_status);
    return exchange_.sink.answer_head(head().status, head().reason, fields, length);
  }
  held_ = std::make_unique<KeptAnswer>(why, head(), std::move(fields), length);
  held_->tell_attempts(std::move(proxy_status));
}

bool ResponseRelay::may_name_what_no_waiting_cures() const {
  return !exchange_.retry().except.empty() && http::may_refuse(head().status, exchange_.upstream->settings.pause_on) &&
         head().has_body(exchange_.head.method) && http::may_name_error(head().fields);
}

void ResponseRelay::pass_body(std::string_view bytes) {
  bytes_ += bytes.size();
  if (exchange_.load.cost) exchange_.load.cost->answer_came(bytes);
  if (held_) {
    if (held_->append(bytes)) return;
    pass_held();
  } else if (passed_) {
    passed_->append(bytes);
    if (passed_->size() > KeptAnswer::kMost) observe();
  }
  exchange_.sink.answer_body(bytes);
}

std::int64_t ResponseRelay::patient_until() const {
  if (judged_until_ != 0) return judged_until_;
  return held_ ? exchange_.sendings.deadline : kNever;
}

void ResponseRelay::lose_patience() {
  const std::int64_t now = services_.loop.now();
  if (judged_until_ != 0 && now >= judged_until_) observe();
  if (held_ && now >= exchange_.sendings.deadline) pass_held();
}

Again ResponseRelay::conclude() {
  if (judged_until_ != 0) observe();
  return held_ ? held_->why() : Again::no;
}

void ResponseRelay::pass_held() {
  observe();
  std::exchange(held_, nullptr)->begin(exchange_.sink);
}

/// The body has come whole.
void ResponseRelay::settle(bool incurable) {
  if (judged_until_ != 0) tell(incurable ? Pausing::Known::incurable : Pausing::Known::curable);
}

void ResponseRelay::tell(Pausing::Known known) {
  UpstreamQueue* const observer = observer_;
  if (known != Pausing::Known::head) {
    judged_until_ = 0;
    passed_.reset();
    observer_ = nullptr;
  }
  if (!observer) return;
  observer->observe({.known = known,
                     .head = head(),
                     .request = exchange_.head.fields,
                     .group = exchange_.group,
                     .route = exchange_.lane().route,
                     .obey = exchange_.obey(),
                     .ticket = exchange_.ticket,
                     .departure = exchange_.departure.taken(),
                     .took_off = exchange_.took_off,
                     .said = exchange_.sendings.said});
}

std::unique_ptr<KeptAnswer>& ResponseRelay::whole(std::uint64_t bytes_out) {
  auto whole = result();
  whole.bytes_out = bytes_out;
  held_->end(http::response_trailers(reader_.trailers(), exchange_.target), whole);
  const bool incurable = http::names_error(head().fields, held_->body(), exchange_.retry().except);
  if (incurable) held_->mark_incurable();
  settle(incurable);
  return held_;
}

/// Merges small chunks: passing one on costs more than copying it. Parsing a read full of tiny chunks takes ten times
/// as long as parsing another, and fifty such upstreams would block the loop; so reading from the upstream rests after
/// it.
http::BodyDecoder::State ResponseRelay::pass_encoded(http::BodyDecoder& decoder, std::string_view& bytes) {
  using State = http::BodyDecoder::State;
  const std::size_t size = bytes.size();
  std::size_t chunks = 0;
  std::string gathered;
  std::string_view piece;
  State state;
  while ((state = decoder.next(bytes, piece)) == State::piece) {
    ++chunks;
    if (piece.size() < kSmall) {
      gathered.append(piece);
      continue;
    }
    if (!gathered.empty()) pass_body(gathered);
    gathered.clear();
    pass_body(piece);
  }
  if (!gathered.empty()) pass_body(gathered);
  if (chunks > kFewChunks && chunks * kCrumb > size) rests_until_ = services_.loop.now() + kRest;
  return state;
}

void ResponseRelay::end() {
  if (held_) pass_held();
  if (passed_) settle(http::names_error(head().fields, *passed_, exchange_.retry().except));
  exchange_.sink.answer_end(http::response_trailers(reader_.trailers(), exchange_.target));
}

void ResponseRelay::break_off(const http::Refusal& refusal) {
  conclude();
  const bool passed_on = answered_ && !held_;
  if (exchange_.sendings.answer && !passed_on) return exchange_.sendings.answer->give(exchange_.sink);
  if (held_) pass_held();
  if (answered_) return exchange_.sink.answer_broken();
  auto said = refusal;
  said.attempts = exchange_.sendings.attempts;
  exchange_.sink.answer_refusal(said);
}

AttemptResult ResponseRelay::result() const {
  AttemptResult result{.status = answered_ && !held_ ? head().status : 0, .bytes_in = bytes_};
  if (first_byte_) result.first_byte = Duration{*first_byte_};
  return result;
}

void ResponseRelay::wait_for_client() {
  waiting_ = true;
  untaken_ = exchange_.sink.untaken();
}

bool ResponseRelay::resume() { return std::exchange(waiting_, false); }

bool ResponseRelay::client_reads_on() {
  if (!waiting_) return false;
  const std::size_t before = std::exchange(untaken_, exchange_.sink.untaken());
  return untaken_ < before;
}

}  // namespace penstock::proxy
