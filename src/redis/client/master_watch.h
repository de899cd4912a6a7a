// SPDX-License-Identifier: Apache-2.0
// Asks one sentinel where the master is, and subscribes to changes of it: the old master may still answer, and what it
// grants is not known at the new one. Learns, too, which replicas and other sentinels there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "loop/timer.h"
#include "redis/wire/backoff.h"
#include "redis/wire/self_test.h"
#include "redis/wire/sentinel.h"

namespace penstock::redis {

/// Called from the loop.
class MasterWatchEvents {
 public:
  /// That sentinel says that the master is there; also where it is no news. `epoch` counts the masters that there were
  /// so far; nullopt: it has become the master just now.
  virtual void on_master(const Place& place, std::size_t sentinel, std::optional<std::int64_t> epoch) = 0;
  /// Our sentinel, or a Redis or sentinel that it knows, is at one of these.
  virtual void on_found(const std::vector<Endpoint>& there) = 0;
  /// MasterWatch::refused() or take_login_failure() of one has changed.
  virtual void on_sentinel_refusals() = 0;

 protected:
  ~MasterWatchEvents() = default;
};

class MasterWatch final : SentinelEvents {
 public:
  /// `config`, which has sentinels, `resolver`, `network` and `events` must outlive it. Begins to connect at once.
  MasterWatch(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
              std::size_t sentinel, MasterWatchEvents& events);
  MasterWatch(const MasterWatch&) = delete;
  MasterWatch& operator=(const MasterWatch&) = delete;

  /// The sentinel reports each new master from now on.
  bool subscribed() const { return awaited_ == Request::keepalive; }
  /// Of the sentinel: "host:port".
  std::string place() const;
  /// What the sentinel refuses to our user, as far as it was asked.
  const Refusals& refused() const { return refused_; }
  /// Text for a notice: why the sentinel does not let us in; empty: it does, or this was taken before.
  std::string take_login_failure() { return std::exchange(login_failure_.unreported, {}); }

 private:
  /// What is sent over one connection, in this order; replies come in the same order. Afterwards a ping now and then.
  enum class Request : std::uint8_t {
    master_address,
    master,
    replicas,
    sentinels,
    ping,  // finds out whether PING is allowed
    subscribe_masters,
    subscribe_replicas,
    subscribe_sentinels,
    keepalive
  };

  void on_sentinel() override;
  void on_sentinel_reply(const Outcome& outcome) override;
  void on_sentinel_message(std::string_view payload) override;
  void on_sentinel_gone(const Failure& why) override;
  void succeeded(Request request, const Reply& reply);
  void failed(Request request, std::string_view error_reply);
  void all_answered();
  void report_nodes(const Reply& nodes);
  void report_master(const Endpoint& there, std::optional<std::int64_t> epoch);
  void report_refusals();
  void dial_later();

  loop::Loop& loop_;
  const RedisConfig& config_;
  MasterWatchEvents& events_;
  Request awaited_ = Request::master_address;  // its reply comes next
  Endpoint master_;                            // by the reply to master_address
  Refusals refused_;                           // by the last connection on which all requests were answered
  Refusals refused_here_;                      // by this connection so far
  bool subscribe_failed_ = false;              // on this connection
  int pings_ = 0;                              // sent on this connection since all_answered()
  struct {
    std::string last, unreported;
  } login_failure_;
  Sentinel sentinel_;
  Backoff backoff_;
  loop::Timer pinging_;  // a sentinel that hangs says nothing, as one does that has nothing to say
};

/// Text for a notice: what works less well while sentinels refuse these ACL rules; begins with ". Until then ".
std::string costs_of_sentinels(const std::vector<std::string>& missing);

}  // namespace penstock::redis
