// SPDX-License-Identifier: Apache-2.0
// Commands and replies in the same order; those of the greeting come first.
#include "redis/wire/connection.h"

#include <cerrno>
#include <utility>

#include "redis/wire/advice.h"
#include "redis/wire/network.h"

namespace penstock::redis {

namespace {
constexpr std::size_t kKeptCapacity = 16 * 1024;
constexpr std::string_view kTlsAlert = "\x15\x03";  // the type and the major version of its record

Failure nonsense(std::string_view bytes) {
  if (bytes.starts_with(kTlsAlert)) return {FailureKind::protocol, "it speaks TLS", Advice::tls};
  return {FailureKind::protocol, "its answer makes no sense"};
}
}  // namespace

Connection::Connection(loop::Loop& loop, std::unique_ptr<loop::Stream> stream, const RedisConfig& config, For what,
                       std::int64_t ready_until, ConnectionEvents& events, Greeting::Server server)
    : loop_(loop),
      config_(config),
      for_(what),
      ready_until_(ready_until),
      events_(events),
      stream_(std::move(stream)),
      greeting_(config, what == For::commands, server),
      sending_(loop, [this] { send_out(); }),
      deadline_(loop, [this] { look_at_clock(); }),
      judging_(loop, [this] { judge_lateness(); }) {
  stream_->set_events(*this);
  stream_->read_on();
  for (auto& command : greeting_.begin()) queue({.command = std::move(command)});
}

void Connection::send(Call call) {
  if (!ended()) queue(std::move(call));
}

void Connection::queue(Call call) {
  out_ += call.command;
  call.sent = loop_.now();
  waiting_.push_back(std::move(call));
  ++unsent_;
  sending_.ask();
  if (!deadline_.running()) deadline_.start(due());
}

void Connection::send_out() {
  const auto now = loop_.now();
  for (auto call = waiting_.end() - static_cast<std::ptrdiff_t>(unsent_); call != waiting_.end(); ++call)
    call->sent = now;
  unsent_ = 0;
  stream_->send(out_);
  out_.clear();
  if (out_.capacity() > kKeptCapacity) out_.shrink_to_fit();
}

void Connection::on_read(std::string_view bytes) {
  if (!reader_.feed(bytes)) return end({FailureKind::protocol, "its answer is too large"});
  while (!ended()) {
    const auto found = reader_.next();
    if (found == ReplyReader::Found::nothing) return;
    if (found == ReplyReader::Found::nonsense) return end(nonsense(bytes));
    take(reader_.reply());
  }
}

void Connection::on_gone() {
  const bool reset_at_once = !ready_ && stream_->error() == ECONNRESET;
  end({FailureKind::lost, why_gone(*stream_), reset_at_once ? Advice::reset : Advice::none});
}

void Connection::end(const Failure& why) {
  if (ended()) return;
  stream_.reset();
  sending_.cancel();
  stop_clock();
  events_.on_ended(advised(why, config_, greeting_.wanted()), std::exchange(waiting_, {}));
}

void Connection::take(const Reply& reply) {
  if (for_ == For::messages) {
    auto elements = reply.elements();
    if (elements.next().text() == "message") {
      elements.next();  // the channel's name
      return events_.on_message(elements.next().text());
    }
  }
  if (waiting_.empty())
    return end(reply.is_error() ? failure_of(reply.text()) : Failure{FailureKind::protocol, "it answered unasked"});
  Call call = std::move(waiting_.front());
  waiting_.pop_front();
  const Outcome outcome = reply.is_error() ? Outcome(std::unexpected(failure_of(reply.text()))) : Outcome(reply);
  if (!ready_) return greeted(outcome);
  events_.on_reply(std::move(call), outcome);
}

void Connection::greeted(const Outcome& outcome) {
  auto next = greeting_.next(outcome);
  if (!next) return end(next.error());
  if (!next->empty()) queue({.command = std::move(*next)});
  if (!greeting_.done()) return;
  ready_ = true;
  stop_clock();  // from now on each call has its own deadline
  events_.on_ready();
}

// Time-outs.

std::int64_t Connection::due() const { return ready_ ? waiting_.front().sent + config_.timeout.count() : ready_until_; }

/// One timer serves the oldest call: a reply does not move it, it looks again when it fires.
void Connection::look_at_clock() {
  if (late_ == Late::no) {
    if (ready_ && waiting_.empty()) return;
    late_since_ = loop_.now();
    if (late_since_ < due()) return deadline_.start(due());
    late_ = Late::suspected;
  }
  judging_.ask();
}

/// If this process itself was late, the reply may have arrived already. So the call is judged at the end of the next
/// iteration, when all that had arrived is read.
void Connection::judge_lateness() {
  if (late_ == Late::suspected) {
    late_ = Late::reading;
    return deadline_.start(late_since_);
  }
  late_ = Late::no;
  if (ready_ && waiting_.empty()) return;
  if (late_since_ < due()) return deadline_.start(due());
  end({FailureKind::timeout, ready_ ? "no answer in time" : "no connection in time"});
}

void Connection::stop_clock() {
  deadline_.stop();
  judging_.cancel();
  late_ = Late::no;
}

}  // namespace penstock::redis
