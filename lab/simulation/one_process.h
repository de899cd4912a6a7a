// SPDX-License-Identifier: Apache-2.0
// For tests of judges: a real process without a network plays a plan of one member in virtual time, with a
// flow::Scheduler over its own limits. It keeps all rules by itself, so no judge may find anything.
#pragma once

#include <cstdint>
#include <queue>
#include <string>
#include <vector>

#include "flow/local_limiter.h"
#include "flow/scheduler.h"
#include "simulation/hand_made.h"
#include "simulation/random.h"

namespace penstock::simulation {

class OneProcess {
 public:
  explicit OneProcess(Plan plan)
      : plan_(std::move(plan)),
        member_(plan_.members.front()),
        random_(plan_.seed),
        limiter_(plan_.limits, flow::instant_at_zero(kSunday, 0)),
        upstream_(member_.settings, limiter_) {}

  Journal run() {
    journal_.wall_at_begin = kSunday;
    journal_.standings.push_back({.at = 0, .member = 0, .up = true});
    const Demand& demand = member_.demand;
    for (int i = 0; i < demand.clients; ++i) later_.push({random_.between(0, kMillisecond), What::comes, 0});
    for (int i = 0; i < demand.spike; ++i) later_.push({demand.spike_at, What::comes_once, 0});
    if (demand.rate > 0) later_.push({0, What::comes_in_turn, 0});
    for (;;) {
      const auto wakes = upstream_.wake_at();
      const Time next = later_.empty() ? plan_.length : later_.top().at;
      now_ = std::max(now_, std::min(next, wakes.value_or(next)));
      if (now_ >= plan_.length) break;
      if (wakes && *wakes <= now_) upstream_.advance(now_, commands_), carry_out();
      if (later_.empty() || later_.top().at > now_) continue;
      const Later what = later_.top();
      later_.pop();
      play(what);
    }
    journal_.ended = plan_.length;
    return std::move(journal_);
  }

 private:
  enum class What : std::uint8_t { comes, comes_once, comes_in_turn, lands };
  struct Later {
    Time at;
    What what;
    std::size_t id;
    bool operator>(const Later& other) const { return at != other.at ? at > other.at : id > other.id; }
  };

  void play(const Later& later) {
    const Demand& demand = member_.demand;
    if (later.what == What::lands) return land(later.id);
    if (demand.until > 0 && now_ >= demand.until) return;
    if (later.what == What::comes_in_turn) {
      const double gap = demand.even ? 1e6 / demand.rate : random_.exponential(1e6 / demand.rate);
      later_.push({now_ + std::max<Time>(1, static_cast<Time>(gap)), What::comes_in_turn, 0});
    }
    arrive(later.what == What::comes);
  }

  void arrive(bool again) {
    const Demand& demand = member_.demand;
    const std::size_t id = journal_.requests.size();
    const int group =
        demand.groups > 0 ? static_cast<int>(random_.below(static_cast<std::uint64_t>(demand.groups))) : -1;
    const int weight = demand.weights.empty() ? 1 : random_.any(demand.weights);
    const std::string name = group < 0 ? "" : std::to_string(group);
    journal_.requests.push_back({.group = group, .weight = weight, .arrived = now_});
    journal_.requests.back().told = upstream_.retry_after(now_, flow::LaneKey(name), weight);
    tickets_.emplace_back();
    repeats_.push_back(again);
    tickets_[id] = upstream_.arrive(now_, {.id = id, .weight = weight, .group = name}, commands_);
    carry_out();
  }

  void land(std::size_t id) {
    journal_.requests[id].ended = now_;
    journal_.requests[id].end = Request::End::served;
    upstream_.land(now_, tickets_[id], commands_);
    carry_out();
    come_again(id);
  }

  void come_again(std::size_t id) {
    if (repeats_[id]) later_.push({now_ + 1 + member_.demand.think, What::comes, 0});
  }

  void carry_out() {
    for (const auto& start : commands_.start) {
      const Demand& demand = member_.demand;
      journal_.requests[start.id].departed = now_;
      journal_.requests[start.id].booked = start.booked;
      journal_.departures.push_back(start.id);
      const double flight = demand.flight_varies ? random_.exponential(static_cast<double>(demand.flight))
                                                 : static_cast<double>(demand.flight);
      later_.push({now_ + std::max<Time>(1, static_cast<Time>(flight)), What::lands, start.id});
    }
    for (const auto& refused : commands_.refuse) {
      Request& request = journal_.requests[refused.id];
      request.ended = now_;
      request.end = Request::End::refused;
      request.refused = refused.why;
      request.limited_by = refused.limited_by;
      come_again(refused.id);
    }
    commands_.clear();
  }

  Plan plan_;
  const Member& member_;
  Random random_;
  flow::LocalLimiter limiter_;
  flow::Scheduler upstream_;
  flow::Commands commands_;
  Journal journal_;
  std::vector<flow::Ticket> tickets_;
  std::vector<bool> repeats_;  // whether the client of each request asks again
  std::priority_queue<Later, std::vector<Later>, std::greater<>> later_;
  Time now_ = 0;
};

}  // namespace penstock::simulation
