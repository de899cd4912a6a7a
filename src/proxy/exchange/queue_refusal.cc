// SPDX-License-Identifier: Apache-2.0
// See queue_refusal.h.
#include "proxy/exchange/queue_refusal.h"

#include <string>
#include <utility>

#include "proxy/exchange/upstream_view.h"

namespace penstock::proxy {

namespace {

/// For example "2 slots: busy tunnels; 4 tunnels rest without one"; empty: no tunnels.
std::string tunnels_in_words(const flow::Scheduler& scheduler) {
  const auto count = [](std::size_t number, const std::string& what) {
    return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
  };
  const auto [busy, resting] = scheduler.tunnels();
  std::string words;
  if (busy > 0) words = count(busy, "slot") + (busy == 1 ? ": a busy tunnel" : ": busy tunnels");
  if (resting > 0)
    words += (busy > 0 ? "; " : "") + count(resting, "tunnel") + (resting == 1 ? " rests" : " rest") + " without one";
  return words;
}
constexpr flow::Time kShortly = 1'000'000;

http::Refusal busy(http::Reason why, std::string what, flow::Time wait = kShortly) {
  return http::refusal_until(why, std::move(what), Duration{wait});
}
}  // namespace

http::Refusal refusal_of(const flow::Commands::Refuse& command, const Upstream& upstream, const UpstreamQueue& queue,
                         flow::Time now) {
  const bool by_slots = command.limited_by == flow::kSlots;
  const std::string by(by_slots ? "slots" : upstream.own_name(name_of_limit(queue.settings, command.limited_by)));
  const flow::Time wait = command.retry_after + queue.lateness(command.limited_by, now);
  std::string limited = by.empty() ? "" : "limited by " + by;
  if (const std::string tunnels = tunnels_in_words(queue.scheduler()); !tunnels.empty())
    limited += (by.empty() ? "" : "; ") + tunnels;
  if (!limited.empty()) limited = " (" + limited + ")";
  switch (command.why) {
    case flow::Refused::queue_full:
      return busy(http::Reason::queue_full, upstream.name + " queue full" + limited, wait);
    case flow::Refused::wait_over:
      return busy(http::Reason::wait_over, upstream.name + " queue wait over" + limited, wait);
    case flow::Refused::limited: return busy(http::Reason::limit_refused, upstream.name + " limited by " + by, wait);
    case flow::Refused::unavailable:
      return busy(http::Reason::limiter_down, upstream.name + " limits cannot be asked (" + by + ")");
    case flow::Refused::too_heavy: break;
  }
  return {.why = http::Reason::limit_too_heavy,
          .details = upstream.name + " limit " + by + " never allows this Penstock-Weight"};
}

http::Refusal refusal_of(PendingMemory::Full full, flow::Time wait) {
  const std::string whose = full == PendingMemory::Full::of_this_client ? "of this client " : "";
  return busy(http::Reason::pending_memory,
              "pending requests " + whose + "fill the memory set aside for them (caps.pendingMemory)", wait);
}

/// A request so heavy that a pacer needs longer than `queue.maxWait` for it would make all requests behind it time out.
std::optional<http::Refusal> judge_weight(const Upstream& upstream, const RouteTerms& route, int weight) {
  const auto& settings = upstream.settings;
  const auto refusal = [&](const std::string& why) {
    return http::Refusal{
        .why = http::Reason::limit_too_heavy,
        .details = upstream.name + " takes no Penstock-Weight of " + std::to_string(weight) + ": " + why};
  };
  if (weight == 1) return std::nullopt;
  if (weight > settings.max_weight) return refusal("maxWeight is " + std::to_string(settings.max_weight));
  const Duration max_wait = route.max_wait ? *route.max_wait : settings.queue.max_wait;
  const double patience = std::chrono::duration<double>(max_wait).count();
  for (const auto& limit : upstream.queue().settings.limits) {
    const auto* pacer = std::get_if<PacerConfig>(&limit.kind);
    if (!pacer || !governs(limit, route.limits) || weight <= pacer->max_burst + pacer->qps * patience) continue;
    return refusal("the limit " + std::string(upstream.own_name(limit_name(limit))) +
                   " would let nobody else leave within queue.maxWait");
  }
  return std::nullopt;
}

http::Refusal refusal_of_draining() { return busy(http::Reason::draining, "shutting down"); }

}  // namespace penstock::proxy
