// SPDX-License-Identifier: Apache-2.0
// One upstream as the proxy sees it: its heart with what keeps its limits and what wakes it, its groups, its settings
// and its totals. Moves nothing by itself; the dispatcher does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "flow/pauses.h"
#include "flow/upstream.h"
#include "loop/timer.h"
#include "penstock/config.h"
#include "penstock/snapshot.h"
#include "proxy/grouping.h"
#include "proxy/services.h"

namespace penstock::proxy {

class Destination;

class DestinationOwner {
 public:
  using Change = std::function<void(flow::Time now, flow::Commands&)>;
  /// Something is to be done to its heart at this moment, and the commands to be carried out.
  virtual void move(Destination& destination, const Change& change) = 0;
  /// So many of its flights are to be ended: of the upstream, or of that group.
  virtual void cut(Destination& destination, flow::Booking::Scope scope, std::string_view group, std::size_t count) = 0;

 protected:
  ~DestinationOwner() = default;
};

class Destination final : public flow::BookerEvents {
 public:
  Destination(const Services& services, std::string its_name, std::size_t its_entry,
              const UpstreamSettings& its_settings, DestinationOwner& owner)
      : name(std::move(its_name)),
        entry(its_entry),
        settings(its_settings),
        connections(services.connections.of(settings.tls)),
        booker(services.make_booker(name, settings, *this)),
        heart({.max_concurrent = settings.max_concurrent,
               .max_pending = settings.queue.max_pending,
               .max_wait = settings.queue.max_wait.count()},
              *booker),
        owner_(owner),
        wake_(services.loop, [this] { change(&flow::Upstream::advance); }) {
    const auto& redis = services.config.redis;
    if (settings.group) grouping.emplace(*settings.group, redis ? redis->prefix : "", name);
  }

  /// Sets the timer for the heart's next moment.
  void sleep() {
    const auto next = heart.wake_at();
    if (!next) return wake_.stop();
    if (!wake_.running() || wake_.at() != *next) wake_.start(*next);
  }

  /// What people call a limit; empty: none.
  std::string_view limit_name(flow::LimitIndex index) const {
    if (index >= 0) return penstock::limit_name(settings.limits[static_cast<std::size_t>(index)]);
    return index == flow::kHold ? "hold" : index == flow::kRedis ? "redis" : "";
  }

  void answer(std::string_view group, const flow::Booking& booking) override {
    change([&](auto& its_heart, auto now, auto& into) { its_heart.answer(now, group, booking, into); });
  }
  void may_ask(flow::Booking::Scope scope, std::string_view group) override {
    change([&](auto& its_heart, auto now, auto& into) { its_heart.may_ask(now, scope, group, into); });
  }

  void cut(flow::Booking::Scope scope, std::string_view group, std::size_t count) override {
    owner_.cut(*this, scope, group, count);
  }

  /// An answer asked for a pause: of the group, or of all where there are no groups.
  void pause(flow::Time now, const std::string& group, flow::Time until) {
    booker->pause(now, group, until);
    pauses_.extend(now, group, until);
  }
  /// Pauses that this process was asked for, and that are not over.
  std::size_t holds(flow::Time now) const { return pauses_.count(now); }

  const std::string name;   ///< of the entry, or host:port
  const std::size_t entry;  ///< 0: made after "*"
  const UpstreamSettings& settings;
  transfer::Multi& connections;  ///< that all may share
  std::optional<Grouping> grouping;
  const std::unique_ptr<flow::Booker> booker;
  flow::Upstream heart;
  flow::Commands commands, carrying;
  bool being_served = false;  ///< its commands are being carried out
  Totals totals;
  std::int64_t last_used = 0;

 private:
  template <typename Call>
  void change(Call call) {
    owner_.move(*this, [&](flow::Time now, flow::Commands& into) { std::invoke(call, heart, now, into); });
  }

  DestinationOwner& owner_;
  flow::Pauses pauses_;
  loop::Timer wake_;
};

}  // namespace penstock::proxy
