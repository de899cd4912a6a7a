// SPDX-License-Identifier: Apache-2.0
// Judges one process that shares its limits with no other, through Redis: it must do as it would by itself. Its
// arrivals, flights and give-ups are played again on a scheduler with a limiter of its own, and departures are compared
// one by one.
#include <algorithm>
#include <cstdlib>
#include <queue>
#include <string>
#include <vector>

#include "flow/local_limiter.h"
#include "flow/scheduler.h"
#include "simulation/reading.h"

namespace penstock::simulation {

namespace {

class Replay {
 public:
  explicit Replay(const Reading& reading)
      : requests_(reading.journal().requests),
        end_(reading.journal().ended),
        limiter_(reading.plan().limits, flow::instant_at_zero(reading.journal().wall_at_begin, 0)),
        upstream_(reading.plan().members.front().settings, limiter_),
        departed_(requests_.size(), kNotYet),
        tickets_(requests_.size()) {
    const Time reached = reached_redis(reading);
    for (std::size_t id = 0; id < requests_.size(); ++id) {
      const Request& request = requests_[id];
      later_.push({std::max(request.arrived, reached), What::comes, id});
      const bool gave_up = request.departed == kNotYet && request.ended != kNotYet;
      if (gave_up && request.end != Request::End::refused)
        later_.push({std::max(request.ended, reached), What::gives_up, id});
    }
  }

  /// The departure of each request.
  std::vector<Time> run() {
    for (Time now = 0; now <= end_;) {
      const auto wakes = upstream_.wake_at();
      if (later_.empty() && !wakes) break;
      const Time next = later_.empty() ? *wakes : later_.top().at;
      now = std::max(now, std::min(next, wakes.value_or(next)));
      if (wakes && *wakes <= now) {
        upstream_.advance(now, commands_);
      } else {
        const Later what = later_.top();
        later_.pop();
        play(now, what);
      }
      carry_out(now);
    }
    return std::move(departed_);
  }

 private:
  /// When the process reached Redis: connecting takes several round trips, and its first requests wait for that.
  static Time reached_redis(const Reading& reading) {
    const auto& standings = reading.journal().standings;
    const auto first = std::ranges::find(standings, true, &Standing::up);
    return first == standings.end() ? 0 : first->at;
  }

  enum class What : std::uint8_t { lands, comes, gives_up };
  struct Later {
    Time at;
    What what;
    std::size_t id;
    bool operator>(const Later& other) const {
      return at != other.at ? at > other.at : what != other.what ? what > other.what : id > other.id;
    }
  };

  void play(Time now, const Later& later) {
    const Request& request = requests_[later.id];
    flow::Ticket& ticket = tickets_[later.id];
    if (later.what == What::lands) return upstream_.land(now, ticket, commands_);
    if (later.what == What::gives_up) return upstream_.cancel(now, ticket, commands_);
    const std::string group = request.group < 0 ? "" : std::to_string(request.group);
    flow::Arrival arrival{.id = later.id, .weight = request.weight, .group = group};
    if (request.routed) arrival.route = kRoute;
    ticket = upstream_.arrive(now, arrival, commands_);
  }

  void carry_out(Time now) {
    for (const auto& start : commands_.start) {
      departed_[start.id] = now;
      const Request& request = requests_[start.id];
      const bool landed = request.departed != kNotYet && request.ended != kNotYet;
      if (landed) later_.push({now + request.ended - request.departed, What::lands, start.id});
    }
    commands_.clear();
  }

  const std::vector<Request>& requests_;
  Time end_;
  flow::LocalLimiter limiter_;
  flow::Scheduler upstream_;
  flow::Commands commands_;
  std::vector<Time> departed_;
  std::vector<flow::Ticket> tickets_;
  std::priority_queue<Later, std::vector<Later>, std::greater<>> later_;
};

bool comparable(const Reading& reading) {
  const Plan& plan = reading.plan();
  // Not comparable: a counter's resets depend on when they begin, and a refusal at the last moment on one round trip.
  return plan.members.size() == 1 && reading.disturbed().empty() && !plan.limits.empty() &&
         !reading.has(LimitKind::counter) && !reading.has_refusing_limits() &&
         plan.members.front().demand.max_wait == 0 &&
         std::ranges::none_of(reading.journal().requests, [](auto& one) { return one.end == Request::End::refused; });
}

}  // namespace

void judge_alone(const Reading& reading, Judgement& judgement) {
  if (!comparable(reading)) return;
  const std::vector<Time> departed = Replay(reading).run();
  const Time tolerance = 2 * reading.longest_trip() + reading.clock_error() + kMillisecond;
  std::size_t wrong = 0;
  Time worst = 0;
  std::string example;
  for (const Left& one : reading.left()) {
    const Time alone = departed[one.id], off = alone == kNotYet ? one.at : std::abs(one.at - alone);
    const bool not_yet = alone == kNotYet && reading.journal().ended - one.at <= tolerance;
    if (not_yet || off <= tolerance) continue;
    ++wrong;
    if (off <= worst) continue;
    worst = off;
    example = said("request %zu left at %s, and by itself at %s", one.id, moment(one.at).c_str(),
                   alone == kNotYet ? "no time" : moment(alone).c_str());
  }
  if (wrong * 100 <= reading.left().size()) return;
  breaks(judgement, "alone",
         said("%zu of %zu departures are not as by itself: %s", wrong, reading.left().size(), example.c_str()),
         static_cast<double>(wrong) / static_cast<double>(reading.left().size()));
}

}  // namespace penstock::simulation
