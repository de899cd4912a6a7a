// SPDX-License-Identifier: Apache-2.0
// What /status says, as `penstock top` shows it. The daemon may be older or younger than this program: each figure that
// is missing or null is known to be unknown. All text is safe for a terminal.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/snapshot.h"

namespace penstock::app {

using Figure = std::optional<double>;  ///< nullopt: the daemon does not say

struct ShownLimit {
  std::string name, kind;
  bool shared = false;
  Figure used, of, rate, units;
  Figure would_wait;  ///< in shadow mode: requests that it would have held
  Figure opens_in_ms, resets_in_ms;
  Figure pace;  ///< units a second of all that share it, smoothed; known from the second status on
};

struct ShownGroup {
  std::string name;
  Figure pending;
  std::vector<ShownLimit> limits;
};

struct ShownHead {
  std::string limited_by;
  Figure since_ms, leaves_in_ms, last_leaves_in_ms;
};

struct ShownPause {
  std::string group, state;
  Figure left_ms, status;
};

struct ShownTimes {
  Figure count, p50, p95, p99, max;  ///< in ms, but for the count
};

struct ShownMinute {
  Figure out, out_a_second, upstream_429;
  std::optional<std::vector<std::pair<std::string, double>>> refused, statuses;
  ShownTimes wait, flight;
};

struct ShownUpstream {
  std::string name, quota, state;  ///< quota: empty: none
  Figure pending, max_pending, in_flight, max_concurrent;
  Figure busy_tunnels, resting_tunnels, max_tunnels;
  Figure dispatched;
  Figure out_a_second;
  std::optional<ShownHead> head;
  std::optional<ShownPause> pause;
  std::optional<std::vector<ShownLimit>> limits;
  std::optional<std::vector<ShownGroup>> groups;  ///< nullopt: not shown to this client
  ShownMinute minute;
  bool tunnels_only = false;
  bool unreachable = false;
};

struct ShownRedis {
  RedisSnapshot told;  ///< 0 processes, a share of 0, no kind: the daemon does not say
  std::optional<bool> up;
};

struct ShownStatus {
  std::string version, listen, config_hash, details_why;
  std::optional<bool> draining;
  Figure connections;
  Figure loaded_at;                        ///< seconds since 1970
  std::vector<ShownRedis> redis;           ///< empty: there is none
  std::vector<std::string> reload_errors;  ///< of the last reload
  std::vector<ShownUpstream> upstreams;
};

/// nullopt: this is no /status.
std::optional<ShownStatus> read_status(std::string_view body);

/// Fills in what takes two to know: the pace at which limits are used, and `out_a_second` where the daemon does not say
/// it.
void compare(ShownStatus& now, const ShownStatus& before, double seconds_between);

/// The same /status on one line of ASCII, with its end. Empty: it is no JSON.
std::string in_one_line(std::string_view body);

}  // namespace penstock::app
