// SPDX-License-Identifier: Apache-2.0
// All that happened in a run, as the judges read it. Times are the world's: microseconds from the run's begin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flow/scheduler.h"
#include "simulation/plan.h"

namespace penstock::simulation {

inline constexpr Time kNotYet = -1;

struct Request {
  enum class End : std::uint8_t { none, served, refused, left, cut, killed };
  int member = 0;
  int group = -1;
  bool routed = false;  ///< its route is kRoute
  int weight = 1;
  int cost = 1, estimate = 1;  ///< what it takes of limits that count costs, and what is reserved for that
  Time arrived = 0;
  Time departed = kNotYet;  ///< took off for the upstream
  Time left = kNotYet;      ///< left for the upstream: at once, or when its connection is there
  Time booked = kNotYet;    ///< the departure that it took, as its process recorded it
  Time ended = kNotYet;     ///< landed, was refused, left the queue, or was cut
  End end = End::none;
  flow::Refused refused{};  ///< if it was refused
  flow::LimitIndex limited_by = flow::kNoLimit;
  Time told = kNotYet;           ///< the wait that the request was told to expect on arrival (retry_after), for judges
  std::optional<Time> foretold;  ///< in how long it would leave, as it was told on arrival (flow/rehearsal.h)
  int attempts = 0;              ///< how often it took off
  bool turned_away = false;      ///< the upstream refused its last attempt, see Plan::hidden and Plan::refusing
  bool without_redis = false;    ///< departed while its process went by whenDown
  bool in_redis = false;         ///< Redis granted its departure, perhaps before it was gone
};

/// The state of one process, as it knew it; one entry for each change.
struct Standing {
  Time at = 0;
  int member = 0;
  bool up = false;        ///< the process considers Redis reachable
  bool degraded = false;  ///< what /status says
};

/// An attempt that has come to an upstream which may refuse it.
struct Sending {
  std::uint64_t id = 0;
  Time departed = 0, came = 0;
  bool refused = false;
};

/// A script call.
struct Call {
  Time at = 0;
  int member = 0;
};

/// A pause that an upstream asked one process for with `Retry-After`, as that process heard it.
struct Pause {
  Time at = 0;
  int member = 0;
  int group = -1;  ///< the group that is paused; -1: all
  Time until = 0;
};

/// What came of a window of the upstream's quota.
struct QuotaWindow {
  int ours = 0, strangers = 0;  ///< units that they got
  int refused = 0;              ///< requests of ours
};

/// What a process says, as people are told, of the last request to leave of those that wait there.
struct Forecast {
  int member = 0;
  Time at = 0;
  std::optional<Time> leaves_in;
};

struct Journal {
  std::vector<Request> requests;          ///< by id
  std::vector<std::uint64_t> departures;  ///< ids, in the order of departure
  std::vector<Sending> sendings;          ///< in the order in which they came
  std::vector<Standing> standings;
  std::vector<Forecast> forecasts;  ///< at the plan's looks
  std::vector<Call> calls;          ///< without those below
  std::vector<Call> presences;      ///< calls by which a process only says that it is there
  std::vector<Pause> pauses;
  std::vector<QuotaWindow> windows;  ///< in order of time, those alone in which something was asked for
  std::vector<std::string> notices;
  std::vector<Fault> faults;           ///< in order of time
  std::vector<std::string> keys_left;  ///< keys in Redis after all TTLs have passed after the end
  Time wall_at_begin = 0;              ///< microseconds since 1970, on Redis' clock and, but for drift, on all others
  Time ended = 0;
  std::uint64_t events = 0;  ///< of the world
};

struct Verdict {
  std::string rule;    ///< "keeps", "use", …
  std::string detail;  ///< which limit, where, by how much
  double figure = 0;   ///< the excess, the use, the ratio, depending on the rule
};

}  // namespace penstock::simulation
