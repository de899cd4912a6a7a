// SPDX-License-Identifier: Apache-2.0
// See upstream.h.
#include "proxy/exchange/upstream.h"

#include "flow/limit_remap.h"

namespace penstock::proxy {

namespace {
flow::Time least_look_back(const UpstreamSettings& settings) {
  flow::Time least = 0;
  for (const auto& limit : settings.limits) {
    const auto* sliding = std::get_if<SlidingWindowConfig>(&limit.kind);
    if (sliding && (least == 0 || sliding->interval.count() < least)) least = sliding->interval.count();
  }
  return least;
}
}  // namespace

Upstream::Upstream(const Services& services, std::string its_name, std::size_t its_entry,
                   const UpstreamSettings& its_settings, UpstreamOwner& owner)
    : name(std::move(its_name)),
      entry(its_entry),
      settings(its_settings),
      connections(services.connections.of(settings.tls)),
      limits(std::make_unique<const std::vector<LimitConfig>>(settings.limits)),
      limiter(services.make_limiter(name, *limits, *this)),
      scheduler(scheduler_settings(), *limiter),
      services_(services),
      owner_(owner),
      looks_back_(least_look_back(settings)),
      wake_(services.loop, [this] { with_scheduler(&flow::Scheduler::advance); }),
      late_timer_(services.loop, [this] { count_late_anew(services_.loop.now()); }) {
  group();
}

flow::Settings Upstream::scheduler_settings() const {
  return {.max_concurrent = settings.max_concurrent,
          .max_pending = settings.queue.max_pending,
          .max_wait = settings.queue.max_wait.count(),
          .max_tunnels = static_cast<std::size_t>(std::max(tunnels_of(settings), 1))};
}

void Upstream::count_late_anew(flow::Time now) {
  late_timer_.stop();
  if (looks_back_ == 0) return;
  if (const auto next = late.count_anew(now, looks_back_, *limiter)) late_timer_.start(*next);
}

std::string Upstream::tunnels_in_words() const {
  const auto count = [](std::size_t number, const std::string& what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  const std::size_t busy = scheduler.busy_tunnels(), resting = scheduler.resting();
  std::string words;
  if (busy > 0) words = count(busy, "slot") + (busy == 1 ? ": a busy tunnel" : ": busy tunnels");
  if (resting > 0)
    words += (busy > 0 ? "; " : "") + count(resting, "tunnel") + (resting == 1 ? " rests" : " rest") + " without one";
  return words;
}

void Upstream::group() {
  const auto& redis = services_.config.redis;
  grouping.reset();
  if (!settings.group) return;
  const flow::GroupHash hash = redis ? flow::GroupHash(redis->prefix, name, redis->secret) : flow::GroupHash("", name);
  grouping.emplace(*settings.group, hash, services_.labels);
}

std::string Upstream::group_of(const http::Target& target, const http::Fields& fields) {
  std::string room;
  const std::string_view its_name = grouping->name(target, fields, room);
  if (limiter->has_room_for(its_name)) return std::string(its_name);
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
  settings = its_settings;
  group();
  change_limiter(now, std::make_unique<const std::vector<LimitConfig>>(settings.limits));
  scheduler.change(now, scheduler_settings(), moved_, commands);
  looks_back_ = least_look_back(settings);
  count_late_anew(now);
}

void Upstream::change_limiter(flow::Time now, Limits its_limits) {
  moved_ = flow::limit_remap(*limits, *its_limits);
  other_limiter_ = services_.fits_limiter && !services_.fits_limiter(*limits, *its_limits);
  if (other_limiter_) {
    limiter.reset();  // first, because both have the same name
    limiter = services_.make_limiter(name, *its_limits, *this);
    scheduler.replace(*limiter);
    pauses_.each(now, [&](const std::string& paused, flow::Time until) { limiter->pause(now, paused, until); });
    anonymous_pauses_.each(
        now, [&](const std::string& paused, flow::Time until) { limiter->pause_anonymous(now, paused, until); });
  } else {
    limiter->change(now, *its_limits);
  }
  limits = std::move(its_limits);
}

void Upstream::pause(flow::Time now, const std::string& group, flow::Time until, Pausing whom) {
  if (whom == Pausing::anonymous) {
    limiter->pause_anonymous(now, group, until);
    anonymous_pauses_.extend(now, group, until);
  } else {
    limiter->pause(now, group, until);
    pauses_.extend(now, group, until);
  }
}

/// A request so heavy that a pacer needs longer than `queue.maxWait` for it would make all requests behind it time out.
std::optional<http::Refusal> Upstream::judge_weight(int weight) const {
  const auto refusal = [&](const std::string& why) {
    return http::Refusal{.why = http::Reason::limit_too_heavy,
                         .details = name + " takes no Penstock-Weight of " + std::to_string(weight) + ": " + why};
  };
  if (weight == 1) return std::nullopt;
  if (weight > settings.max_weight) return refusal("maxWeight is " + std::to_string(settings.max_weight));
  const double patience = std::chrono::duration<double>(settings.queue.max_wait).count();
  for (const auto& limit : settings.limits) {
    const auto* pacer = std::get_if<PacerConfig>(&limit.kind);
    if (!pacer || weight <= pacer->max_burst + pacer->qps * patience) continue;
    return refusal("the limit " + std::string(penstock::limit_name(limit)) +
                   " would let nobody else leave within queue.maxWait");
  }
  return std::nullopt;
}

void Upstream::renumber(flow::LimitIndex& limited_by, TakenDeparture& departure) const {
  if (other_limiter_) departure.disown();
  departure.renumber(moved_);
  if (!moved_.empty()) limited_by = flow::renumbered(limited_by, moved_);
}

void Upstream::renumbered() {
  moved_.clear();
  other_limiter_ = false;
}

}  // namespace penstock::proxy
