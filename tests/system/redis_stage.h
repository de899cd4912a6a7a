// SPDX-License-Identifier: Apache-2.0
// The stage for limits that are shared: a real redis-server, one origin that notes when requests arrive, daemons that
// all have the same upstream `api`, a relay that loses
// replies, holds or resets connections, and clients without end.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/redis_server.h"
#include "system/stage.h"

namespace penstock::trial {

/// From which the scripts count microseconds.
inline constexpr std::chrono::sys_seconds k2025{std::chrono::sys_days{std::chrono::year{2025} / 1 / 1}};

/// Whether it holds all the time.
bool throughout(Clock::duration time, const std::function<bool()>& condition);

struct Shared {
  std::string limits = "pacer: { qps: 1000 }";  ///< the first without its `- `, more on lines of their own
  std::string when_down = "share";
  std::string timeout = "3s";  ///< of redis; generous, where it is not the test's subject
  std::string upstream{};      ///< more keys of the upstream, each on a line of its own
  std::string redis{};         ///< more keys of redis: ", prefix: other"
  std::uint16_t port = 0;      ///< of Redis; 0: the server's own
  std::string login{};         ///< of Redis' URL, with its `@`
  int clock = 0;               ///< by how many seconds a daemon's system clock is wrong
};

/// The keys of a daemon's file, with Redis at this port.
std::string yaml_of(const Shared& shared, std::uint16_t port);

/// When requests arrived, in order, as the origin's clock says.
class Arrivals {
 public:
  using Time = std::chrono::system_clock::time_point;
  struct Arrival {
    Time at;
    /// For a core, since the arrival before, by the thread that noted this one and by all threads of programs that are
    /// watched: what was due then may have been held up so long.
    Clock::duration waited;
  };
  /// It has all its threads, and outlives the arrivals.
  void watch(pid_t program);
  /// One arrives now; which is given back, too.
  Arrival note();
  std::vector<Arrival> all() const;
  std::vector<Time> times() const;
  /// The sum over all that arrived after `from` and by `to`.
  Clock::duration waited(Moment from, Moment to) const;
  std::size_t count() const { return all().size(); }
  bool await(std::size_t count) const;

 private:
  mutable std::mutex mutex_;
  std::vector<Arrival> all_;
  std::map<std::string, Clock::duration> watched_;  // threads, and for how long each had waited
};

/// The most arrivals in any stretch of that length, where the machine may have let the first of a stretch arrive late,
/// and so nearer to the last: the stretch counts as longer by that.
std::size_t fullest_in_time(const Arrivals& arrivals, Clock::duration length);
/// How many fell into each stretch that begins at a multiple of `length` since 1970; none is left out.
std::vector<std::size_t> per_window(const std::vector<Arrivals::Time>& times, Clock::duration length);
class Relay;

struct SharedStage {
  explicit SharedStage(Shared given, std::vector<std::string> options = {});
  ~SharedStage();

  /// Another daemon, by this configuration or a changed one. With `await_redis` it has come to know Redis, and
  /// hears what other processes tell.
  Daemon& add(bool await_redis = true) { return add(shared, await_redis); }
  Daemon& add(const Shared& changed, bool await_redis = true);
  /// One that has Redis behind a relay.
  Daemon& add(const Relay& relay);
  std::vector<std::uint16_t> ports() const;

  /// One GET over a connection of its own.
  Reply fetch(const Daemon& by, std::string_view path = "/", std::string_view lines = "") const;
  /// The text under a key of the upstream; empty: none.
  std::string value(std::string_view key);
  /// All daemons are at work, and each has come to know how many they are.
  void expect_acquainted();
  std::string key(std::string_view key) const { return "penstock:{api}:" + std::string(key); }

  const Shared shared;
  test::RedisServer redis;
  Origin origin;
  Arrivals arrivals;  ///< of whatever has no script of its own
  std::deque<Daemon> daemons;

 private:
  std::int64_t newest_listener();
};

/// How soon limits are shared again, where the machine itself is in time.
inline const Clock::duration kRecovered = 1s + (is_sanitized() ? 1s : 0s);

/// Redis is up again and so are the limits, soon after `since`.
void expect_back(const Daemon& daemon, Moment since);
/// In its diagnostics, sooner or later.
bool comes_to_say(const Daemon& daemon, const std::string& words);
bool is_up(const Daemon& daemon);
bool is_degraded(const Daemon& daemon);
double errors(const Daemon& daemon, std::string_view kind);
/// Waits until it has called Redis once more, as it does every second, and all its calls are answered: what it had to
/// tell has been told, and the next call comes in a second.
bool has_told_redis(const Daemon& daemon);
std::size_t lines_with(const std::string& text, std::string_view words);

/// The words of a rule that docs/limits.md prints, the first for Redis, the second for sentinels.
std::vector<std::string> acl_rule_of_the_docs(std::size_t nth);
/// What is in its ACL LOG: the commands, keys and channels that were refused.
std::set<std::string> refused_by(test::RedisServer& redis);

/// Clients that ask again as soon as they are answered.
class Load {
 public:
  Load(const std::vector<std::uint16_t>& ports, std::string url, int clients_each = 4);
  ~Load() { stop(); }
  Load(const Load&) = delete;

  struct Answers {
    std::map<std::string, int> by_words;  ///< status and reason; of a refusal that says why
    Clock::duration longest{};            ///< wait for an answer, less what the machine was late by meanwhile
  };
  Answers stop();

 private:
  void work(std::uint16_t port, const std::string& url);

  std::atomic<bool> stopping_ = false;
  std::mutex mutex_;
  Answers answers_;
  std::vector<std::thread> threads_;
};

/// There were some, and each was a 200.
void expect_only_successes(const Load::Answers& answers);

/// Between the daemons and Redis: passes on, or loses replies.
class Relay {
 public:
  /// Hears what comes from Redis over one connection.
  using Ear = std::function<void(std::string_view)>;
  explicit Relay(std::uint16_t target = 0, std::function<Ear()> new_ear = {});
  ~Relay();
  Relay(const Relay&) = delete;

  std::uint16_t port() const { return port_; }
  /// New connections go there: for a target that has to know the relay's port first.
  void lead_to(std::uint16_t target) { target_ = target; }
  /// Everything again, and what was held first.
  void pass();
  /// What is asked reaches Redis; instead of its next reply the connection ends, and so does each new one.
  void lose_replies() { loses_ = true; }
  /// Nothing passes in either direction, over no connection, old or new, and none ends. Spared are those over which
  /// these words were said first, unless they are empty.
  void hold(std::string spared = "");
  /// The same of those connections alone that begin with these words, within the first hundred bytes.
  void hold_those_of(std::string words);
  /// Each reply comes so much later.
  void slow_down(Clock::duration by) { slow_ = by; }
  /// Ends all connections by a RST.
  void reset();

 private:
  struct Link {
    Socket near, far;
    Ear ear;
    std::string first{};  ///< what was asked first
    std::thread asks, replies;
  };
  void accept();
  bool may_pass(const Link& link);
  bool is_held(const Link& link) const;
  void carry_asks(Link& link);
  void carry_replies(Link& link);

  std::atomic<std::uint16_t> target_;
  const std::function<Ear()> new_ear_;
  std::uint16_t port_ = 0;
  Socket listener_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Link> links_;
  bool stopping_ = false, holds_ = false;
  std::string spared_, held_;  // words; empty: none
  std::atomic<bool> loses_ = false;
  std::atomic<Clock::duration> slow_ = Clock::duration{};
  std::thread acceptor_;
};

}  // namespace penstock::trial
