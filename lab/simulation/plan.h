// SPDX-License-Identifier: Apache-2.0
// All that a run of the simulation consists of: limits, processes, their demand, and what goes wrong when. A seed draws
// a plan; the same plan always gives the same run. Times are microseconds of virtual time from the run's begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flow/scheduler.h"
#include "penstock/config.h"
#include "penstock/limits.h"

namespace penstock::simulation {

using flow::Time;

inline constexpr Time kMillisecond = 1'000, kSecond = 1'000'000, kMinute = 60 * kSecond, kHour = 60 * kMinute,
                      kDay = 24 * kHour;

inline constexpr Time kNever = std::numeric_limits<Time>::max();

/// What the clients of one process want of the upstream.
struct Demand {
  int clients = 0;    ///< a closed loop: each asks again as soon as it is served, or `think` later; 0: an open loop
  Time think = 0;     ///< time of a client between two requests: the mean, exponential
  double rate = 0;    ///< arrivals a second of an open loop
  bool even = false;  ///< arrivals come evenly; otherwise at random (Poisson)
  int spike = 0;      ///< so many more arrive at once, at `spike_at`
  Time spike_at = 0;
  Time spike_every = 0;      ///< and again after each such time; 0: once
  Time from = 0;             ///< no request comes before
  Time until = 0;            ///< none comes from then on; 0: the end of the run
  int groups = 0;            ///< 0: requests have no group
  double zipf = 0;           ///< the n-th group has 1/n^zipf of the requests
  double routed = 0;         ///< fraction of the requests that are of the route kRoute
  std::vector<int> weights;  ///< of a request, each equally likely; empty: 1
  /// What a request costs is between these, and is known when it lands; 0: 1.
  int least_cost = 0, most_cost = 0;
  int estimate = 0;             ///< reserved for each request; 0: what it will cost
  Time flight = kMillisecond;   ///< the mean duration
  bool flight_varies = false;   ///< exponentially
  double leaves = 0;            ///< fraction of the requests whose client gives up
  Time leaves_after = kSecond;  ///< the mean time until it gives up, exponential
  Time max_wait = 0;            ///< Penstock-Max-Wait; 0: none
  int cold = 0;                 ///< so many requests that take off first leave kOpening late: connections are opened
};

/// How long a connection and its TLS take, at least and at most.
inline constexpr Time kOpening[] = {60 * kMillisecond, 300 * kMillisecond};

/// The route of some requests, where the plan has limits of it.
inline constexpr std::string_view kRoute = "search";

struct Member {
  Time joins = 0;
  Time ends = 0;          ///< it is told to stop, and drains; 0: it stays
  Time round_trip = 200;  ///< to Redis, the mean
  double jitter = 0.1;    ///< each direction differs by up to this fraction of it
  double drift_ppm = 0;   ///< drift of its clock against the world's
  Time wall_ahead = 0;    ///< how far its time of day is ahead of Redis' at the begin
  Time reloads = 0;       ///< from then on it uses the plan's limits, before that `former`; 0: always the plan's
  std::vector<LimitConfig> former;
  flow::Settings settings;  ///< slots and queue
  Demand demand;
};

struct Fault {
  enum class Kind : std::uint8_t {
    redis_stops,         ///< comes back after `lasts`, with its memory
    redis_loses_memory,  ///< likewise, but empty
    redis_goes_back,     ///< likewise, with its state of `back` earlier: an old snapshot, a replica without the tail
    redis_flushed,       ///< FLUSHALL
    scripts_flushed,     ///< SCRIPT FLUSH
    redis_stalls,        ///< answers nothing for `lasts`, then everything
    clients_killed,      ///< all connections are reset
    connection_lost,     ///< of one process: both its connections are reset
    mailbox_lost,        ///< of one process: the connection for messages is reset
    cut_off,             ///< one process reaches nothing for `lasts`: bytes are held, new connections time out
    frozen,              ///< one process does not run for `lasts`
    killed,              ///< one process ends without a word
    clock_steps,         ///< Redis' clock is set by `step`
    out_of_memory,       ///< Redis refuses to write for `lasts`
    read_only,           ///< likewise, as a replica does
    denied,              ///< one command is refused for `lasts`, or to the end (0)
    key_erased,          ///< one key is erased
    commands_lost,       ///< of one process: the connection for calls is reset
    reply_torn,          ///< the next reply to one process within `lasts` is cut in half, and its connection is reset
    messages_late,       ///< messages to one process are up to 200 ms late, for `lasts`
    messages_twice,      ///< messages to one process come twice, the second time later, for `lasts`
    messages_lost,       ///< messages to one process are lost, for `lasts`
    id_changes,          ///< all connections are reset, and lead to a server with another id and the same memory
    script_fails,        ///< the next script fails in the middle
    paused,              ///< the upstream answers one process 429 with Retry-After `lasts`
    publishes_lost,      ///< for `lasts`, published messages reach no client
    key_foreign,         ///< for `lasts`, a foreign value stands under one key
    // Of a cluster.
    slot_moves,       ///< the upstream's slot moves to another node, key by key, within `lasts`
    node_fails_over,  ///< the node goes; after `lasts` its replica takes over, with its state of `back` before
    node_taken_over,  ///< the replica takes over at once, with its state of `back` earlier; the node hears of it after
                      ///< `lasts`, and answers until then
    node_outlived,    ///< the node stalls for `lasts`, and meanwhile the replica takes over
    cluster_down,     ///< for `lasts`, no node answers for any key
    elsewhere,        ///< something happened at a node that has not the upstream's slot
  };
  Kind kind{};
  Time at = 0;
  Time lasts = 0;
  int member = -1;         ///< the process concerned; -1: all
  Time back = 0;           ///< of redis_goes_back: how far back
  Time step = 0;           ///< of clock_steps
  std::string command;     ///< of denied
  std::string key;         ///< erased or foreign: the part after "<prefix>:{<upstream>}"
  bool elsewhere = false;  ///< of a cluster: at a node that has not the upstream's slot
};

inline constexpr int kFaultKinds = static_cast<int>(Fault::Kind::elsewhere) + 1;

/// A replica takes over, of a node of a cluster or of the only master.
inline bool is_of_replica(Fault::Kind kind) {
  return kind == Fault::Kind::node_fails_over || kind == Fault::Kind::node_taken_over ||
         kind == Fault::Kind::node_outlived;
}

/// "Redis stops", "cut off", …
std::string_view name_of(Fault::Kind kind);

/// An upstream that refuses, from then on, what comes beyond so many requests in a second.
struct HiddenLimit {
  Time from = 0;
  int a_second = 0;
};

/// An upstream that refuses all that comes before a moment, and what a process does about that.
struct Refusing {
  Time until = 0;
  int status = 429;
  Time pause = kSecond;  ///< its Retry-After, in whole seconds; 0: it names no time
  RetryConfig retry;
  bool keeps_bodies = true;  ///< false: they are too large
  std::string method = "GET";
};

/// An upstream that publishes its quota with every answer, of which others take their part beside our processes.
struct Quota {
  int units = 0;        ///< 0: there is none
  Time interval = 0;    ///< of its windows
  Time offset = 0;      ///< of their beginnings, from 1970 on
  int strangers = 0;    ///< units of each window that they ask for, at random times
  Time within = 0;      ///< so long after its beginning; 0: in all of it
  bool learned = true;  ///< the limit that has a window learns of it
};

struct Plan {
  std::uint64_t seed = 0;
  std::string regime;  ///< the name of the regime that draws it
  std::vector<LimitConfig> limits;
  WhenDown when_down = WhenDown::share;
  int masters = 0;  ///< Redis is a cluster of so many nodes, each with a replica; 0: it is one server
  Duration redis_timeout = std::chrono::milliseconds(50);
  int processes = 0;  ///< `redis.processes`
  std::vector<Member> members;
  std::vector<Fault> faults;
  std::vector<HiddenLimit> hidden;   ///< in order of time; empty: it has none
  std::optional<Refusing> refusing;  ///< nothing: it serves all that keeps to its hidden limit
  Quota quota;
  std::vector<Time> looks;  ///< when each process says when the last of its requests leaves that wait then
  Time foretells = kNever;  ///< from then on each request is told on arrival when it will leave
  Time foretells_until = kNever;
  Time length = 0;

  bool grouped() const;
  bool may_refuse() const { return !hidden.empty() || refusing || quota.units > 0; }
  /// A text for people who replay it.
  std::string text() const;
};

}  // namespace penstock::simulation
