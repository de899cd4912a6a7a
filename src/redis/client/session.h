// SPDX-License-Identifier: Apache-2.0
// A connection to Redis that is made again whenever it has ended: dials, greets, and after an end dials again, ever
// later while no connection works.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <utility>

#include "loop/loop.h"
#include "loop/resolver.h"
#include "penstock/config.h"
#include "redis/wire/backoff.h"
#include "redis/wire/connection.h"
#include "redis/wire/dialer.h"
#include "redis/wire/network.h"

namespace penstock::redis {

/// Called from the loop, or from Session::end(). on_ended() is also called if no connection came about; it is to call
/// dial_later().
class SessionEvents : public ConnectionEvents {
 public:
  /// The host name led to these addresses, one of which is dialled next.
  virtual void on_found(const loop::Addresses& addresses) = 0;

 protected:
  ~SessionEvents() = default;
};

class Session {
 public:
  /// `config`, `resolver`, `network` and `events` must outlive it.
  Session(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config, Connection::For what,
          SessionEvents& events);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Begins to connect at once.
  void dial();
  void dial_later() { backoff_.later(); }
  /// The connection works: if it ends after a while, the next one follows soon.
  void works() { backoff_.succeeded(); }
  /// Drops the connection, without an event. Not from inside an event of this session.
  void close();

  /// To be called once ready. After the end it does nothing.
  void send(Call call) { connection_->send(std::move(call)); }
  void end(const Failure& why) { connection_->end(why); }
  bool ended() const { return connection_->ended(); }
  const Greeting& greeting() const { return connection_->greeting(); }

 private:
  void dialled(std::expected<std::unique_ptr<loop::Stream>, Failure> outcome, std::int64_t ready_until);

  loop::Loop& loop_;
  loop::Resolver& resolver_;
  Network& network_;
  const RedisConfig& config_;
  const Connection::For for_;
  SessionEvents& events_;
  std::size_t attempt_ = 0;
  std::unique_ptr<Dialer> dialer_;          // the one that is done stays until the next is made
  std::unique_ptr<Connection> connection_;  // likewise the one that has ended
  Backoff backoff_;
};

}  // namespace penstock::redis
