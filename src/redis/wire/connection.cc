// SPDX-License-Identifier: Apache-2.0
// Look-up, connection, greeting; then commands and replies in the same order.
#include "redis/wire/connection.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <uv.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

#include "redis/wire/self_test.h"

namespace penstock::redis {

namespace {

/// For look-up, connection and greeting together. Short enough for a second try within a second, in case Redis comes
/// back just after our first packet was lost.
constexpr std::int64_t kGreetingPatience = 500'000;
constexpr std::size_t kKeptCapacity = 16 * 1024;

constexpr std::size_t kIdSize = 16;  // 64 bits of an id tell servers apart

/// The value of a field of INFO; empty: there is no such field.
std::string_view field_in(std::string_view info, std::string_view name) {
  while (!info.empty()) {
    const auto line = info.substr(0, info.find('\r'));
    if (line.starts_with(name) && line.substr(name.size()).starts_with(':')) return line.substr(name.size() + 1);
    info.remove_prefix(std::min(info.size(), line.size() + 2));
  }
  return {};
}

/// The server's id becomes part of keys' values, so only characters that Redis uses in ids are accepted.
std::string_view id_in(std::string_view info) {
  auto id = field_in(info, "run_id");
  if (id.empty()) id = field_in(info, "master_replid");
  id = id.substr(0, kIdSize);
  const auto is_plain = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-'; };
  return std::ranges::all_of(id, is_plain) ? id : std::string_view();
}

}  // namespace

void begin_command(std::string& bytes, std::size_t words) {
  char number[24];
  const auto end = std::to_chars(number, std::end(number), words).ptr;
  bytes.append("*").append(number, end).append("\r\n");
}

void add_word(std::string& bytes, std::string_view word) {
  char number[24];
  const auto end = std::to_chars(number, std::end(number), word.size()).ptr;
  bytes.append("$").append(number, end).append("\r\n").append(word).append("\r\n");
}

std::string command(std::initializer_list<std::string_view> words) {
  std::string bytes;
  begin_command(bytes, words.size());
  for (const auto word : words) add_word(bytes, word);
  return bytes;
}

std::string place_of(const RedisConfig& config) {
  return config.path.empty() ? to_string(Endpoint{config.host, config.port}) : "unix:" + config.path;
}

Connection::Connection(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
                       For what, std::size_t attempt, ConnectionEvents& events)
    : loop_(loop),
      resolver_(resolver),
      network_(network),
      config_(config),
      for_(what),
      attempt_(attempt),
      began_(loop.now()),
      events_(events),
      iteration_end_(loop, [this] { end_iteration(); }),
      deadline_(loop, [this] { look_at_clock(); }) {
  deadline_.start(due());
  find();
}

// The way to Redis.

void Connection::find() {
  sockaddr_storage any{};
  const bool literal =
      uv_inet_pton(AF_INET, config_.host.c_str(), &any) == 0 || uv_inet_pton(AF_INET6, config_.host.c_str(), &any) == 0;
  if (!config_.path.empty() || literal) {
    addresses_ = {config_.host};
    return try_next_address();
  }
  lookup_ = resolver_.ask(config_.host, [this](const loop::LookupResult& found) {
    if (!found) return end({FailureKind::unreachable, "its name is not found"});
    addresses_ = *found;
    events_.on_found(addresses_);
    try_next_address();
  });
}

/// Some addresses fail at once: no route leads to an IPv6 address on a machine without one.
void Connection::try_next_address() {
  int error = 0;
  do {
    wire_ = network_.wire(loop_, *this);
    const std::string& address = addresses_[(attempt_ + tried_++) % addresses_.size()];
    error = config_.path.empty() ? connect(address) : connect_to_path();
  } while (error != 0 && tried_ < addresses_.size());
  if (error != 0) fail(error);
}

int Connection::connect(const std::string& address) {
  sockaddr_in v4{};
  if (uv_ip4_addr(address.c_str(), config_.port, &v4) == 0) {
    return wire_->connect(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
  }
  sockaddr_in6 v6{};
  if (uv_ip6_addr(address.c_str(), config_.port, &v6) != 0) return EADDRNOTAVAIL;
  return wire_->connect(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
}

int Connection::connect_to_path() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (config_.path.size() >= sizeof address.sun_path) return ENAMETOOLONG;
  std::memcpy(address.sun_path, config_.path.data(), config_.path.size());
  return wire_->connect(reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

/// Reported at the end of the iteration: events are never called from inside the constructor.
void Connection::fail(int error) {
  failed_ = {FailureKind::unreachable, std::generic_category().message(error)};
  iteration_end_.ask();
}

void Connection::on_gone(int error) {
  if (ended_) return;
  if (!wire_->connected() && tried_ < addresses_.size()) return try_next_address();
  const auto kind = wire_->connected() ? FailureKind::lost : FailureKind::unreachable;
  end({kind, error == 0 ? "it closed the connection" : std::generic_category().message(error)});
}

void Connection::end(Failure why) {
  if (std::exchange(ended_, true)) return;
  if (wire_) wire_->close();
  lookup_.reset();
  iteration_end_.cancel();
  deadline_.stop();
  events_.on_ended(why, std::exchange(waiting_, {}));
}

// Greeting: authentication, and what kind of server this is.

void Connection::greet() {
  const auto say = [this](std::initializer_list<std::string_view> words) {
    ++greetings_;
    queue({.command = command(words), .done = nullptr});
  };
  if (!config_.user.empty()) {
    say({"AUTH", config_.user, config_.password});
  } else if (!config_.password.empty()) {
    say({"AUTH", config_.password});
  }
  ask_for_info("server");
  if (config_.database != 0) say({"SELECT", std::to_string(config_.database)});
}

void Connection::ask_for_info(std::string_view section) {
  ++greetings_;
  queue({.command = command({"INFO", section}), .done = [this](const Outcome& outcome, auto) { informed(outcome); }});
}

/// INFO may be refused. If the server does not tell its own id, the replication id of its data is the next best.
void Connection::informed(const Outcome& outcome) {
  if (!outcome && !Refusals().note("info", outcome.error().text)) return end(outcome.error());
  if (!outcome) {
    no_info_ = outcome.error().text;
    return;
  }
  const auto mode = field_in(outcome->text(), "redis_mode");
  if (mode == "sentinel") return end({FailureKind::unsupported, "a Redis Sentinel is not supported"});
  if (mode == "cluster") return end({FailureKind::unsupported, "a Redis Cluster is not supported"});
  server_id_ = id_in(outcome->text());
  const bool is_wanted = server_id_.empty() && for_ == For::commands;
  if (is_wanted && !std::exchange(asked_twice_, true)) ask_for_info("replication");
}

void Connection::greeted(Call call, const Outcome& outcome) {
  --greetings_;
  if (call.done) {
    call.done(outcome, call.sent);
  } else if (!outcome) {
    end(outcome.error());
  }
  if (ended_ || greetings_ > 0) return;
  ready_ = true;
  deadline_.stop();  // from now on each call has its own deadline
  events_.on_ready();
}

// Commands and replies.

void Connection::send(Call call) {
  if (!ended_) queue(std::move(call));
}

void Connection::queue(Call call) {
  out_ += call.command;
  call.asked = call.sent = loop_.now();
  waiting_.push_back(std::move(call));
  ++unsent_;
  iteration_end_.ask();
  if (!deadline_.running()) deadline_.start(due());
}

void Connection::end_iteration() {
  if (failed_) return end(*failed_);
  const auto now = loop_.now();
  for (auto call = waiting_.end() - static_cast<std::ptrdiff_t>(unsent_); call != waiting_.end(); ++call)
    call->sent = now;
  unsent_ = 0;
  const int error = wire_->write(out_);
  out_.clear();
  if (out_.capacity() > kKeptCapacity) out_.shrink_to_fit();
  if (error != 0) on_gone(error);
}

void Connection::on_read(std::string_view bytes) {
  if (!reader_.feed(bytes)) return end({FailureKind::protocol, "its answer is too large"});
  while (!ended_) {
    const auto found = reader_.next();
    if (found == ReplyReader::Found::nothing) return;
    if (found == ReplyReader::Found::nonsense) return end({FailureKind::protocol, "its answer makes no sense"});
    take(reader_.reply());
  }
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
  if (greetings_ > 0) return greeted(std::move(call), outcome);
  events_.on_reply(std::move(call), outcome);
}

// Time-outs.

std::int64_t Connection::due() const {
  return ready_ ? waiting_.front().asked + config_.timeout.count() : began_ + kGreetingPatience;
}

/// One timer serves the oldest call: a reply does not move it, it looks again when it fires. If this process itself was
/// late, the reply may have arrived already, so it reads first.
void Connection::look_at_clock() {
  if (wire_ && wire_->connected()) wire_->read_now();
  if (ended_ || (ready_ && waiting_.empty())) return;
  if (loop_.now() < due()) return deadline_.start(due());
  end({FailureKind::timeout, ready_ ? "no answer in time" : "no connection in time"});
}

}  // namespace penstock::redis
