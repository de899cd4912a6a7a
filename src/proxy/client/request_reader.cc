// SPDX-License-Identifier: Apache-2.0
// What may be parsed when, what is read ahead, and when the stream is read.
#include "proxy/client/request_reader.h"

#include <algorithm>
#include <utility>

namespace penstock::proxy {

namespace {
constexpr std::size_t kReadAhead = 16 * 1024;
constexpr std::size_t kPiecesPerIteration = 1024;  // of a body: a chunk of one byte costs as much as one of a kilobyte

RequestReader::Behind behind_of(const http::RequestHead& head) {
  using Behind = RequestReader::Behind;
  if (head.method == "CONNECT") return Behind::tunnel;
  return head.upgrade.empty() ? Behind::http : Behind::maybe_tunnel;
}

/// True if the bytes that follow this head can only be the next request.
bool may_be_passed(const http::RequestHead& head) {
  return !head.has_body() && behind_of(head) == RequestReader::Behind::http;
}
}  // namespace

RequestReader::RequestReader(const Services& services, loop::IterationEnd& going_on, RequestReaderEvents& events)
    : services_(services), going_on_(going_on), events_(events), parser_(services.config.caps, *this) {}

void RequestReader::attach(loop::Stream& stream) {
  stream_ = &stream;
  reading_ = false;
}

void RequestReader::detach() {
  stream_ = nullptr;
  breath_.reset();
}

void RequestReader::read(std::string_view bytes) {
  if (unread_.empty()) return parse(bytes);
  unread_.append(bytes);
  resume();
}

void RequestReader::resume() { parse(std::exchange(unread_, {})); }

void RequestReader::parse(std::string_view bytes) {
  if (failed_) return;
  pieces_ = 0;
  while (!bytes.empty() && may_parse()) {
    const auto progress = parser_.consume(bytes);
    bytes.remove_prefix(progress.consumed);
    failed_ = progress.state == http::RequestParser::State::failed;
  }
  if (failed_) return going_on_.ask();
  unread_.append(bytes);
  const bool wanted = wants_bytes();
  if (!stream_ || wanted == reading_) return;
  reading_ = wanted;
  wanted ? stream_->read_on() : stream_->read_off();
}

/// A little is read even while nothing may be parsed, so that a client that leaves is noticed at once.
bool RequestReader::wants_bytes() const {
  if (may_parse()) return unread_.empty();
  return events_.takes() != RequestReaderEvents::Takes::nothing_more && body_whole_ && unread_.size() < kReadAhead;
}

bool RequestReader::may_parse() const {
  using Takes = RequestReaderEvents::Takes;
  if (failed_ || behind_ != Behind::http || breathes()) return false;
  const auto takes = events_.takes();
  return takes == Takes::body || takes == Takes::request || (takes == Takes::ahead && may_read_ahead());
}

bool RequestReader::may_read_ahead() const {
  const auto& caps = services_.config.caps;
  return (ahead_.empty() || may_be_passed(ahead_.back())) && ahead_.size() < caps.pipelined &&
         ahead_bytes_ < caps.header_bytes;
}

void RequestReader::on_head(http::RequestHead&& head) {
  if (events_.takes() == RequestReaderEvents::Takes::request) {
    if (!begin(std::move(head)) && !body_whole_) parser_.pause();
    return;
  }
  ahead_bytes_ += head.fields.bytes() + head.target.size();
  if (head.has_body()) parser_.pause();
  ahead_.push_back(std::move(head));
}

bool RequestReader::begin(http::RequestHead&& head) {
  body_whole_ = !head.has_body();
  behind_ = behind_of(head);
  return events_.on_request(std::move(head));
}

bool RequestReader::begin_next() {
  if (ahead_.empty()) return false;
  http::RequestHead next = std::move(ahead_.front());
  ahead_.erase(ahead_.begin());
  ahead_bytes_ -= std::min(ahead_bytes_, next.fields.bytes() + next.target.size());
  begin(std::move(next));
  return true;
}

void RequestReader::on_body(std::string_view bytes) {
  const bool more = events_.on_body(bytes);
  if (++pieces_ == kPiecesPerIteration) breathe();
  if (!more || breathes()) parser_.pause();
}

void RequestReader::breathe() {
  if (!breath_) breath_ = std::make_unique<loop::Timer>(services_.loop, [this] { going_on_.ask(); });
  breath_->start(services_.loop.now());
}

void RequestReader::on_complete(http::Fields&& trailers) {
  if (std::exchange(body_whole_, true)) return;  // a request without a body, or one read ahead
  events_.on_body_end(std::move(trailers));
}

void RequestReader::body_wanted() {
  if (!reading_ || !unread_.empty()) going_on_.ask();
}

void RequestReader::answered() {
  if (behind_ == Behind::maybe_tunnel) behind_ = Behind::http;
}

bool RequestReader::leave_tunnel() {
  if (behind_ != Behind::tunnel) return true;
  behind_ = Behind::http;
  return unread_.empty();
}

void RequestReader::restart() {
  behind_ = Behind::http;
  parser_.restart();
}

std::string RequestReader::take_unread() { return std::exchange(unread_, {}); }

}  // namespace penstock::proxy
