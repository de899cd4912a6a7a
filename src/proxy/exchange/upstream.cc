// SPDX-License-Identifier: Apache-2.0
// See upstream.h.
#include "proxy/exchange/upstream.h"

#include <algorithm>
#include <utility>

#include "flow/limit_remap.h"
#include "flow/probing.h"
#include "proxy/exchange/upstream_view.h"

namespace penstock::proxy {

namespace {
UpstreamSettings with_limits(UpstreamSettings settings, std::vector<LimitConfig> limits) {
  settings.limits = std::move(limits);
  return settings;
}

/// A route may let its requests wait longer: each arrival says how long it may.
flow::Settings scheduler_settings(const UpstreamSettings& settings) {
  return {.max_concurrent = settings.max_concurrent,
          .max_pending = settings.queue.max_pending,
          .max_wait = longest_wait(settings).count(),
          .max_tunnels = static_cast<std::size_t>(std::max(tunnels_of(settings), 1))};
}
}  // namespace

Upstream::Upstream(const Services& services, std::string its_name, std::size_t its_entry,
                   const UpstreamSettings& its_settings, UpstreamEvents& events)
    : name(std::move(its_name)),
      entry(its_entry),
      settings(with_limits(its_settings, limits_that_hold(its_settings.limits))),
      connections(services.connections.of(settings.tls)),
      reach(services.loop, name, settings.breaker, scheduler_),
      services_(services),
      events_(events),
      routes_(routes_of(its_settings)),
      limits_(services.loop, settings.limits, limits_in_shadow(its_settings.limits)),
      limiter_(services.make_limiter({name, settings, limits_.configured()}, *this, nullptr)),
      scheduler_(scheduler_settings(settings), *limiter_),
      pausing_(services, name, settings, scheduler_, limiter_),
      late_(services.loop, limiter_, settings.limits),
      wake_(services.loop, [this] { apply([this](flow::Time now) { scheduler_.advance(now, commands_); }); }) {
  groups.change(services_, name, settings);
}

// What the scheduler decides.

template <typename Call>
void Upstream::apply(Call call) {
  const flow::Time now = last_used_ = services_.loop.now();
  late_.count(now);
  call(now);
  carry_out();
}

/// What is decided meanwhile is carried out behind the rest.
void Upstream::carry_out() {
  if (carrying_out_) return;
  carrying_out_ = true;
  while (!commands_.empty()) {
    std::swap(commands_, carried_out_);
    for (const auto& command : carried_out_.start) events_.on_start(command);
    for (const auto& command : carried_out_.refuse) events_.on_refuse(command);
    for (const auto id : carried_out_.resume) events_.on_resume(id);
    for (const auto id : carried_out_.close) events_.on_close(id);
    for (const auto& probe : carried_out_.probe) {
      flow::carry_out(probe, limiter_->pauses_shared(), services_.loop.now(), scheduler_, commands_);
    }
    carried_out_.clear();
  }
  carrying_out_ = false;
  const auto next = scheduler_.wake_at();
  if (!next) return wake_.stop();
  if (!wake_.running() || wake_.at() != *next) wake_.start(*next);
}

void Upstream::arrive(flow::Time arrived, const flow::Arrival& arrival, flow::Ticket& ticket) {
  apply([&](flow::Time) { ticket = scheduler_.arrive(arrived, arrival, commands_); });
}

void Upstream::land(flow::Ticket ticket) {
  apply([&](flow::Time now) { scheduler_.land(now, ticket, commands_); });
}

void Upstream::settle(flow::LaneKey lane, const flow::Departure& departure, int cost) {
  apply([&](flow::Time now) {
    if (limiter_->settle(now, lane, departure, cost)) flow::units_came(scheduler_, now, lane, commands_);
  });
}

void Upstream::cancel(flow::Ticket ticket) {
  apply([&](flow::Time now) { scheduler_.cancel(now, ticket, commands_); });
}

void Upstream::requeue(flow::Ticket ticket) {
  apply([&](flow::Time now) { scheduler_.requeue(now, ticket, commands_); });
}

void Upstream::send_back(flow::Ticket ticket, flow::Time deadline, const http::Fields& request,
                         const std::string& group) {
  const std::string lane = pausing_.lane_of(request, group);
  apply([&](flow::Time now) { scheduler_.send_back(now, ticket, deadline, lane, commands_); });
}

void Upstream::park(flow::Ticket ticket) {
  apply([&](flow::Time now) { scheduler_.park(now, ticket, commands_); });
}

void Upstream::resume(flow::Ticket ticket) {
  apply([&](flow::Time now) { scheduler_.resume(now, ticket, commands_); });
}

void Upstream::mark_spare(flow::Ticket ticket) {
  apply([&](flow::Time now) { scheduler_.mark_spare(now, ticket, commands_); });
}

void Upstream::answer(flow::LaneKey lane, const flow::Booking& booking) {
  apply([&](flow::Time now) { scheduler_.answer(now, lane, booking, commands_); });
}

void Upstream::retry(flow::Booking::Scope scope, flow::LaneKey lane) {
  apply([&](flow::Time now) { scheduler_.retry(now, scope, lane, commands_); });
}

void Upstream::heard(const flow::PauseNews& news) {
  apply([&](flow::Time now) {
    if (pausing_.hear(now, news, commands_) == Pausing::Found::paused_scope) events_.on_paused(*this);
  });
}

bool Upstream::end_pauses() {
  bool some = false;
  apply([&](flow::Time now) { some = pausing_.shorten(now, now, commands_); });
  return some;
}

void Upstream::cut(flow::Booking::Scope scope, flow::LaneKey lane, std::size_t count) {
  events_.on_permits_lost(*this, scope, lane, count);
}

// What is shown.

UpstreamSnapshot Upstream::snapshot(bool with_groups) const {
  const flow::Time now = services_.loop.now();
  const auto tunnels = scheduler_.tunnels();
  UpstreamSnapshot shown{.name = name,
                         .entry = entry,
                         .pending = scheduler_.pending(),
                         .in_flight = scheduler_.in_flight(),
                         .max_concurrent = settings.max_concurrent,
                         .max_pending = settings.queue.max_pending,
                         .busy_tunnels = tunnels.busy,
                         .resting_tunnels = tunnels.resting,
                         .max_tunnels = tunnels_of(settings),
                         .oldest_wait = Duration{scheduler_.forecast().oldest_wait(now)},
                         .pauses = pausing_.count(now),
                         .pause = reach.lost() ? std::nullopt : pausing_.longest(now),
                         .unreachable = reach.lost(),
                         .next_try = Duration{std::max<flow::Time>(scheduler_.gates().until({}) - now, 0)},
                         .head = head_of(scheduler_, now, [this](auto limit) { return limit_name(limit); }),
                         .limits = limits_.limits(now, limiter_->reader()),
                         .groups = {},
                         .last_minute = last_minute.at(now),
                         .tunnels_only = totals.tunnels > 0 && totals.tunnels == totals.dispatched,
                         .totals = totals,
                         .handshakes = handshakes};
  if (groups.grouping() && with_groups)
    shown.groups = limits_.groups(now, limiter_->reader(), scheduler_.gates().lanes());
  groups.label(shown);
  return shown;
}

std::string_view Upstream::limit_name(flow::LimitIndex index) const {
  if (index >= 0) return penstock::limit_name(settings.limits[static_cast<std::size_t>(index)]);
  switch (index) {
    case flow::kPause: return "pause";
    case flow::kRedis: return "redis";
    case flow::kSlots: return "maxConcurrent";
    case flow::kTunnels: return "maxTunnels";
    default: return "";
  }
}

flow::Time Upstream::lateness(flow::LimitIndex limit, flow::Time now) const {
  const bool looks_back =
      limit >= 0 && std::holds_alternative<SlidingWindowConfig>(settings.limits[static_cast<std::size_t>(limit)].kind);
  return looks_back ? late_.to_expect(now) : 0;
}

void Upstream::change(flow::Time now, const UpstreamSettings& its_settings, bool is_gone) {
  if (!is_gone) {
    connections = services_.connections.of(its_settings.tls);
    routes_ = routes_of(its_settings);
    limits_.change_shadow(now, limits_in_shadow(its_settings.limits));
  }
  auto new_settings = with_limits(its_settings, limits_that_hold(its_settings.limits));
  const LimiterOf of{name, new_settings, new_settings.limits};
  const bool fits = !services_.fits_limiter || services_.fits_limiter(*limiter_, of);
  if (fits && new_settings == settings) return;
  const auto before = std::exchange(settings, std::move(new_settings));
  groups.change(services_, name, settings);
  change_limiter(now, std::make_unique<const std::vector<LimitConfig>>(settings.limits), fits);
  scheduler_.change(now, scheduler_settings(settings), last_change_.moved, commands_);
  late_.change(now, settings.limits);
  pausing_.change(now, before, commands_);
}

void Upstream::change_limiter(flow::Time now, LimitView::Limits its_limits, bool fits) {
  const auto& before = limits_.configured();
  last_change_.moved = flow::limit_remap(before, *its_limits);
  last_change_.other_limiter = !fits;
  if (!fits) {
    limiter_ = services_.make_limiter({name, settings, *its_limits}, *this, std::move(limiter_));
    scheduler_.replace(*limiter_, true);
    pausing_.tell_limiter(now);
  } else {
    limiter_->change(now, *its_limits);
  }
  limits_.change(std::move(its_limits), last_change_.moved);
}

void Upstream::observe(const Pausing::Answer& answer) {
  const auto found = pausing_.observe(answer, commands_);
  if (found == Pausing::Found::nothing) return;
  if (found == Pausing::Found::paused_scope) events_.on_paused(*this);
  wake_.start(services_.loop.now());
}

void Upstream::sort(flow::Ticket ticket, const http::Fields& request, const std::string& group) {
  scheduler_.move(services_.loop.now(), ticket, pausing_.lane_of(request, group), commands_);
}

void Upstream::renumber(flow::LimitIndex& limited_by, TakenDeparture& departure) const {
  if (last_change_.other_limiter) departure.hand_over(true);
  departure.renumber(last_change_.moved);
  if (!last_change_.moved.empty()) limited_by = flow::renumbered(limited_by, last_change_.moved);
}

void Upstream::renumbered() {
  last_change_.moved.clear();
  last_change_.other_limiter = false;
  carry_out();
}

}  // namespace penstock::proxy
