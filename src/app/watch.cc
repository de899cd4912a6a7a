// SPDX-License-Identifier: Apache-2.0
// See watch.h.
#include "app/watch.h"

#include <utility>

namespace penstock::app {

namespace {
constexpr std::int64_t kLagEvery = 10'000;
constexpr std::int64_t kWatchEvery = 10'000'000;
constexpr std::int64_t kAddressesEvery = 60'000'000;
}  // namespace

Watch::Watch(loop::Loop& loop, const Watched& watched, NoticeSink notices)
    : loop_(loop),
      watched_(watched),
      notices_(std::move(notices)),
      next_addresses_(loop.now() + kAddressesEvery),
      timer_(loop, [this] { measure_lag(); }) {
  measure_lag();
}

void Watch::measure_lag() {
  const std::int64_t now = loop_.now();
  if (lag_due_ != 0) watched_.metrics.loop_lag(Duration{now - lag_due_});
  lag_due_ = now + kLagEvery;
  timer_.start(lag_due_);
  if (now >= next_look_) look(now);
}

void Watch::look(std::int64_t now) {
  next_look_ = now + kWatchEvery;
  if (now >= next_addresses_) {
    next_addresses_ = now + kAddressesEvery;
    watched_.verdict.look_around();
  }
  look_at_log();
  watched_.authority.look();
  look_at_clients();
  look_at_descriptors();
}

void Watch::look_at_log() {
  const std::uint64_t lost = watched_.log.dropped();
  if (lost == std::exchange(lines_lost_, lost)) return;
  warn("the event log is too slow: " + std::to_string(lost) + " lines lost so far");
}

void Watch::look_at_clients() {
  const auto now = watched_.clients.turned_away();
  const std::uint64_t away = now.in_all + now.of_client;
  if (away == std::exchange(turned_away_, away)) return;
  warn("too many clients: " + std::to_string(now.in_all) + " connections turned away so far by caps.connections, " +
       std::to_string(now.of_client) + " by caps.connectionsPerClient");
}

void Watch::look_at_descriptors() {
  const std::uint64_t pauses = watched_.listener.pauses();
  if (pauses == std::exchange(pauses_, pauses)) return;
  warn("file descriptors run short: " + std::to_string(pauses) + " times so far clients had to wait");
}

}  // namespace penstock::app
