// SPDX-License-Identifier: Apache-2.0
// All that a run of the simulation consists of: limits, processes, what is asked of them, and what goes wrong when. A
// seed draws one; the same plan always gives the same run. Times are microseconds of virtual time from the run's begin.
#pragma once

#include <cstddef>
#include <cstdint>
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

/// What the clients of one process want of the upstream.
struct Demand {
  int clients = 0;    ///< each asks again as soon as it is served, or `think` later: a closed loop; 0: an open one
  Time think = 0;     ///< of a client, between two requests: the mean, exponential
  double rate = 0;    ///< of an open loop: arrivals a second
  bool even = false;  ///< these come evenly; otherwise at random (Poisson)
  int spike = 0;      ///< so many more come at once, at `spike_at`
  Time spike_at = 0;
  Time from = 0;                ///< nothing is asked before
  Time until = 0;               ///< nor from then on; 0: asked to the end of the run
  int groups = 0;               ///< 0: requests have no group
  double zipf = 0;              ///< the n-th group has 1/n^zipf of the requests
  std::vector<int> weights;     ///< of a request, each as likely; empty: 1
  Time flight = kMillisecond;   ///< the mean
  bool flight_varies = false;   ///< exponential
  double leaves = 0;            ///< this part of the requests has a client that gives up
  Time leaves_after = kSecond;  ///< when: the mean, exponential
  Time max_wait = 0;            ///< Penstock-Max-Wait; 0: none
};

struct Member {
  Time joins = 0;
  Time ends = 0;          ///< it is told to stop, and drains; 0: it stays
  Time round_trip = 200;  ///< to Redis: the mean
  double jitter = 0.1;    ///< each way differs by up to this part of it
  double drift_ppm = 0;   ///< of its clock against the world's
  Time reloads = 0;       ///< from then on it goes by the plan's limits, before by `former`; 0: always by the plan's
  std::vector<LimitConfig> former;
  flow::Settings settings;  ///< slots and queue
  Demand demand;
};

struct Fault {
  enum class Kind : std::uint8_t {
    redis_stops,         ///< and comes back after `lasts`, with its memory
    redis_loses_memory,  ///< likewise, empty
    redis_goes_back,     ///< likewise, with what it had `back` before: an old snapshot, a replica without the tail
    redis_flushed,       ///< FLUSHALL
    scripts_flushed,     ///< SCRIPT FLUSH
    redis_stalls,        ///< answers nothing for so long, then everything
    clients_killed,      ///< every connection is reset
    connection_lost,     ///< of one process: both connections are reset
    mailbox_lost,        ///< of one process: the one for messages
    cut_off,             ///< one process reaches nothing for so long: bytes are held, new connections time out
    frozen,              ///< one process does not run for so long
    killed,              ///< one process ends without a word
    clock_steps,         ///< Redis' clock is set by `step`
    out_of_memory,       ///< Redis refuses to write for so long
    read_only,           ///< likewise, as a replica
    denied,              ///< one command is refused for so long, or to the end (0)
    key_erased,          ///< one key goes
    commands_lost,       ///< likewise, the one for calls
    reply_torn,          ///< the next reply to one process within so long comes half, and its connection is reset
    messages_late,       ///< to one process come up to 200 ms later, for so long
    messages_twice,      ///< come twice, the second time later
    messages_lost,       ///< do not come
    id_changes,          ///< all connections are reset, and lead to a server of another id with the same memory
    script_fails,        ///< the next script fails in the middle
    paused,              ///< the upstream answers one process 429 with Retry-After `lasts`
    publishes_lost,      ///< for so long nobody hears what is published
    key_foreign,         ///< for so long something else stands under one key
  };
  Kind kind{};
  Time at = 0;
  Time lasts = 0;
  int member = -1;      ///< of which process
  Time back = 0;        ///< of redis_goes_back
  Time step = 0;        ///< of clock_steps
  std::string command;  ///< denied
  std::string key;      ///< erased or foreign; what follows "<prefix>:{<upstream>}"
};

inline constexpr int kFaultKinds = static_cast<int>(Fault::Kind::key_foreign) + 1;

/// "Redis stops", "cut off", …
std::string_view name_of(Fault::Kind kind);

struct Plan {
  std::uint64_t seed = 0;
  std::string regime;  ///< by what name it is drawn
  std::vector<LimitConfig> limits;
  WhenDown when_down = WhenDown::share;
  Duration redis_timeout = std::chrono::milliseconds(50);
  int processes = 0;  ///< `redis.processes`
  std::vector<Member> members;
  std::vector<Fault> faults;
  Time length = 0;

  bool grouped() const;
  /// As whoever replays it wants to read it.
  std::string text() const;
};

}  // namespace penstock::simulation
