// SPDX-License-Identifier: Apache-2.0
// Redis as the process sees it: up or down. Calls scripts over one connection, remade whenever it is lost, and receives
// messages over another. It is also the circuit breaker: the first failure takes it down, and while down a call fails
// at once. It is up again when a new connection is authenticated, has loaded all scripts and passed the self-test. What
// Redis refuses to our user is reported, with the ACL rules that would grant it. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loop/loop.h"
#include "loop/resolver.h"
#include "penstock/config.h"
#include "penstock/event.h"
#include "penstock/snapshot.h"
#include "redis/client/mailbox.h"
#include "redis/client/master_watches.h"
#include "redis/client/outage_notices.h"
#include "redis/client/rights.h"
#include "redis/client/self_test_pace.h"
#include "redis/client/session.h"

namespace penstock::redis {

/// The channel of all processes, and the channel of the process that is named `process`.
inline constexpr std::string_view kAllProcesses = "all";
std::string channel_of(const RedisConfig& config, std::string_view process);

/// Called from the loop, never from inside a call into Redis.
class RedisEvents {
 public:
  /// These belong to Redis: addresses that its host name led to, one of which is dialled next, or what its sentinels
  /// know of.
  virtual void on_found(const std::vector<Endpoint>& there) = 0;
  virtual void on_up() = 0;
  /// Called before the calls under way are told of their failure.
  virtual void on_down() = 0;
  virtual void on_message(std::string_view payload) = 0;
  /// True: messages arrive from now on. False: messages published until the next true are lost.
  virtual void on_subscribed(bool subscribed) = 0;
  /// Whether our user may publish and receive the messages by which processes talk to each other.
  virtual void on_messages(bool come) = 0;
  virtual void on_round_trip(std::int64_t microseconds) = 0;
  virtual void on_failure(FailureKind kind) = 0;
  /// Of a cluster: some keys may be on other nodes than before.
  virtual void on_moved() {}

 protected:
  ~RedisEvents() = default;
};

class Redis;

/// The cluster that a Redis is a node of.
class Neighbours {
 public:
  /// A hash tag whose slot that node has; empty: it has none, as far as known.
  virtual std::string find_hash_tag(const Redis& node) = 0;
  /// A call has failed at a node, which may be because another node has its key. True: that one answers it. False: the
  /// call has failed, and `why` may have become another.
  virtual bool redirect(const Redis& by, Call& call, Failure& why) = 0;

 protected:
  ~Neighbours() = default;
};

struct Counts {
  std::uint64_t calls = 0;  ///< round trips
  std::array<std::uint64_t, kFailureLabels.size()> errors{};
  void add(const Counts& more) {
    calls += more.calls;
    for (std::size_t i = 0; i < errors.size(); ++i) errors[i] += more.errors[i];
  }
  std::uint64_t of(FailureKind kind) const { return errors[static_cast<std::size_t>(kind)]; }
};

class Redis final : SessionEvents, MailboxEvents, MasterWatchEvents {
 public:
  /// Connects from the next iteration of the loop on. `config`, `resolver`, `network`, the texts of `scripts` and
  /// `events` must outlive it. `process` is this process's name. With `neighbours`, which must outlive it, it is a node
  /// of a cluster, and receives no messages before set_listens().
  Redis(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
        std::span<const std::string_view> scripts, std::string_view process, RedisEvents& events, NoticeSink notices,
        Neighbours* neighbours = nullptr);
  ~Redis();  ///< calls under way are never answered
  Redis(const Redis&) = delete;
  Redis& operator=(const Redis&) = delete;

  /// Calls the script with that index. `done` is called once, later: within the configured time-out, or twice that if
  /// Redis has forgotten the script. False: Redis is down, and `done` will not be called. A call that failed may have
  /// been executed.
  bool call(std::size_t script, std::span<const std::string_view> keys, std::span<const std::string_view> arguments,
            Call::Done done);
  /// Agrees on one text for all processes: sets the key to `text` if it does not exist, and answers with its value.
  /// `done` as above, except that it is not called if the connection ends first.
  bool agree(std::string_view key, std::string_view text, Call::Done done);
  /// Publishes to the mailbox of every process, including this one. May be lost.
  void publish_to_all(std::string_view payload);
  bool up() const { return up_; }
  const RedisConfig& config() const { return config_; }
  /// Id of the server while it is up; empty: the server does not tell one. Another id means another memory.
  std::string_view server_id() const { return up_ ? session_.greeting().server_id() : std::string_view(); }
  /// Where it was dialled last.
  const Place& place() const { return session_.place(); }
  bool subscribed() const { return mailbox_.subscribed(); }
  /// Whether our user may publish and receive messages, as far as known: both are taken as allowed until a self-test or
  /// SUBSCRIBE is refused.
  bool messages_come() const { return rights_.messages_come(); }
  /// What our user lacks, as ACL rules, by the last test.
  /// Those of sentinels begin with kOfSentinels.
  std::vector<std::string> lacks() const;
  /// To be called each second: finds out whether rights have changed.
  void tick(bool in_use);
  const Counts& counts() const { return counts_; }
  /// The Redis that is spoken to, as far as it is known which, and its sentinels.
  std::vector<RedisNodeSnapshot> nodes() const;

  // Of a node of a cluster.
  /// Takes a call that another node has sent here with ASK.
  void forward(Call call);
  /// Whether this one's second connection receives messages.
  void set_listens(bool listens);
  /// Ends for good; an outage that was reported ends with it. Calls under way fail.
  void retire();

 private:
  void on_found(const std::vector<Endpoint>& there) override { events_.on_found(there); }
  void on_ready() override;
  void on_reply(Call call, const Outcome& outcome) override;
  void on_message(std::string_view payload) override { events_.on_message(payload); }
  void on_ended(const Failure& why, std::deque<Call> unanswered) override;
  void on_subscribed(bool subscribed) override;
  void on_subscribe_failed(const Failure& why) override;
  void on_master(const Place& place, std::size_t sentinel, std::optional<std::int64_t> epoch) override;
  void on_sentinel_refusals() override { tell_news(); }

  void load(std::size_t script);
  void test();
  void tested(const Outcome& outcome, Refusals found, bool has_slots);
  void give_up(const Refusals& found);
  void tell_news();
  void come_up();
  void send(Call call);
  void count(FailureKind kind);
  bool repeat(Call& call, const Outcome& outcome);
  void failed(Call call, Failure why);

  loop::Loop& loop_;
  const RedisConfig& config_;
  const std::span<const std::string_view> scripts_;
  RedisEvents& events_;
  OutageNotices notices_;

  Neighbours* const neighbours_;  // null: it is no node of a cluster

  std::vector<std::string> digests_;  // by which the scripts are called
  bool up_ = false;
  bool listens_;  // messages are to come over mailbox_
  bool retired_ = false;
  Counts counts_;
  SelfTestPace self_test_;
  Rights rights_;
  Mailbox mailbox_;
  Session session_;
  std::int64_t epoch_ = -1;  // the latest that a sentinel told
  MasterWatches master_watches_;
};

}  // namespace penstock::redis
