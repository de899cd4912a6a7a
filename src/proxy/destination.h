// SPDX-License-Identifier: Apache-2.0
// One upstream as the proxy sees it: its heart with what the heart needs to be woken, its settings and its totals.
// Moves nothing by itself; the dispatcher does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "flow/local_booker.h"
#include "flow/upstream.h"
#include "loop/timer.h"
#include "penstock/config.h"
#include "penstock/snapshot.h"

namespace penstock::proxy {

class Destination {
 public:
  Destination(loop::Loop& loop, std::string its_name, std::size_t its_entry, const UpstreamSettings& its_settings,
              std::function<void(Destination&)> on_time)
      : name(std::move(its_name)),
        entry(its_entry),
        settings(its_settings),
        heart({.max_concurrent = settings.max_concurrent,
               .max_pending = settings.queue.max_pending,
               .max_wait = settings.queue.max_wait.count()},
              booker),
        on_time_(std::move(on_time)),
        wake_(loop, [this] { on_time_(*this); }) {}

  /// Sets the timer for the heart's next moment.
  void sleep() {
    const auto next = heart.wake_at();
    if (!next) return wake_.stop();
    if (!wake_.running() || wake_.at() != *next) wake_.start(*next);
  }

  const std::string name;   ///< of the entry, or host:port
  const std::size_t entry;  ///< 0: made after "*"
  const UpstreamSettings& settings;
  flow::LocalBooker booker;
  flow::Upstream heart;
  flow::Commands commands, carrying;
  bool being_served = false;  ///< its commands are being carried out
  Totals totals;
  std::int64_t last_used = 0;

 private:
  std::function<void(Destination&)> on_time_;
  loop::Timer wake_;
};

}  // namespace penstock::proxy
