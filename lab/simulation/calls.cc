// SPDX-License-Identifier: Apache-2.0
// Judges how often Redis is called.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "flow/limiter.h"
#include "simulation/reading.h"

namespace penstock::simulation {

namespace {

/// The fraction of the run in which a process wanted to send.
double saturated(const Reading& reading, const std::vector<Span>& wanting) {
  if (reading.journal().ended == 0) return 0;
  Time length = 0;
  for (const Span& span : wanting) length += span.length();
  return static_cast<double>(length) / static_cast<double>(reading.journal().ended);
}

/// Calls a request, as published. Under load one grant serves several requests. With a slow limit each request calls,
/// and those that were told a later time call again when another request leaves; a request that need not wait calls
/// once. `wanting`: when its process wanted to send.
double calls_allowed(const Reading& reading, const std::vector<Span>& wanting) {
  const auto wide = reading.rate_limits(LimitConfig::Per::upstream);
  if (reading.has(LimitKind::semaphore)) return 2;
  // Groups and routes that are held by their own limits call for each request.
  if (reading.has_group_limits() || reading.has_routes()) return 4;
  if (reading.mixed_weights()) return 2;
  if (!reading.all_shared())
    return 1.2;  // what each process keeps alone is looked at before each call, for one request
  const double one_grant = grant(wide, reading.heaviest(), reading.plan().members.size()) / reading.heaviest();
  return saturated(reading, wanting) > 0.9 && one_grant > 1 ? 1 / one_grant + 0.1 : 1.2;
}

double most_calls_allowed(const Reading& reading) {
  double most = 0;
  for (const auto& wanting : reading.wanting()) most = std::max(most, calls_allowed(reading, wanting));
  return most;
}

/// The calls allowed for the requests that departed in a stretch, each by what its process wanted.
double calls_for_served(const Reading& reading, const Span& stretch) {
  std::vector<double> each;
  for (const auto& wanting : reading.wanting()) each.push_back(calls_allowed(reading, wanting));
  double calls = 0;
  for (const Left& left : reading.left()) {
    if (left.at < stretch.from || left.at > stretch.until) continue;
    calls += each[static_cast<std::size_t>(reading.journal().requests[left.id].member)];
  }
  return calls;
}

void judge_calls_a_request(const Reading& reading, Judgement& judgement) {
  const Journal& journal = reading.journal();
  if (!reading.disturbed().empty() || reading.left().size() < 100) return;
  double idle = 0, gave_up = 0;
  for (const Member& member : reading.plan().members)
    idle += static_cast<double>(std::max<Time>(0, journal.ended - member.joins)) / 1e6;
  for (const Request& request : journal.requests)
    gave_up += request.end == Request::End::left && request.departed == kNotYet;
  const auto calls = static_cast<double>(journal.calls.size() + journal.presences.size());
  const auto served = static_cast<double>(reading.left().size());
  const auto processes = static_cast<double>(reading.plan().members.size());
  // A request that is refused because it would wait for too long has called, and leaves the line as one that gives up.
  const auto refused = static_cast<double>(std::ranges::count(journal.requests, Request::End::refused, &Request::end));
  const double allowed = calls_for_served(reading, {0, journal.ended}) + idle + (gave_up + refused) * processes;
  judgement.figures.calls_a_request = std::max(0.0, calls - idle) / served;
  if (calls <= allowed) return;
  breaks(judgement, "calls",
         said("%.0f calls for %.0f requests (%.3f each); %.0f would be right", calls, served,
              judgement.figures.calls_a_request, allowed),
         judgement.figures.calls_a_request);
}

/// A process says about once a second that it is there, and not in the first horizon after a return.
void judge_presences(const Reading& reading, Judgement& judgement) {
  struct Known {
    Time said = -kSecond, back = -kSecond;
    bool up = false, was_up = false;
  };
  const Journal& journal = reading.journal();
  std::vector<Known> known(reading.plan().members.size());
  auto standing = journal.standings.begin();
  for (const Call& call : journal.presences) {
    for (; standing != journal.standings.end() && standing->at <= call.at; ++standing) {
      Known& its = known[static_cast<std::size_t>(standing->member)];
      if (standing->up && !its.up && its.was_up) its.back = standing->at;
      its.up = standing->up;
      its.was_up |= its.up;
    }
    Known& its = known[static_cast<std::size_t>(call.member)];
    const Time since = call.at - std::exchange(its.said, call.at);
    // If Redis has forgotten its scripts, or the node that has the key is another or away, the call is repeated.
    const bool again = std::ranges::any_of(reading.plan().faults, [&](const Fault& fault) {
      const bool repeats = fault.kind == Fault::Kind::scripts_flushed || fault.elsewhere;
      return repeats && call.at >= fault.at && call.at < fault.at + fault.lasts + 2 * kSecond;
    });
    if (again || (since >= kSecond * 2 / 5 && call.at > its.back + flow::kHorizon)) continue;
    breaks(judgement, "calls",
           said("process %d said at %s that it is there, %lld us after it last did and %lld us after its return",
                call.member, moment(call.at).c_str(), static_cast<long long>(since),
                static_cast<long long>(call.at - its.back)),
           static_cast<double>(since));
  }
}

/// Whether processes wait for each other when Redis is back, before anything is granted: as another server answers, or
/// the same one which has lost its memory.
bool meets_anew(const Reading& reading, const Fault& fault) {
  using Kind = Fault::Kind;
  const bool is_another = fault.kind == Kind::redis_stops || fault.kind == Kind::id_changes;
  return reading.plan().members.size() > 1 && (is_another || loses_memory(fault.kind));
}

/// What a process may call in the first horizon after a return, whatever departs. It looks, and asks for what waits. It
/// replays what Redis has lost, and by `share` what it did alone. Where another node answers, the former one was called
/// in vain. Where processes wait for each other, it looks again 10 ms later and 20 ms after that; the next time would
/// be 70 ms after the first, see look_soon() in recovery.cc. Of a counter it says that it waits for the reset
/// (reset.lua), and of a semaphore what came back meanwhile (permits.lua).
double calls_of_a_return(const Reading& reading, const Fault& fault) {
  const bool elsewhere = fault.kind == Fault::Kind::slot_moves || is_of_replica(fault.kind);
  const bool replays = reading.plan().when_down == WhenDown::share || loses_memory(fault.kind);
  double calls = replays ? 3 : 2;
  calls += elsewhere ? 1 : 0;
  calls += meets_anew(reading, fault) ? 2 : 0;
  for (const LimitConfig& limit : reading.plan().limits) {
    const bool calls_besides = kind_of(limit) == LimitKind::counter || counts_flights(limit);
    if (limit.shared && calls_besides && !of_group(limit)) calls += 1;
  }
  return calls;
}

/// Of each fault whose return may come in the first horizon after `back`; it is noticed within a second.
double calls_of_returns(const Reading& reading, const Fault& fault, Time back) {
  const auto returns = [&](const Fault& other) {
    const Time end = end_of(other, reading.journal().ended);
    return is_outage(reading.plan(), other) && other.at <= back + flow::kHorizon && end + kSecond >= back;
  };
  double calls = 0;
  for (const Fault& other : reading.journal().faults) {
    if (&other == &fault || returns(other)) calls += calls_of_a_return(reading, other);
  }
  return calls;
}

/// In the first horizon after a return: what returning takes, plus what the limit's rate needs, or what departs
/// meanwhile: the first of a period, or of a semaphore, is more than its rate. Where groups have limits of their own,
/// each group that waits asks.
void judge_storm(const Reading& reading, const Fault& fault, Judgement& judgement) {
  const Journal& journal = reading.journal();
  if (!is_outage(reading.plan(), fault)) return;
  const Time end = end_of(fault, journal.ended);
  const auto back = std::ranges::find_if(journal.standings, [&](auto& one) { return one.at >= end && one.up; });
  if (back == journal.standings.end()) return;
  const auto calls = std::ranges::count_if(
      journal.calls, [&](const Call& call) { return call.at >= back->at && call.at <= back->at + flow::kHorizon; });
  const auto processes = static_cast<double>(reading.plan().members.size());
  const double rate = slowest_rate(reading.plan().limits);
  const double passes = std::isfinite(rate) ? rate * static_cast<double>(flow::kHorizon) / 1e6 : 0;
  const double for_served = calls_for_served(reading, {back->at, back->at + flow::kHorizon});
  double lanes = 0;
  if (reading.has_group_limits()) {
    for (const Member& member : reading.plan().members) lanes += member.demand.groups;
  }
  if (reading.has_routes()) lanes = 2 * lanes + 2 * static_cast<double>(reading.plan().members.size());
  const double allowed = calls_of_returns(reading, fault, back->at) * processes + lanes +
                         std::max(passes * most_calls_allowed(reading), for_served);
  if (static_cast<double>(calls) <= allowed + 1e-6) return;
  breaks(judgement, "storm",
         said("%lld calls in the 50 ms after %s, when Redis was back; %.1f would be right",
              static_cast<long long>(calls), moment(back->at).c_str(), allowed),
         static_cast<double>(calls));
}

}  // namespace

void judge_calls(const Reading& reading, Judgement& judgement) {
  judge_calls_a_request(reading, judgement);
  judge_presences(reading, judgement);
  for (const Fault& fault : reading.journal().faults) judge_storm(reading, fault, judgement);
}

}  // namespace penstock::simulation
