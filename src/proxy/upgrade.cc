// SPDX-License-Identifier: Apache-2.0
// From the request's head to a tunnel, or to the end of another answer.
#include "proxy/upgrade.h"

#include <algorithm>
#include <utility>

#include "http/forwarding.h"
#include "http/upgrade.h"
#include "proxy/dispatcher.h"
#include "proxy/time_limits.h"

namespace penstock::proxy {

namespace {
constexpr std::size_t kAnswerHeadBytes = 256 * 1024;
constexpr std::size_t kAnswerHeadLines = 1000;
}  // namespace

Upgrade::Upgrade(const Services& services, Dispatcher& dispatcher, Exchange& exchange, TunnelTotals& all,
                 tls::ClientIdentities& identities)
    : services_(services),
      dispatcher_(dispatcher),
      exchange_(exchange),
      dialling_(services, exchange, *this, &identities),
      passage_(services, dispatcher, exchange, all, Passage::After::upgrade),
      reader_(kAnswerHeadBytes, kAnswerHeadLines),
      timer_(services.loop, [this] { on_time(); }) {
  reader_.let_switch();
}

// The request.

void Upgrade::on_dialled(std::unique_ptr<loop::Stream> upstream) {
  upstream_ = std::move(upstream);
  upstream_->listen_to(*this);
  upstream_->keep_half_open();
  upstream_->read_on();
  sent_ = services_.loop.now();
  exchange_.leaves(sent_);
  upstream_->send(head());
  keep_time();
}

void Upgrade::on_not_dialled(const http::Refusal& refusal) { fail(refusal.why, refusal.details); }

std::string Upgrade::head() const {
  http::Fields fields = http::request_fields(exchange_.head, exchange_.target, services_.config.proxy.via);
  http::add_upgrade(fields, exchange_.head.upgrade);
  std::string text = exchange_.head.method + " " + exchange_.target.resource + " HTTP/1.1\r\n";
  for (std::size_t i = 0; i < fields.size(); ++i) {
    text.append(fields[i].name).append(": ").append(fields[i].value).append("\r\n");
  }
  return text += "\r\n";
}

// The answer.

void Upgrade::on_read(std::string_view bytes) { decoder_ ? read_body(bytes) : read_head(bytes); }

void Upgrade::read_head(std::string_view bytes) {
  using Verdict = http::ResponseHeadReader::Verdict;
  head_begun_ = true;
  while (const auto line = lines_.next(bytes)) {
    switch (reader_.on_line(*line)) {
      case Verdict::more: break;
      case Verdict::interim: pass_interim(); break;
      case Verdict::switched: return switch_protocols(bytes);
      case Verdict::final: pass_head(); return read_body(bytes);
      case Verdict::bad: return fail(reader_.why(), reader_.details());
    }
  }
  if (lines_.kept() > kAnswerHeadBytes) {
    fail(http::Why::response_head_too_large, "the upstream's header section is too large");
  }
}

void Upgrade::pass_interim() {
  const auto& head = reader_.head();
  exchange_.requester.answer_interim(
      head.status, head.reason,
      http::response_fields(head, exchange_.target, services_.config.proxy.via, std::nullopt));
}

void Upgrade::switch_protocols(std::string_view behind) {
  const auto& head = reader_.head();
  if (!http::switches_as_asked(head, exchange_.head.upgrade)) {
    return fail(http::Why::upgrade_failed, "the upstream switched to a protocol that was not asked for");
  }
  answered_ = true;
  timer_.stop();
  auto fields = http::response_fields(head, exchange_.target, services_.config.proxy.via, Duration{exchange_.waited});
  http::add_upgrade(fields, http::upgrades_passed(head.fields));
  exchange_.requester.answer_interim(head.status, head.reason, fields);
  std::string early;
  auto client = exchange_.requester.give_away(early);
  passage_.open(std::move(client), std::move(upstream_));
  if (!behind.empty()) passage_.pass_from_upstream(behind);
  if (!early.empty()) passage_.pass_from_client(early);
}

void Upgrade::pass_head() {
  const auto& head = reader_.head();
  answered_ = true;
  dispatcher_.heed(exchange_, head);
  first_byte_ = services_.loop.now() - exchange_.took_off;
  const auto length = head.has_length ? std::optional(head.content_length) : std::nullopt;
  exchange_.requester.answer_head(
      head.status, head.reason,
      http::response_fields(head, exchange_.target, services_.config.proxy.via, Duration{exchange_.waited}), length);
  decoder_.emplace(reader_, exchange_.head.method);
}

/// What one read brought is passed on whole; whether there is room is asked before the next.
void Upgrade::read_body(std::string_view bytes) {
  using State = http::BodyDecoder::State;
  State state;
  std::string_view piece;
  while ((state = decoder_->next(bytes, piece)) == State::piece) {
    bytes_in_ += piece.size();
    exchange_.requester.answer_body(piece);
  }
  moved_ = services_.loop.now();
  if (state == State::whole) return complete();
  if (state == State::bad) return fail(decoder_->why(), decoder_->details());
  keep_time();
  if (exchange_.requester.has_room()) return;
  paused_by_client_ = true;
  untaken_ = exchange_.requester.untaken();
  upstream_->read_off();
}

void Upgrade::resume() {
  if (!std::exchange(paused_by_client_, false)) return;
  moved_ = services_.loop.now();
  upstream_->read_on();
}

void Upgrade::complete() {
  exchange_.requester.answer_end(http::trailer_fields(reader_.trailers()));
  dispatcher_.completed(exchange_);
}

void Upgrade::on_end() { decoder_ && decoder_->ends_with_connection() ? complete() : broken(); }

void Upgrade::on_gone() { broken(); }

void Upgrade::broken() {
  if (answered_) return fail(http::Why::response_incomplete, "the answer broke off");
  if (head_begun_) return fail(http::Why::response_incomplete, "the answer ended within its head");
  const auto words = upstream_->failure_words();  // such as the demand for a certificate, which comes late
  if (!words.empty()) return fail(http::Why::tls_protocol_error, words);
  fail(http::Why::connection_terminated, "the connection was closed before an answer came");
}

void Upgrade::fail(http::Why why, const std::string& details) {
  break_off({.why = why, .details = exchange_.destination->name + ": " + details});
}

void Upgrade::break_off(const http::Refusal& refusal) {
  if (passage_.is_open()) {
    passage_.cut();
  } else if (answered_) {
    exchange_.requester.answer_broken();
  } else {
    exchange_.requester.answer_refusal(refusal);
  }
  dispatcher_.failed(exchange_, refusal.why, refusal.details);
}

void Upgrade::describe(Event& event) const {
  if (passage_.is_open()) {
    event.tunnel = true;
    return passage_.describe(event);
  }
  if (first_byte_) event.first_byte = Duration{*first_byte_};
  event.bytes_in = bytes_in_;
}

// Its time, from the request's head to the end of an answer; the dialling and the passage have their own.

void Upgrade::keep_time() {
  const std::int64_t next = deadline();
  if (next != kNever && (!timer_.running() || timer_.at() > next)) timer_.start(next);
}

std::int64_t Upgrade::deadline() const {
  const auto& timeouts = exchange_.destination->settings.timeouts;
  const auto patience = (answered_ ? timeouts.idle : timeouts.first_byte).count();
  const auto since = answered_ ? moved_ : sent_;
  return std::min(total_deadline(exchange_), patience > 0 ? since + patience : kNever);
}

void Upgrade::on_time() {
  const std::int64_t now = services_.loop.now();
  if (now < deadline()) return keep_time();
  if (now >= total_deadline(exchange_)) {
    const auto over = total_is_over(exchange_);
    return fail(over.why, over.details);
  }
  if (answered_) return client_or_upstream_is_idle();
  fail(http::Why::response_timeout,
       "no answer within " + seconds(exchange_.destination->settings.timeouts.first_byte) + " (timeouts.firstByte)");
}

/// The kernel tells of room only when there is a lot of it; a client that reads little by little must not look dead.
void Upgrade::client_or_upstream_is_idle() {
  const std::string silence =
      "no byte for " + seconds(exchange_.destination->settings.timeouts.idle) + " (timeouts.idle)";
  if (!paused_by_client_) return fail(http::Why::read_timeout, "the upstream moved " + silence);
  const std::size_t before = std::exchange(untaken_, exchange_.requester.untaken());
  if (untaken_ >= before) return dispatcher_.stalled(exchange_, "the client moved " + silence);
  moved_ = services_.loop.now();
  keep_time();
}

}  // namespace penstock::proxy
