// SPDX-License-Identifier: Apache-2.0
// See admin_connection.h. A request with a body is refused. The connection ends if a request takes too long, or if the
// client asks without reading the answers.
#include "observe/admin_connection.h"

#include <utility>

namespace penstock::observe {
namespace {

constexpr std::int64_t kIdle = 60'000'000;
constexpr std::int64_t kHead = 5'000'000;  // µs; from connecting, or from the request's first byte
constexpr std::size_t kMostUntaken = 4 * 1024 * 1024;

// With room for a browser's cookies of the same host.
constexpr CapsConfig kCaps{.header_bytes = 32 * 1024, .header_count = 100, .target_bytes = 2 * 1024};

// Also accepts a target in absolute form, as a server must.
std::string_view path_of(std::string_view target) {
  constexpr std::string_view kScheme = "http://";
  if (target.starts_with(kScheme)) {
    const auto path_at = target.find_first_of("/?", kScheme.size());
    target = path_at == std::string_view::npos || target[path_at] == '?' ? "/" : target.substr(path_at);
  }
  return target.substr(0, target.find('?'));
}

}  // namespace

AdminConnection::AdminConnection(std::uint64_t id, loop::Loop& loop, std::unique_ptr<loop::Stream> stream, Pages& pages)
    : id_(id), loop_(loop), stream_(std::move(stream)), pages_(pages), parser_(kCaps, *this), idle_(loop, [this] {
        pages_.ended(id_);
      }) {
  stream_->set_events(*this);
  stream_->read_on();
  await_head();
}

void AdminConnection::on_read(std::string_view bytes) {
  unread_ += bytes;
  advance();
}

void AdminConnection::on_gone() { pages_.ended(id_); }

void AdminConnection::on_head(http::RequestHead&& head) {
  head_ = std::move(head);
  if (head_.has_body()) parser_.pause();
}

void AdminConnection::on_complete(http::Fields&&) { phase_ = Phase::asked; }

void AdminConnection::advance() {
  while (phase_ < Phase::answering && read_request()) answer_request();
  if (phase_ == Phase::taken) return hand_over();
  if (phase_ == Phase::ending) end();
}

bool AdminConnection::read_request() {
  if (unread_.empty()) return false;
  if (phase_ == Phase::resting) await_head();
  const auto [consumed, state] = parser_.consume(unread_);
  unread_.erase(0, consumed);
  if (state == http::RequestParser::State::failed) {
    refuse(parser_.refusal());
  } else if (parser_.in_body()) {
    refuse({.why = http::Reason::malformed, .details = "no request here has a body", .status = 413});
  }
  return phase_ == Phase::asked;
}

void AdminConnection::answer_request() {
  phase_ = Phase::resting;
  has_asked_ = true;
  rest();
  if (const auto answer = pages_.answer(id_, head_, path_of(head_.target))) return write(*answer);
  phase_ = Phase::answering;
  stream_->read_off();
}

void AdminConnection::answer_later(const Answer& answer) {
  write(answer);
  if (phase_ != Phase::ending) stream_->read_on();
  advance();
}

namespace {

http::Fields fields_of(const AdminConnection::Answer& answer) {
  http::Fields fields;
  fields.add("Content-Type", answer.type);
  fields.add("Cache-Control", "no-store");
  // A page of another origin must not get it as a script or a picture of its own.
  fields.add("X-Content-Type-Options", "nosniff");
  fields.add("Cross-Origin-Resource-Policy", "same-origin");
  if (!answer.allow.empty()) fields.add("Allow", answer.allow);
  for (std::size_t i = 0; i < answer.more.size(); ++i) fields.add(answer.more[i].name, answer.more[i].value);
  return fields;
}

}  // namespace

void AdminConnection::write(const Answer& answer) {
  if (answer.taker && head_.method != "HEAD") return begin_endless(answer);
  http::ResponseWriter writer{
      {.head_method = head_.method == "HEAD", .minor_version = head_.minor_version, .keep_alive = head_.keep_alive}};
  std::string& out = stream_->out();
  writer.head(out, answer.status, http::standard_reason(answer.status), fields_of(answer), answer.body.size());
  writer.body(out, answer.body);
  writer.end(out, {});
  stream_->touch();
  const bool last = !writer.keeps_connection() || stream_->queued() > kMostUntaken;
  phase_ = last ? Phase::ending : Phase::resting;
  rest();
}

/// Without chunks: the body ends with the connection.
void AdminConnection::begin_endless(const Answer& answer) {
  http::ResponseWriter writer{{.minor_version = 0, .keep_alive = false}};
  std::string& out = stream_->out();
  writer.head(out, answer.status, http::standard_reason(answer.status), fields_of(answer), std::nullopt);
  out += answer.body;
  stream_->touch();
  taker_ = answer.taker;
  phase_ = Phase::taken;
}

void AdminConnection::refuse(const http::Refusal& refusal) {
  http::write_refusal(stream_->out(), refusal, "penstock", {.keep_alive = false});
  stream_->touch();
  phase_ = Phase::ending;
}

/// Starts the time limit for a whole head, however slowly its bytes come.
void AdminConnection::await_head() {
  phase_ = Phase::asking;
  last_moved_ = loop_.now();
  idle_.start(last_moved_ + kHead);
}

void AdminConnection::rest() {
  last_moved_ = loop_.now();
  idle_.start(last_moved_ + kIdle);
}

void AdminConnection::end() {
  loop::Stream::close_lingering(std::move(stream_));
  pages_.ended(id_);
}

void AdminConnection::hand_over() {
  const auto taker = std::move(taker_);
  auto stream = std::move(stream_);
  pages_.ended(id_);
  taker(std::move(stream));
}

}  // namespace penstock::observe
