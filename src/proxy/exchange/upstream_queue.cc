// SPDX-License-Identifier: Apache-2.0
// See upstream_queue.h.
#include "proxy/exchange/upstream_queue.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "flow/limit_remap.h"
#include "flow/probing.h"
#include "proxy/exchange/upstream_view.h"
#include "proxy/route/routes.h"

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

UpstreamQueue::UpstreamQueue(const Services& services, std::string its_name, const UpstreamSettings& its_settings,
                             QueueEvents& events)
    : name(std::move(its_name)),
      settings(with_limits(its_settings, limits_that_hold(its_settings.limits))),
      services_(services),
      events_(events),
      limits_(services.loop, settings.limits, limits_in_shadow(its_settings.limits)),
      limiter_(services.make_limiter({name, settings, limits_.configured()}, *this, nullptr)),
      scheduler_(scheduler_settings(settings), *limiter_),
      pausing_(services, name, settings, scheduler_, limiter_),
      late_(services.loop, limiter_, settings.limits),
      wake_(services.loop, [this] { apply([this](flow::Time now) { scheduler_.advance(now, commands_); }); }) {}

// What the scheduler decides.

template <typename Call>
void UpstreamQueue::apply(Call call) {
  const flow::Time now = last_used_ = services_.loop.now();
  late_.count(now);
  call(now);
  carry_out();
}

