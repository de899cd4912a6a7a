// SPDX-License-Identifier: Apache-2.0
// Redis, as the process sees it: up or down. Calls scripts over one connection, made again whenever it is lost, and
// hears messages over another. It is the breaker as well: the first failure takes it down, and it is up again when a
// new connection has been let in, has all scripts, and could call each command that they call; while down a call fails
// at once. What Redis refuses to our user is told, with what would grant it. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loop/loop.h"
#include "loop/resolver.h"
#include "penstock/config.h"
#include "penstock/event.h"
#include "redis/client/mailbox.h"
#include "redis/wire/backoff.h"
#include "redis/wire/connection.h"
#include "redis/wire/self_test.h"

namespace penstock::redis {

/// Messages for one process are published on the channel that is called after it, and those for every process on this
/// one's.
inline constexpr std::string_view kAllProcesses = "all";
std::string channel_of(const RedisConfig& config, std::string_view who);

/// Called from the loop, never from inside a call into Redis.
class RedisEvents {
 public:
  /// Where Redis has a name: one of these is dialled next, by any connection.
  virtual void on_found(const loop::Addresses& addresses) = 0;
  virtual void on_up() = 0;
  /// Before the calls under way are told of their failure.
  virtual void on_down() = 0;
  virtual void on_message(std::string_view payload) = 0;
  /// Messages come from now on, or they do not: what is published until they come again is lost.
  virtual void on_hears(bool hears) = 0;
  /// What processes tell each other is published and heard, or our user may not do so any more.
  virtual void on_messages(bool come) = 0;
  virtual void on_round_trip(std::int64_t microseconds) = 0;
  virtual void on_failure(FailureKind kind) = 0;

 protected:
  ~RedisEvents() = default;
};

struct Counts {
  std::uint64_t calls = 0;  ///< round trips asked for
  std::array<std::uint64_t, kFailureLabels.size()> errors{};
  std::uint64_t of(FailureKind kind) const { return errors[static_cast<std::size_t>(kind)]; }
};

class Redis final : ConnectionEvents {
 public:
  /// Connects from the loop's next turn on. `config`, `resolver`, `network`, the texts of `scripts` and `events` must
  /// outlive it.
  Redis(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
        std::span<const std::string_view> scripts, std::string_view who, RedisEvents& events, NoticeSink notices);
  ~Redis();  ///< calls under way are never answered
  Redis(const Redis&) = delete;
  Redis& operator=(const Redis&) = delete;

  /// The n-th of the scripts. `done` is called once, later: within the configured time-out, or twice that where Redis
  /// has forgotten the script. False: Redis is down, and `done` is not called. A call that failed may have been
  /// executed.
  bool call(std::size_t script, std::span<const std::string_view> keys, std::span<const std::string_view> arguments,
            Call::Done done);
  /// The text under that key, which becomes `text` where there is none: so all processes have one. `done` as above.
  bool agree(std::string_view key, std::string_view text, Call::Done done);
  /// To the mailbox of every process, this one's too. May be lost.
  void publish_to_all(std::string_view payload);
  bool up() const { return up_; }
  /// Of the server, while it is up; empty: it does not say. Another id is another memory.
  std::string_view server_id() const { return up_ ? connection_->server_id() : std::string_view(); }
  bool hears() const { return mailbox_.hears(); }
  /// Our user may tell others and hear them, as far as known: who may do the one may do the other, until SUBSCRIBE is
  /// refused.
  bool messages_come() const { return subscribed_.value_or(true) && !refused_.stop_messages(); }
  /// What our user lacks, in the words of an ACL, as it was when it was last tried.
  std::vector<std::string> lacks() const { return all_refused().missing(config_); }
  /// Each second: what is granted may have changed.
  void tick(bool in_use);
  const Counts& counts() const { return counts_; }

 private:
  void on_found(const loop::Addresses& addresses) override { events_.on_found(addresses); }
  void on_ready() override;
  void on_reply(Call call, const Outcome& outcome) override;
  void on_message(std::string_view) override {}
  void on_ended(const Failure& why, std::deque<Call> unanswered) override;

  void dial();
  void load(std::size_t script);
  void test();
  void tested(const Outcome& outcome);
  void suspect(const Call& call, FailureKind kind);
  void give_up(const Refusals& found);
  void heard(bool hears);
  void unheard(const Failure& why);
  void messages_changed();
  Refusals all_refused() const;
  std::string_view text_of(std::size_t script) const;
  void come_up();
  void send(Call call);
  void count(FailureKind kind);
  bool repeat(Call& call, const Outcome& outcome);
  void tell_down(const Failure& why);
  void tell_up();
  void tell_refusals();

  loop::Loop& loop_;
  loop::Resolver& resolver_;
  Network& network_;
  const RedisConfig& config_;
  const std::span<const std::string_view> scripts_;
  RedisEvents& events_;
  const NoticeSink notices_;
  const std::string place_;

  std::vector<std::string> digests_;        // by which the scripts are called
  std::unique_ptr<Connection> connection_;  // stays, ended, until the next
  std::size_t attempt_ = 0;
  bool up_ = false;
  Counts counts_;
  std::optional<std::int64_t> down_since_;
  std::optional<std::int64_t> told_down_;
  bool told_up_ = true;  // since
  bool testing_ = false;
  std::int64_t tested_at_ = 0, suspected_at_;
  Refusals refused_, unheard_;        // over this connection, and over that for messages
  std::optional<bool> subscribed_;    // nothing: not tried yet
  bool told_that_they_come_ = false;  // messages
  Refusals told_refusals_;
  Mailbox mailbox_;
  Backoff backoff_;
};

}  // namespace penstock::redis
