// SPDX-License-Identifier: Apache-2.0
// See upstream.h.
#include "proxy/exchange/upstream.h"

#include <algorithm>
#include <utility>

#include "flow/limit_remap.h"
#include "flow/probing.h"

namespace penstock::proxy {

Upstream::Upstream(const Services& services, std::string its_name, std::size_t its_entry,
                   const UpstreamSettings& its_settings, UpstreamEvents& events)
    : name(std::move(its_name)),
      entry(its_entry),
      settings(its_settings),
      connections(services.connections.of(settings.tls)),
      reach(services.loop, name, settings.breaker, scheduler_),
      services_(services),
      events_(events),
      limits_(std::make_unique<const std::vector<LimitConfig>>(settings.limits)),
      limiter_(services.make_limiter(name, *limits_, *this)),
      scheduler_(scheduler_settings(), *limiter_),
      pausing_(services, name, settings, scheduler_, limiter_),
      late_(services.loop, limiter_, settings.limits),
      wake_(services.loop, [this] { apply([this](flow::Time now) { scheduler_.advance(now, commands_); }); }) {
  group();
}

flow::Settings Upstream::scheduler_settings() const {
  return {.max_concurrent = settings.max_concurrent,
          .max_pending = settings.queue.max_pending,
          .max_wait = settings.queue.max_wait.count(),
          .max_tunnels = static_cast<std::size_t>(std::max(tunnels_of(settings), 1))};
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

void Upstream::answer(std::string_view group, const flow::Booking& booking) {
  apply([&](flow::Time now) { scheduler_.answer(now, group, booking, commands_); });
}

void Upstream::retry(flow::Booking::Scope scope, std::string_view group) {
  apply([&](flow::Time now) { scheduler_.retry(now, scope, group, commands_); });
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

void Upstream::cut(flow::Booking::Scope scope, std::string_view group, std::size_t count) {
  events_.on_permits_lost(*this, scope, group, count);
}

// What is shown.

UpstreamSnapshot Upstream::snapshot() const {
  const flow::Time now = services_.loop.now();
  const auto tunnels = scheduler_.tunnels();
  return {.name = name,
          .entry = entry,
          .pending = scheduler_.pending(),
          .in_flight = scheduler_.in_flight(),
          .max_concurrent = settings.max_concurrent,
          .busy_tunnels = tunnels.busy,
          .resting_tunnels = tunnels.resting,
          .max_tunnels = tunnels_of(settings),
          .oldest_wait = Duration{scheduler_.oldest_wait(now)},
          .pauses = pausing_.count(now),
          .pause = pausing_.longest(now),
          .unreachable = reach.lost(),
          .next_try = Duration{std::max<flow::Time>(scheduler_.gates().until({}) - now, 0)},
          .totals = totals,
          .handshakes = handshakes};
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

void Upstream::group() {
  grouping_.reset();
  if (settings.group) grouping_.emplace(*settings.group, group_hash(services_, name), services_.labels);
}

std::string Upstream::group_of(const http::Target& target, const http::Fields& fields) {
  std::string room;
  const std::string_view its_name = grouping_->name(target, fields, room);
  if (limiter_->has_room_for(its_name)) return std::string(its_name);
  if (!std::exchange(others_told_, true)) {
    services_.notices({.level = LogLevel::warn,
                       .text = name + " has " + std::to_string(flow::kMostGroups) +
                               " groups to remember: until some can be forgotten, all others share one queue and its "
                               "limits, " +
                               std::string(kOtherGroups)});
  }
  return std::string(kOtherGroups);
}

void Upstream::change(flow::Time now, const UpstreamSettings& its_settings) {
  connections = services_.connections.of(its_settings.tls);
  if (its_settings == settings) return;
  const auto before = std::exchange(settings, its_settings);
  group();
  change_limiter(now, std::make_unique<const std::vector<LimitConfig>>(settings.limits));
  scheduler_.change(now, scheduler_settings(), moved_, commands_);
  late_.change(now, settings.limits);
  pausing_.change(now, before, commands_);
}

void Upstream::change_limiter(flow::Time now, Limits its_limits) {
  moved_ = flow::limit_remap(*limits_, *its_limits);
  other_limiter_ = services_.fits_limiter && !services_.fits_limiter(*limits_, *its_limits);
  if (other_limiter_) {
    limiter_.reset();  // first, because both have the same name
    limiter_ = services_.make_limiter(name, *its_limits, *this);
    scheduler_.replace(*limiter_);
    pausing_.tell_limiter(now);
  } else {
    limiter_->change(now, *its_limits);
  }
  limits_ = std::move(its_limits);
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
  if (other_limiter_) departure.disown();
  departure.renumber(moved_);
  if (!moved_.empty()) limited_by = flow::renumbered(limited_by, moved_);
}

void Upstream::renumbered() {
  moved_.clear();
  other_limiter_ = false;
  carry_out();
}

}  // namespace penstock::proxy