/// What is decided meanwhile is carried out behind the rest.
void UpstreamQueue::carry_out() {
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

void UpstreamQueue::arrive(flow::Time arrived, const flow::Arrival& arrival, flow::Ticket& ticket) {
  apply([&](flow::Time) { ticket = scheduler_.arrive(arrived, arrival, commands_); });
}

void UpstreamQueue::land(flow::Ticket ticket) {
  apply([&](flow::Time now) { scheduler_.land(now, ticket, commands_); });
}

void UpstreamQueue::settle(flow::LaneKey lane, const flow::Departure& departure, int cost) {
  apply([&](flow::Time now) {
    if (limiter_->settle(now, lane, departure, cost)) flow::units_came(scheduler_, now, lane, commands_);
  });
}

void UpstreamQueue::cancel(flow::Ticket ticket) {
  apply([&](flow::Time now) { scheduler_.cancel(now, ticket, commands_); });
}

void UpstreamQueue::requeue(flow::Ticket ticket) {
  apply([&](flow::Time now) { scheduler_.requeue(now, ticket, commands_); });
}

void UpstreamQueue::send_back(flow::Ticket ticket, flow::Time deadline, const http::Fields& request,
                              const std::string& group) {
  const std::string lane = pausing_.lane_of(request, group);
  apply([&](flow::Time now) { scheduler_.send_back(now, ticket, deadline, lane, commands_); });
}

void UpstreamQueue::turn_back(flow::Ticket ticket, const flow::Departure& departure) {
  apply([&](flow::Time now) { scheduler_.cancel(now, ticket, commands_, &departure); });
}

void UpstreamQueue::park(flow::Ticket ticket) {
  apply([&](flow::Time now) { scheduler_.park(now, ticket, commands_); });
}

void UpstreamQueue::resume(flow::Ticket ticket) {
  apply([&](flow::Time now) { scheduler_.resume(now, ticket, commands_); });
}

void UpstreamQueue::mark_spare(flow::Ticket ticket) {
  apply([&](flow::Time now) { scheduler_.mark_spare(now, ticket, commands_); });
}

void UpstreamQueue::answer(flow::LaneKey lane, const flow::Booking& booking) {
  apply([&](flow::Time now) { scheduler_.answer(now, lane, booking, commands_); });
}

void UpstreamQueue::retry(flow::Booking::Scope scope, flow::LaneKey lane) {
  apply([&](flow::Time now) { scheduler_.retry(now, scope, lane, commands_); });
}

void UpstreamQueue::heard(const flow::PauseNews& news) {
  apply([&](flow::Time now) {
    if (pausing_.hear(now, news, commands_) == Pausing::Found::paused_scope) events_.on_paused(*this);
  });
}

bool UpstreamQueue::end_pauses() {
  bool some = false;
  apply([&](flow::Time now) { some = pausing_.shorten(now, now, commands_); });
  return some;
}

void UpstreamQueue::stop_alone(flow::Ticket ticket, Duration longest) {
  scheduler_.pause(services_.loop.now(), {}, std::nullopt, longest.count(), ticket, true);
}

flow::WaitingUnits UpstreamQueue::units_waiting() const {
  return scheduler_.forecast().units_waiting(services_.loop.now());
}

void UpstreamQueue::cut(flow::Booking::Scope scope, flow::LaneKey lane, std::size_t count) {
  events_.on_permits_lost(*this, scope, lane, count);
}

// What is shown.

void UpstreamQueue::show(UpstreamSnapshot& into, bool with_groups) const {
  const flow::Time now = services_.loop.now();
  const auto tunnels = scheduler_.tunnels();
  into.pending = scheduler_.pending();
  into.in_flight = scheduler_.in_flight();
  into.max_concurrent = settings.max_concurrent;
  into.max_pending = settings.queue.max_pending;
  into.busy_tunnels = tunnels.busy;
  into.resting_tunnels = tunnels.resting;
  into.max_tunnels = tunnels_of(settings);
  into.oldest_wait = Duration{scheduler_.forecast().oldest_wait(now)};
  into.pauses = pausing_.count(now);
  into.pause = pausing_.longest(now);
  into.head = head_of(scheduler_, now, [this](auto limit) { return name_of_limit(settings, limit); });
  into.limits = limits_.limits(now, limiter_->reader());
  if (settings.group && with_groups) into.groups = limits_.groups(now, limiter_->reader(), scheduler_.gates().lanes());
}

flow::Time UpstreamQueue::lateness(flow::LimitIndex limit, flow::Time now) const {
  const bool looks_back =
      limit >= 0 && std::holds_alternative<SlidingWindowConfig>(settings.limits[static_cast<std::size_t>(limit)].kind);
  return looks_back ? late_.to_expect(now) : 0;
}

void UpstreamQueue::change(flow::Time now, const UpstreamSettings& its_settings, bool is_gone) {
  if (!is_gone) limits_.change_shadow(now, limits_in_shadow(its_settings.limits));
  auto new_settings = with_limits(its_settings, limits_that_hold(its_settings.limits));
  const LimiterOf of{name, new_settings, new_settings.limits};
  const bool fits = !services_.fits_limiter || services_.fits_limiter(*limiter_, of);
  if (fits && new_settings == settings) return;
  const auto before = std::exchange(settings, std::move(new_settings));
  change_limiter(now, std::make_unique<const std::vector<LimitConfig>>(settings.limits), fits);
  scheduler_.change(now, scheduler_settings(settings), last_change_.moved, commands_);
  late_.change(now, settings.limits);
  pausing_.change(now, before, commands_);
}

void UpstreamQueue::change_limiter(flow::Time now, LimitView::Limits its_limits, bool fits) {
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

void UpstreamQueue::observe(const Pausing::Answer& answer) {
  const auto found = pausing_.observe(answer, commands_);
  if (found == Pausing::Found::nothing) return;
  if (found == Pausing::Found::paused_scope) events_.on_paused(*this);
  wake_.start(services_.loop.now());
}

void UpstreamQueue::sort(flow::Ticket ticket, const http::Fields& request, const std::string& group) {
  scheduler_.move(services_.loop.now(), ticket, pausing_.lane_of(request, group), commands_);
}

void UpstreamQueue::renumber(flow::LimitIndex& limited_by, TakenDeparture& departure) const {
  if (last_change_.other_limiter) departure.hand_over(true);
  departure.renumber(last_change_.moved);
  if (!last_change_.moved.empty()) limited_by = flow::renumbered(limited_by, last_change_.moved);
}

void UpstreamQueue::renumbered() {
  last_change_.moved.clear();
  last_change_.other_limiter = false;
  carry_out();
}

}  // namespace penstock::proxy
