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

/// How many requests have ended in each way since the upstream came into being.
struct Totals {
  std::uint64_t dispatched = 0;
  std::uint64_t success = 0;
  std::uint64_t http_error = 0;
  std::uint64_t upstream_error = 0;
  std::uint64_t client_gone = 0;
  std::uint64_t client_gone_pending = 0;
  std::uint64_t refused = 0;
  std::uint64_t tunnels_past_limits = 0;  ///< dispatched while there were limits, which see no request in them
};

/// How TLS with clients went, where Penstock stands in for an upstream (`https: intercept`), since the start.
struct HandshakeTotals {
  std::uint64_t done = 0;
  std::uint64_t rejected = 0;  ///< the client did not take our certificate, and said so
  std::uint64_t left = 0;      ///< the client went when it had seen it, without a word: it may not take it either
  std::uint64_t failed = 0;
  std::uint64_t timed_out = 0;  ///< by timeouts.header
  std::uint64_t bypassed = 0;   ///< tunnels instead, by intercept.bypassOnPin or intercept.h2Only
};

struct UpstreamSnapshot {
  std::string name;       ///< the entry's name, `host:port` for one made after "*", or `*:others`
  std::size_t entry = 0;  ///< as in Event
  std::size_t pending = 0;
  std::size_t in_flight = 0;
  int max_concurrent = 0;
  std::size_t busy_tunnels = 0;     ///< of those in flight; a request that asks for another protocol may become one
  std::size_t resting_tunnels = 0;  ///< open without a slot
  int max_tunnels = 0;
  Duration oldest_wait{0};  ///< of the requests pending now
  std::size_t pauses = 0;   ///< pauses it asked for that are not over: its own, and one for each group
  Totals totals;
  HandshakeTotals handshakes;
};

struct RedisSnapshot {
  bool up = false;
  bool degraded = false;                                      ///< the limits, or some of them, go on as `whenDown` says
  std::vector<std::string> refused;                           ///< what its user lacks, in the words of an ACL
  std::vector<std::string> limits_differ;                     ///< upstreams in whose limits processes differ
  std::uint64_t calls = 0;                                    ///< round trips asked for, since the start
  std::vector<std::pair<std::string, std::uint64_t>> errors;  ///< since the start, by kind
};

struct TunnelTotals {
  std::size_t open = 0;         ///< now
  std::uint64_t bytes_in = 0;   ///< from upstreams, since the start
  std::uint64_t bytes_out = 0;  ///< to upstreams, likewise
};

/// Connections of clients beyond a cap, since the start. Each has been told so, as far as there was time, and closed.
struct TurnedAway {
  std::uint64_t in_all = 0;     ///< by caps.connections
  std::uint64_t of_client = 0;  ///< by caps.connectionsPerClient
};

struct Snapshot {
  bool draining = false;
  std::size_t connections = 0;    ///< clients connected, those of tunnels included
  std::size_t pending_bytes = 0;  ///< heads and bodies kept for pending requests
  std::vector<UpstreamSnapshot> upstreams;
  TunnelTotals tunnels;
  TurnedAway turned_away;
  std::uint64_t hints_dropped = 0;     ///< requests whose `Penstock-*` fields did not count (access.steering)
  std::uint64_t accept_pauses = 0;     ///< times that file descriptors ran short, and new connections had to wait
  std::optional<RedisSnapshot> redis;  ///< nothing: none is configured
  std::optional<std::int64_t> authority_end;  ///< of interception: until when it is good, in seconds since 1970
};

}  // namespace penstock
