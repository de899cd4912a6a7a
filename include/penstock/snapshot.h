// SPDX-License-Identifier: Apache-2.0
// The state of a proxy at one moment: what /status prints and Proxy::snapshot() returns. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "penstock/duration.h"
#include "penstock/limits.h"

namespace penstock {

/// How much of the state is asked for.
struct SnapshotExtent {
  std::size_t upstreams = std::numeric_limits<std::size_t>::max();  ///< at most so many, the busiest
  bool groups = true;  ///< which takes a walk along all groups of each upstream that has some
};

/// How many requests have ended in each way since the upstream was created.
struct Totals {
  std::uint64_t dispatched = 0;
  std::uint64_t success = 0;
  std::uint64_t http_error = 0;
  std::uint64_t upstream_error = 0;
  std::uint64_t client_gone = 0;
  std::uint64_t client_gone_pending = 0;
  std::uint64_t refused = 0;
  std::uint64_t tunnels = 0;              ///< of those dispatched
  std::uint64_t tunnels_past_limits = 0;  ///< tunnels dispatched while limits existed, which see no request in them
  std::uint64_t again_refused = 0;        ///< sendings after a refusal, beside `dispatched`
  std::uint64_t again_failed = 0;         ///< sendings after a failure, likewise
  bool operator==(const Totals&) const = default;
};

/// The results of TLS handshakes with clients of upstreams with `https: intercept`, since the start.
struct HandshakeTotals {
  std::uint64_t done = 0;
  std::uint64_t rejected = 0;  ///< the client rejected our certificate with an alert
  std::uint64_t left = 0;      ///< the client left after it saw our certificate, without an alert: a likely rejection
  std::uint64_t failed = 0;
  std::uint64_t timed_out = 0;  ///< by timeouts.header
  std::uint64_t bypassed = 0;   ///< became tunnels, by intercept.bypassOnPin or intercept.h2Only
  bool operator==(const HandshakeTotals&) const = default;
};

/// A pause that an upstream asked for, in an answer to this process or to another that shares its limits.
struct PauseSnapshot {
  int status = 0;        ///< of that answer; 0: another process got it
  Duration left{0};      ///< until it is over; 0: it is, and waits for a probe or for the answer to one
  bool of_all = true;    ///< false: only of a group, or of requests with the same credentials
  std::string group;     ///< of that group; empty: of all, or of requests with the same credentials
  bool probing = false;  ///< it is over, and a probe is under way, here or in another process
  bool operator==(const PauseSnapshot&) const = default;
};

/// How much of a limit is used. What processes share is as Redis had it at most 50 ms before.
struct LimitSnapshot {
  std::string name;
  std::string kind;  ///< its key in the configuration: `slidingWindow`
  /// What it was set to: `15/s`, `60/1m`, `3`. Empty: an adaptive limit, which learns that; the window beside a `rate`.
  std::string allows;
  std::string route;  ///< the one whose requests alone it governs, of which `name` has the name too; empty: all
  std::string unit;   ///< what it counts; empty: requests, by their weights
  LimitConfig::Mode mode = LimitConfig::Mode::delay;
  bool shared = false;  ///< through Redis, and Redis keeps it now
  bool known = true;    ///< false: Redis has not told yet, or does not answer; the figures below mean nothing
  /// Units that the next departures cannot have, and how many there are in all: of a window, sliding window or counter,
  /// of its length; of a token bucket, of its capacity; of a pacer, of its burst; of a semaphore, permits. An adaptive
  /// limit has none: 0 of 0.
  double used = 0, of = 0;
  std::optional<double> rate;         ///< of a pacer or an adaptive limit: units a second
  std::optional<Duration> opens_in;   ///< until it lets one more unit pass; nullopt: time alone opens nothing
  std::optional<Duration> resets_in;  ///< until its window or period ends, or its bucket is full; nullopt: has no such
  /// Departed in it from this process, since the upstream was created; of costs, what was reserved. Of a group's limit
  /// they are not counted: 0.
  std::uint64_t units = 0;
  std::uint64_t would_wait = 0;  ///< in shadow mode: how many requests it would have made wait; not of a group's limit
  bool operator==(const LimitSnapshot&) const = default;
};

/// A group of an upstream, with its own limits, those that are `per: group`.
struct GroupSnapshot {
  std::string name;
  std::size_t pending = 0;
  std::vector<LimitSnapshot> limits;
  bool operator==(const GroupSnapshot&) const = default;
};

/// The request that has waited longest, and the one that will leave last.
struct HeadSnapshot {
  std::string limited_by;             ///< what it waits for, as Event::limited_by
  Duration since{0};                  ///< how long it has waited
  std::optional<Duration> leaves_in;  ///< an estimate; nullopt: unknown (Redis is down, no pause end is known)
  std::optional<Duration> last_leaves_in;
  bool operator==(const HeadSnapshot&) const = default;
};

/// Of durations; exact to 4 %, `max` exactly.
struct Percentiles {
  std::uint64_t count = 0;
  Duration p50{0}, p95{0}, p99{0}, max{0};
  bool operator==(const Percentiles&) const = default;
};

/// What happened in the last 60 s.
struct LastMinute {
  std::uint64_t out = 0;           ///< requests sent for the first time
  double out_per_second = 0;       ///< the same, each second of the last 5 to 10
  std::uint64_t upstream_429 = 0;  ///< answers with 429 by the upstream, also those that the client never saw
  std::vector<std::pair<std::string, std::uint64_t>> refused;  ///< by Penstock, by kind
  std::vector<std::pair<int, std::uint64_t>> statuses;         ///< answers to clients, by status, ascending
  Percentiles wait, flight;
  bool operator==(const LastMinute&) const = default;
};

struct UpstreamSnapshot {
  std::string name;       ///< the entry's name, `host:port` for one made from "*", or `*:others`
  std::size_t entry = 0;  ///< as in Event
  /// On which it draws; empty: none. Otherwise settings of the queue, limits, pauses, `head`, `groups` and `degraded`
  /// are those of all upstreams that do; `pending`, `in_flight`, tunnels and `oldest_wait` are its own.
  std::string quota;
  std::size_t pending_in_quota = 0;  ///< of all upstreams that draw on it
  std::size_t pending = 0;
  std::size_t in_flight = 0;
  int max_concurrent = 0;
  std::size_t max_pending = 0;
  std::size_t busy_tunnels = 0;     ///< tunnels in flight, with requests for an upgrade, which may become tunnels
  std::size_t resting_tunnels = 0;  ///< open without a slot
  int max_tunnels = 0;
  Duration oldest_wait{0};             ///< the longest wait among the requests pending now
  std::size_t pauses = 0;              ///< pauses it asked for that are not over: its own, and one for each group
  std::optional<PauseSnapshot> pause;  ///< the one that ends last
  bool unreachable = false;  ///< `breaker.failures` connections in a row failed, and none has come about since
  Duration next_try{0};      ///< while unreachable: until a request may try it; 0: one does, or the next one will
  std::optional<HeadSnapshot> head;   ///< nullopt: nothing waits
  std::vector<LimitSnapshot> limits;  ///< of the whole upstream and its routes, in the order of the configuration
  std::vector<GroupSnapshot> groups;  ///< the twenty fullest: most pending, then most used
  LastMinute last_minute;
  /// Only tunnels have been dispatched to it: requests in them are not seen. False as long as none has been.
  bool tunnels_only = false;
  bool degraded = false;  ///< its limits, or one of them, go on without Redis, as `whenDown` says
  Totals totals;
  HandshakeTotals handshakes;
  bool operator==(const UpstreamSnapshot&) const = default;
};

/// One request that waits.
struct WaitingRequest {
  std::string id, method, host, path, group, user, client;  ///< as in Event
  Duration since{0};                                        ///< how long it has waited
  std::string limited_by;                                   ///< as in Event
  std::optional<Duration> leaves_in;                        ///< an estimate; nullopt: unknown
};

/// What is asked for of one upstream at a time, since it takes a walk along its queue.
struct UpstreamDetails {
  std::vector<WaitingRequest> waiting;                       ///< the twenty that wait longest
  std::vector<std::pair<std::string, std::size_t>> callers;  ///< the twenty with the most pending, by client
};

/// A server that shared limits depend on.
struct RedisNodeSnapshot {
  std::string name;  ///< `host:port`, or `unix:path`
  bool up = false;   ///< of a Sentinel: what it says is heard
};

struct RedisSnapshot {
  std::string name = "default";  ///< RedisConfig::name
  bool up = false;               ///< all of it that is needed answers
  int processes = 1;             ///< which share limits, this one among them, as it knows
  std::string kind = "single";   ///< what it is reached by: `single`, `sentinel`, `cluster`
  bool tls = false;
  std::string mode;  ///< how limits are kept now: `shared`, or what `whenDown` says: `share`, `wait`, `open`, `refuse`
  int share_of = 1;  ///< while limits are kept by shares: this process keeps one part of so many
  bool degraded = false;                   ///< some or all limits are handled as `whenDown` says
  std::vector<std::string> refused;        ///< rights that the Redis user lacks, in ACL syntax
  std::vector<std::string> limits_differ;  ///< upstreams whose limits differ between processes
  std::vector<RedisNodeSnapshot> nodes;    ///< the Redis spoken to, once it is known, and sentinels
  std::uint64_t calls = 0;                 ///< round trips requested since the start
  std::int64_t counters_led = 0;           ///< shared counters that this process resets, each group's by itself
  std::uint64_t counter_resets = 0;        ///< resets of shared counters by this process since the start
  std::vector<std::pair<std::string, std::uint64_t>> errors;  ///< errors since the start, by kind
};

struct TunnelTotals {
  std::size_t open = 0;         ///< now
  std::uint64_t bytes_in = 0;   ///< from upstreams, since the start
  std::uint64_t bytes_out = 0;  ///< to upstreams, likewise
};

/// Client connections closed because of a cap, since the start. Each was answered before, if there was time.
struct TurnedAway {
  std::uint64_t in_all = 0;     ///< by caps.connections
  std::uint64_t of_client = 0;  ///< by caps.connectionsPerClient
};

/// How a daemon read its file again. `penstock reload` goes by it.
struct ReloadSnapshot {
  int process = 0;                  ///< SIGHUP to it asks for a reload
  std::string file;                 ///< which is read
  std::uint64_t count = 0;          ///< reloads since the start
  std::vector<std::string> errors;  ///< of the last one, which changed nothing; empty: it is in force
};

struct Snapshot {
  bool draining = false;
  std::string config_hash;        ///< the first 12 hex digits of the SHA-256 of the settings in force, secrets left out
  std::int64_t loaded_at = 0;     ///< when they came into force, seconds since 1970
  std::size_t connections = 0;    ///< clients connected, including tunnels
  std::size_t pending_bytes = 0;  ///< heads and bodies kept for pending requests
  std::vector<UpstreamSnapshot> upstreams;
  std::size_t upstreams_left_out = 0;  ///< there are so many more, where the busiest alone were asked for
  TunnelTotals tunnels;
  TurnedAway turned_away;
  std::uint64_t hints_dropped = 0;            ///< requests whose `Penstock-*` fields did not count (access.steering)
  std::uint64_t accept_pauses = 0;            ///< how often file descriptors ran short, and new connections had to wait
  std::vector<RedisSnapshot> redis;           ///< in the order of the configuration
  std::optional<ReloadSnapshot> reload;       ///< nullopt: no signal makes this process read a file again
  std::optional<std::int64_t> authority_end;  ///< when the authority of `intercept` expires, seconds since 1970
  std::int64_t taken_at = 0;                  ///< when this was so: µs since 1970
};

}  // namespace penstock
