// SPDX-License-Identifier: Apache-2.0
// The text of a plan: a line for each limit, each process and each fault.
#include "simulation/plan.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>
#include <variant>

namespace penstock::simulation {

namespace {

constexpr std::array<std::string_view, kFaultKinds> kFaultNames{"Redis stops",
                                                                "Redis loses its memory",
                                                                "Redis goes back",
                                                                "Redis is flushed",
                                                                "scripts are flushed",
                                                                "Redis stalls",
                                                                "all connections are reset",
                                                                "both connections are reset",
                                                                "the mailbox is lost",
                                                                "cut off",
                                                                "frozen",
                                                                "killed",
                                                                "Redis' clock is set",
                                                                "Redis is out of memory",
                                                                "Redis is read-only",
                                                                "denied",
                                                                "key erased",
                                                                "the connection for calls is lost",
                                                                "half a reply",
                                                                "messages come late",
                                                                "messages come twice",
                                                                "messages are lost",
                                                                "all connections lead to another id",
                                                                "a script fails in the middle",
                                                                "told to pause",
                                                                "no client hears what is published",
                                                                "foreign value",
                                                                "the slot moves",
                                                                "a node goes and its replica takes over",
                                                                "a replica takes over from a node that lives",
                                                                "a replica takes over from a node that stalls",
                                                                "the cluster is down",
                                                                "another node of the cluster"};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string duration(Time time) {
  constexpr std::pair<Time, std::string_view> kUnits[] = {{kDay, "d"},    {kHour, "h"},         {kMinute, "m"},
                                                          {kSecond, "s"}, {kMillisecond, "ms"}, {1, "us"}};
  if (time == 0) return "0s";
  const auto whole = std::ranges::find_if(kUnits, [&](const auto& unit) { return time % unit.first == 0; });
  if (time / whole->first < 10'000) return std::to_string(time / whole->first) + std::string(whole->second);
  if (time < kSecond) return number(static_cast<double>(time) / kMillisecond) + "ms";
  return number(static_cast<double>(time) / kSecond) + "s";
}
std::string duration(Duration time) { return duration(static_cast<Time>(time.count())); }

struct Parameters {
  std::string operator()(const PacerConfig& pacer) const {
    const bool usual = pacer.burst_allowance_factor == PacerConfig{}.burst_allowance_factor;
    return "qps: " + number(pacer.qps) + ", maxBurst: " + std::to_string(pacer.max_burst) +
           (usual ? "" : ", burstAllowanceFactor: " + number(pacer.burst_allowance_factor));
  }
  std::string operator()(const WindowConfig& window) const {
    return "reservoir: " + std::to_string(window.reservoir) + ", interval: " + duration(window.interval) +
           (window.spread ? ", spread: true" : "");
  }
  std::string operator()(const SlidingWindowConfig& window) const {
    return "max: " + std::to_string(window.max) + ", interval: " + duration(window.interval);
  }
  std::string operator()(const TokenBucketConfig& bucket) const {
    return "capacity: " + std::to_string(bucket.capacity) + ", refillAmount: " + std::to_string(bucket.refill_amount) +
           ", refillFrequency: " + duration(bucket.refill_frequency);
  }
  std::string operator()(const SemaphoreConfig& semaphore) const {
    return "capacity: " + std::to_string(semaphore.capacity) + ", lease: " + duration(semaphore.lease);
  }
  std::string operator()(const CounterConfig& counter) const {
    return "max: " + std::to_string(counter.max) + ", period: " + duration(counter.period);
  }
  std::string operator()(const AdaptiveConfig& adaptive) const {
    return "min: " + number(adaptive.min) + "/s, max: " + number(adaptive.max) + "/s";
  }
};

std::string text_of(const LimitConfig& limit) {
  return std::string(limit_key(limit.kind)) + ": { " + std::visit(Parameters{}, limit.kind) +
         (limit.name.empty() ? "" : ", name: " + limit.name) + (limit.route.empty() ? "" : ", of the route") +
         (limit.per == LimitConfig::Per::group ? ", per: group" : "") + (limit.shared ? "" : ", shared: false") +
         (limit.mode == LimitConfig::Mode::refuse ? ", mode: refuse" : "") + " }";
}

std::string weights_of(const Demand& demand) {
  std::string text;
  for (const int weight : demand.weights) text += (text.empty() ? "" : " ") + std::to_string(weight);
  return text;
}

std::string text_of(const Demand& demand) {
  std::string text;
  const auto say = [&](const std::string& what) { text += (text.empty() ? "" : ", ") + what; };
  if (demand.clients > 0) {
    say(std::to_string(demand.clients) + " clients" +
        (demand.think > 0 ? " that think " + duration(demand.think) : ""));
  }
  if (demand.rate > 0) say(number(demand.rate) + "/s" + (demand.even ? " evenly" : ""));
  if (demand.spike > 0) say(std::to_string(demand.spike) + " at " + duration(demand.spike_at));
  if (demand.from > 0) say("from " + duration(demand.from));
  if (demand.until > 0) say("until " + duration(demand.until));
  if (demand.groups > 0) {
    say(std::to_string(demand.groups) + " groups" + (demand.zipf > 0 ? " by Zipf " + number(demand.zipf) : ""));
  }
  if (demand.routed > 0) say(number(demand.routed * 100) + " % of the route");
  if (!demand.weights.empty()) say("weights " + weights_of(demand));
  say("flights " + duration(demand.flight) + (demand.flight_varies ? " in the mean" : ""));
  if (demand.leaves > 0) say(number(demand.leaves * 100) + " % give up after " + duration(demand.leaves_after));
  if (demand.max_wait > 0) say("Penstock-Max-Wait " + duration(demand.max_wait));
  return text;
}

std::string text_of(const Member& member) {
  const auto& settings = member.settings;
  std::string former;
  for (const LimitConfig& limit : member.former) former += text_of(limit) + ", ";
  return (member.reloads > 0 ? former + "until it reloads at " + duration(member.reloads) + "; " : "") +
         (member.joins > 0 ? "joins at " + duration(member.joins) + ", " : "") +
         (member.ends > 0 ? "ends at " + duration(member.ends) + ", " : "") + "round trip " +
         duration(member.round_trip) + (member.jitter > 0 ? " ± " + number(member.jitter * 100) + " %" : "") +
         (member.drift_ppm != 0 ? ", drifts " + number(member.drift_ppm) + " ppm" : "") +
         (member.wall_ahead != 0 ? ", time of day ahead by " + duration(member.wall_ahead) : "") + ", maxConcurrent " +
         std::to_string(settings.max_concurrent) + ", maxPending " + std::to_string(settings.max_pending) +
         ", maxWait " + duration(settings.max_wait) + "; " + text_of(member.demand);
}

std::string text_of(const Fault& fault) {
  std::string text = "at " + duration(fault.at) + ": ";
  if (fault.member >= 0) text += "process " + std::to_string(fault.member) + ": ";
  text += name_of(fault.kind);
  if (fault.elsewhere) text += " (at a node without the upstream's slot)";
  if (!fault.command.empty()) text += " " + fault.command;
  if (!fault.key.empty()) text += " " + fault.key;
  if (fault.step != 0) text += " by " + (fault.step < 0 ? "-" + duration(-fault.step) : duration(fault.step));
  if (fault.lasts > 0) text += " for " + duration(fault.lasts);
  if (fault.back > 0) text += ", to what it was " + duration(fault.back) + " before";
  return text;
}

}  // namespace

std::string_view name_of(Fault::Kind kind) { return kFaultNames[static_cast<std::size_t>(kind)]; }

bool Plan::grouped() const {
  return std::ranges::any_of(members, [](const Member& member) { return member.demand.groups > 0; });
}

std::string Plan::text() const {
  constexpr std::string_view kModes[] = {"share", "wait", "open", "refuse"};
  std::string text = regime + ", seed " + std::to_string(seed) + ": " + duration(length) + ", whenDown " +
                     std::string(kModes[static_cast<std::size_t>(when_down)]) + ", redis.timeout " +
                     duration(redis_timeout) + (processes > 0 ? ", redis.processes " + std::to_string(processes) : "") +
                     (masters > 0 ? ", a cluster of " + std::to_string(masters) + " nodes" : "") + "\n";
  for (const LimitConfig& limit : limits) text += "  " + text_of(limit) + "\n";
  for (std::size_t i = 0; i < members.size();) {
    const std::string one = text_of(members[i]);
    std::size_t last = i;
    while (last + 1 < members.size() && text_of(members[last + 1]) == one) ++last;
    const bool several = last > i;
    text += std::string(several ? "  processes " : "  process ") + std::to_string(i) +
            (several ? " to " + std::to_string(last) : "") + ": " + one + "\n";
    i = last + 1;
  }
  for (const Fault& fault : faults) text += "  " + text_of(fault) + "\n";
  return text;
}

}  // namespace penstock::simulation
