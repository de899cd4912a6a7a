// SPDX-License-Identifier: Apache-2.0
// The state of a proxy at one moment: what /status prints and Proxy::snapshot() returns. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "penstock/duration.h"

namespace penstock {

/// How many requests have ended in each way since the upstream was created.
struct Totals {
  std::uint64_t dispatched = 0;
  std::uint64_t success = 0;
  std::uint64_t http_error = 0;
  std::uint64_t upstream_error = 0;
  std::uint64_t client_gone = 0;
  std::uint64_t client_gone_pending = 0;
  std::uint64_t refused = 0;
  std::uint64_t tunnels_past_limits = 0;  ///< tunnels dispatched while limits existed, which see no request in them
  std::uint64_t again_refused = 0;        ///< sendings after a refusal, beside `dispatched`
  std::uint64_t again_failed = 0;         ///< sendings after a failure, likewise
};

/// The results of TLS handshakes with clients of upstreams with `https: intercept`, since the start.
struct HandshakeTotals {
  std::uint64_t done = 0;
  std::uint64_t rejected = 0;  ///< the client rejected our certificate with an alert
  std::uint64_t left = 0;      ///< the client left after it saw our certificate, without an alert: a likely rejection
  std::uint64_t failed = 0;
  std::uint64_t timed_out = 0;  ///< by timeouts.header
  std::uint64_t bypassed = 0;   ///< became tunnels, by intercept.bypassOnPin or intercept.h2Only
};

/// A pause that an upstream asked for, in an answer to this process or to another that shares its limits.
struct PauseSnapshot {
  int status = 0;      ///< of that answer; 0: another process got it
  Duration left{0};    ///< until it is over
  bool of_all = true;  ///< false: only of a group, or of requests with the same credentials
};

struct UpstreamSnapshot {
  std::string name;       ///< the entry's name, `host:port` for one made from "*", or `*:others`
  std::size_t entry = 0;  ///< as in Event
  std::size_t pending = 0;
  std::size_t in_flight = 0;
  int max_concurrent = 0;
  std::size_t busy_tunnels = 0;     ///< tunnels in flight, with requests for an upgrade, which may become tunnels
  std::size_t resting_tunnels = 0;  ///< open without a slot
  int max_tunnels = 0;
  Duration oldest_wait{0};             ///< the longest wait among the requests pending now
  std::size_t pauses = 0;              ///< pauses it asked for that are not over: its own, and one for each group
  std::optional<PauseSnapshot> pause;  ///< the one that ends last
  bool unreachable = false;  ///< `breaker.failures` connections in a row failed, and none has come about since
  Duration next_try{0};      ///< while unreachable: until a request may try it; 0: one does, or the next one will
  Totals totals;
  HandshakeTotals handshakes;
};

struct RedisSnapshot {
  bool up = false;
  bool degraded = false;                                      ///< some or all limits are handled as `whenDown` says
  std::vector<std::string> refused;                           ///< rights that the Redis user lacks, in ACL syntax
  std::vector<std::string> limits_differ;                     ///< upstreams whose limits differ between processes
  std::uint64_t calls = 0;                                    ///< round trips requested since the start
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
  std::size_t connections = 0;    ///< clients connected, including tunnels
  std::size_t pending_bytes = 0;  ///< heads and bodies kept for pending requests
  std::vector<UpstreamSnapshot> upstreams;
  TunnelTotals tunnels;
  TurnedAway turned_away;
  std::uint64_t hints_dropped = 0;            ///< requests whose `Penstock-*` fields did not count (access.steering)
  std::uint64_t accept_pauses = 0;            ///< how often file descriptors ran short, and new connections had to wait
  std::optional<RedisSnapshot> redis;         ///< nullopt: Redis is not configured
  std::optional<ReloadSnapshot> reload;       ///< nullopt: no signal makes this process read a file again
  std::optional<std::int64_t> authority_end;  ///< when the authority of `intercept` expires, seconds since 1970
};

}  // namespace penstock
