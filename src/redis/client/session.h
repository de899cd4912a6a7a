// SPDX-License-Identifier: Apache-2.0
// A connection to Redis that is made again whenever it has ended: dials, greets, and after an end dials again, ever
// later while no connection works.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <utility>

#include "loop/loop.h"
#include "loop/resolver.h"
#include "penstock/config.h"
#include "redis/wire/backoff.h"
#include "redis/wire/connection.h"
#include "redis/wire/dialer.h"
#include "redis/wire/master_finder.h"
#include "redis/wire/network.h"

namespace penstock::redis {

/// Called from the loop, or from Session::end(). on_ended() is also called if no connection came about; it is to call
/// dial_later().
class SessionEvents : public ConnectionEvents {
 public:
  /// The host name, or a sentinel, led to these addresses, one of which is dialled next.
  virtual void on_found(const std::vector<Endpoint>& there) = 0;

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
  /// As dial(), but from now on only there, wherever sentinels say that the master is.
  void dial_only(Place place);
  void dial_later();
  /// The connection works: if it ends after a while, the next one follows soon.
  void works();
  /// That sentinel says that the master is there now. A connection to another Redis is ended, and the sentinel is the
  /// first to be asked from now on.
  void master_is(const Place& place, std::size_t sentinel);
  /// Drops the connection, without an event. Not from inside an event of this session.
  void close();

  /// To be called once ready. After the end it does nothing.
  void send(Call call) { connection_->send(std::move(call)); }
  void end(const Failure& why) {
    if (connection_) connection_->end(why);
  }
  bool ended() const { return connection_->ended(); }
  /// Where it was dialled last; the host is empty before.
  const Place& place() const { return place_; }
  const Greeting& greeting() const { return connection_->greeting(); }

 private:
  void dial_at(const Place& place);
  Failure not_reached(Failure why) const;
  void dialled(std::expected<std::unique_ptr<loop::Stream>, Failure> outcome, std::int64_t ready_until);

  loop::Loop& loop_;
  loop::Resolver& resolver_;
  Network& network_;
  const RedisConfig& config_;
  const Connection::For for_;
  SessionEvents& events_;
  std::size_t attempt_ = 0;
  Place place_;                             // dialled last
  Place last_connected_;                    // the last one that a stream was connected to
  std::optional<Place> fixed_place_;        // the only one to dial; nothing: the configuration tells, or a sentinel
  std::optional<Place> new_master_;         // where a sentinel said, during the present attempt, that the master is
  std::size_t first_sentinel_ = 0;          // to be asked first
  bool keep_first_sentinel_ = false;        // when the next attempt begins, too
  std::unique_ptr<MasterFinder> finder_;    // the one that is done stays until the next is made
  std::unique_ptr<Dialer> dialer_;          // the one that is done stays until the next is made
  std::unique_ptr<Connection> connection_;  // likewise the one that has ended
  Backoff backoff_;
};

}  // namespace penstock::redis
