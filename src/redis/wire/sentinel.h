// SPDX-License-Identifier: Apache-2.0
// One conversation with one sentinel after the other, until one of them serves: dials, greets, and hands over the
// connection. For master_finder and master_watch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "loop/loop.h"
#include "loop/resolver.h"
#include "loop/timer.h"
#include "penstock/config.h"
#include "redis/wire/connection.h"
#include "redis/wire/dialer.h"
#include "redis/wire/network.h"

namespace penstock::redis {

/// The configuration by which the program connects to sentinels: their user, password and certificates.
RedisConfig as_sentinel(const RedisConfig& config);

class SentinelEvents {
 public:
  /// It is a Sentinel, and may be asked.
  virtual void on_sentinel() = 0;
  virtual void on_sentinel_reply(const Outcome& outcome) = 0;
  virtual void on_sentinel_message(std::string_view) {}
  /// There is no connection, or none any more. To be answered with dial(), soon or later, or with nothing.
  virtual void on_sentinel_gone(const Failure& why) = 0;

 protected:
  ~SentinelEvents() = default;
};

class Sentinel final : public ConnectionEvents {
 public:
  /// `config`, which has sentinels, `resolver`, `network` and `events` must outlive it.
  Sentinel(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
           Connection::For what, Dialer::Found found, SentinelEvents& events);

  /// Begins to connect to that one, in the next iteration of the loop; what was there before is dropped.
  void dial(std::size_t number);
  void send(std::string command) { connection_->send({.command = std::move(command)}); }
  /// Drops the connection without an event. May be called from within one.
  void close();
  std::size_t number() const { return number_; }
  /// The error reply by which INFO was refused; empty: it was not refused. Once connected.
  const std::string& no_info() const { return connection_->greeting().no_info(); }
  /// For notices: "sentinel host:port".
  std::string name() const;

 private:
  void on_ready() override { events_.on_sentinel(); }
  void on_reply(Call, const Outcome& outcome) override { events_.on_sentinel_reply(outcome); }
  void on_message(std::string_view payload) override { events_.on_sentinel_message(payload); }
  void on_ended(const Failure& why, std::deque<Call>) override {
    if (!closed_) events_.on_sentinel_gone(why);
  }
  void dial_now();

  loop::Loop& loop_;
  loop::Resolver& resolver_;
  Network& network_;
  const RedisConfig& config_;
  const RedisConfig as_sentinel_;  // the user and password with which it logs in to sentinels
  const Connection::For for_;
  Dialer::Found found_;
  SentinelEvents& events_;
  std::size_t number_ = 0;
  bool closed_ = false;
  loop::Timer next_;                        // nothing may be destroyed in its own events
  std::unique_ptr<Dialer> dialer_;          // the one that is done stays until the next is made
  std::unique_ptr<Connection> connection_;  // likewise
};

}  // namespace penstock::redis
