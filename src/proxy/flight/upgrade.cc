// SPDX-License-Identifier: Apache-2.0
// From the request's head to a tunnel, or to the end of another response.
#include "proxy/flight/upgrade.h"

#include <algorithm>
#include <utility>

#include "http/forwarding.h"
#include "http/upgrade.h"
#include "proxy/exchange/address_check.h"
#include "proxy/exchange/time_limits.h"

namespace penstock::proxy {

Upgrade::Upgrade(const Services& services, AttemptEvents& events, Exchange& exchange, OpenTunnels& tunnels,
                 tls::ClientIdentities& identities)
    : services_(services),
      events_(events),
      exchange_(exchange),
      dialer_(services, exchange, *this, &identities),
      relay_(services, events, exchange, tunnels, Relay::After::upgrade),
      answer_(services, exchange),
      timer_(services.loop, [this] { on_time(); }),
      rest_(services.loop, [this] { upstream_->read_on(); }) {
  answer_.reader().let_switch();
}

// The request.

void Upgrade::on_dialled(std::unique_ptr<loop::Stream> upstream) {
  upstream_ = std::move(upstream);
  upstream_->set_events(*this);
  upstream_->keep_half_open();
  upstream_->read_on();
  sent_ = services_.loop.now();
  if (upstream_->send(head())) exchange_.leaves(services_.loop.now());
  keep_own_time();
}

void Upgrade::on_not_dialled(const http::Refusal& refusal) { fail(refusal); }

std::string Upgrade::head() const {
  http::Fields fields = http::request_fields(exchange_.head, exchange_.target, services_.config.proxy.via);
  http::add_upgrade(fields, exchange_.head.upgrade);
  std::string text = exchange_.head.method + " " + exchange_.target.resource + " HTTP/1.1\r\n";
  for (std::size_t i = 0; i < fields.size(); ++i) {
    text.append(fields[i].name).append(": ").append(fields[i].value).append("\r\n");
  }
  return text += "\r\n";
}

// The response.

void Upgrade::on_read(std::string_view bytes) { decoder_ ? read_body(bytes) : read_head(bytes); }

void Upgrade::read_head(std::string_view bytes) {
  exchange_.leaves(services_.loop.now());  // if the kernel did not take the head at once
  using Verdict = http::ResponseHeadReader::Verdict;
  while (const auto line = lines_.next(bytes)) {
    switch (answer_.on_line(*line)) {
      case Verdict::more: break;
      case Verdict::interim: answer_.pass_interim(); break;
      case Verdict::switched: return switch_protocols(bytes);
      case Verdict::final: pass_head(); return read_body(bytes);
      case Verdict::bad: return fail(answer_.reader().why(), answer_.reader().details());
    }
  }
  if (lines_.kept() > ResponseRelay::kHeadBytes) {
    return fail(http::Reason::response_head_too_large, "the upstream's header section is too large");
  }
  wait_for_room();
}

/// Passes on a whole read, then checks for room and for a rest before the next.
void Upgrade::wait_for_room() {
  const auto now = services_.loop.now();
  const bool has_room = exchange_.sink.has_room();
  if (has_room && now >= answer_.rests_until()) return;
  upstream_->read_off();
  if (has_room) return rest_.start(answer_.rests_until());
  answer_.wait_for_client();
  moved_ = now;
}

void Upgrade::switch_protocols(std::string_view behind) {
  const auto& head = answer_.head();
  if (!http::switches_as_asked(head, exchange_.head.upgrade)) {
    return fail(http::Reason::upgrade_failed, "the upstream switched to a protocol that was not asked for");
  }
  answer_.note_switch();
  timer_.stop();
  auto fields = http::response_fields(head, exchange_.target, services_.config.proxy.via, Duration{exchange_.waited});
  http::add_upgrade(fields, http::upgrades_passed(head.fields));
  exchange_.sink.answer_interim(head.status, head.reason, fields);
  std::string early;
  auto client = exchange_.sink.give_away(early);
  relay_.open(std::move(client), std::move(upstream_));
  if (!behind.empty()) relay_.pass_from_upstream(behind);
  if (!early.empty()) relay_.pass_from_client(early);
}

void Upgrade::pass_head() {
  answer_.pass_head();
  decoder_.emplace(answer_.reader(), exchange_.head.method);
}

void Upgrade::read_body(std::string_view bytes) {
  using State = http::BodyDecoder::State;
  const State state = answer_.pass_encoded(*decoder_, bytes);
  moved_ = services_.loop.now();
  if (state == State::whole) return complete();
  if (state == State::bad) return fail(decoder_->why(), decoder_->details());
  keep_own_time();
  wait_for_room();
}

void Upgrade::resume() {
  if (!answer_.resume()) return;
  moved_ = sent_ = services_.loop.now();  // before the head, nothing could be read during the wait
  services_.loop.now() < answer_.rests_until() ? rest_.start(answer_.rests_until()) : upstream_->read_on();
}

void Upgrade::on_end() { decoder_ && decoder_->ends_with_connection() ? complete() : broken(); }

void Upgrade::on_gone() { broken(); }

void Upgrade::broken() {
  if (answered()) return fail(http::Reason::response_incomplete, "the answer broke off");
  if (answer_.has_begun() || lines_.kept() > 0)
    return fail(http::Reason::response_incomplete, "the answer ended within its head");
  const auto words = upstream_->failure_words();  // for example the demand for a client certificate, which comes late
  if (!words.empty()) return fail(http::Reason::tls_protocol_error, words);
  fail(http::Reason::connection_terminated, "the connection was closed before an answer came");
}

void Upgrade::fail(const http::Refusal& refusal) { abort(of(exchange_.upstream->name, refusal)); }

void Upgrade::abort(const http::Refusal& refusal) {
  if (relay_.is_open()) return relay_.abort(refusal);
  answer_.break_off(refusal);
  events_.failed(exchange_, {.why = refusal.why, .details = refusal.details}, result());
}

void Upgrade::complete() {
  answer_.end();
  events_.completed(exchange_, result());
}

// Time-outs from the request's head to the end of a response; the dialer and the relay keep their own.

void Upgrade::keep_time() {
  if (relay_.is_open()) return relay_.keep_time();
  upstream_ ? keep_own_time() : dialer_.keep_time();
}

void Upgrade::keep_own_time() {
  const std::int64_t next = deadline();
  if (next != kNever && (!timer_.running() || timer_.at() > next)) timer_.start(next);
}

std::int64_t Upgrade::deadline() const {
  const auto& timeouts = exchange_.timeouts();
  const bool moves = answered() || answer_.waits_for_client();
  const auto patience = (moves ? timeouts.idle : timeouts.first_byte).count();
  const auto since = moves ? moved_ : sent_;
  return std::min({total_deadline(exchange_), answer_.patient_until(), patience > 0 ? since + patience : kNever});
}

void Upgrade::on_time() {
  const std::int64_t now = services_.loop.now();
  if (now < deadline()) return keep_own_time();
  if (now >= total_deadline(exchange_)) return fail(total_is_over(exchange_));
  if (now >= answer_.patient_until()) return answer_.lose_patience(), keep_own_time();
  if (answered() || answer_.waits_for_client()) return client_or_upstream_is_idle();
  fail(http::Reason::response_timeout,
       "no answer within " + seconds(exchange_.timeouts().first_byte) + " (timeouts.firstByte)");
}

void Upgrade::client_or_upstream_is_idle() {
  const std::string silence = "no byte for " + seconds(exchange_.timeouts().idle) + " (timeouts.idle)";
  if (!answer_.waits_for_client()) return fail(http::Reason::read_timeout, "the upstream moved " + silence);
  if (!answer_.client_reads_on()) return events_.stalled(exchange_, "the client moved " + silence, result());
  moved_ = services_.loop.now();
  keep_own_time();
}

}  // namespace penstock::proxy
