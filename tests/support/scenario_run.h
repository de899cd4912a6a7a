// SPDX-License-Identifier: Apache-2.0
// Runs one scenario. Its lanes have unlimited slots and ask as the lanes of an upstream do: for the run of requests of
// equal load at the head, at once or when told to ask again. Departures go to the lane's requests first come, first
// served.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "support/scenario.h"

namespace penstock::scenarios {

/// The limits of one upstream, as one process asks them.
class Asked {
 public:
  virtual ~Asked() = default;
  /// Answers at once. `now` never decreases from call to call. If counter resets must be requested, the implementation
  /// first requests those due by `now` that have not taken place, each at its own due time.
  virtual flow::Booking ask(Time now, const flow::Ask& ask) = 0;
  virtual void give_back(Time now, std::string_view group, const flow::Departure& departure) = 0;
  virtual void left(Time now, std::string_view group, const flow::Departure& departure) = 0;
  virtual void refused(Time now, std::string_view group, const flow::Departure& departure) = 0;
  virtual void learned(Time now, std::string_view group, const flow::Departure& departure,
                       const flow::Report& report) = 0;
  virtual void settle(Time now, std::string_view group, const flow::Departure& departure, int cost) = 0;
  virtual void pause(Time now, std::string_view group, Time until) = 0;
  virtual void change(Time now, const std::vector<LimitConfig>& limits) = 0;
};

class Course {
 public:
  explicit Course(Asked& asked) : asked_(asked) {}

  std::vector<Outcome> of(const Scenario& scenario) {
    auto event = scenario.events.begin();
    for (int steps = 0; steps < kMostSteps; ++steps) {
      const auto [name, lane] = next_lane();
      const bool events_left = event != scenario.events.end();
      if (!lane && !events_left) return outcomes();
      const Time event_at = events_left ? std::visit([](const auto& it) { return it.at; }, *event) : 0;
      if (lane && (!events_left || lane->ask_again <= event_at)) {
        ask(lane->ask_again, name, *lane);
      } else {
        std::visit([&](const auto& it) { happen(it); }, *event++);
      }
    }
    ADD_FAILURE() << "endless";
    return outcomes();
  }

 private:
  static constexpr int kMostSteps = 100'000;
  struct Request {
    Time arrived;
    flow::Load load;
    std::string group;
    flow::Departure departure = {.weight = 0};  // none yet
    Outcome outcome = {};
  };
  struct Lane {
    std::deque<std::size_t> waiting;
    Time ask_again = 0;
    int told = 0;  // sequence number of this answer among all lanes
    LimitIndex told_by = kNoLimit;
  };

  void happen(const Arrive& arrival) {
    const std::string group(arrival.group);
    Lane& lane = lanes_[group];
    const bool was_told_to_wait = !lane.waiting.empty();
    for (int i = 0; i < arrival.count; ++i) {
      lane.waiting.push_back(requests_.size());
      requests_.push_back({arrival.at, flow::Load(arrival.weight, arrival.cost), group});
    }
    if (!was_told_to_wait) ask(arrival.at, group, lane);
  }
  /// Every lane that waits asks again; what it was told before is void.
  void happen(const Change& change) {
    asked_.change(change.at, change.limits);
    for (auto& [name, lane] : lanes_) {
      lane.ask_again = std::min(lane.ask_again, change.at);
      lane.told_by = kNoLimit;
    }
  }
  void happen(const Pause& pause) { asked_.pause(pause.at, pause.group, pause.until); }
  void happen(const GiveBack& back) {
    const Request& request = requests_.at(back.request);
    ASSERT_GT(request.departure.at, back.at) << "is not ahead";
    asked_.give_back(back.at, request.group, request.departure);
  }

  void happen(const LeaveLate& late) {
    Request& request = requests_.at(late.request);
    if (request.departure.weight == 0 || request.departure.at > late.at) return;
    asked_.left(late.at, request.group, request.departure);
    request.departure.late += late.at - request.departure.at;
    request.departure.at = late.at;
  }

  void happen(const Refuse& refusal) {
    const Request& request = requests_.at(refusal.request);
    if (request.departure.weight == 0 || request.departure.at > refusal.at) return;
    asked_.refused(refusal.at, request.group, request.departure);
  }

  void happen(const Learn& learnt) {
    const Request& request = requests_.at(learnt.request);
    if (request.departure.weight == 0 || request.departure.at > learnt.at) return;
    asked_.learned(learnt.at, request.group, request.departure, {learnt.limit, learnt.count, learnt.resets});
  }

  /// Lanes that wait ask again.
  void happen(const Settle& settled) {
    Request& request = requests_.at(settled.request);
    if (request.departure.weight == 0 || request.departure.at > settled.at) return;
    if (request.departure.cost == settled.cost) return;
    asked_.settle(settled.at, request.group, request.departure, settled.cost);
    request.departure.cost = settled.cost;
    for (auto& [name, lane] : lanes_) lane.ask_again = std::min(lane.ask_again, settled.at);
  }

  /// Asks until no request waits, or the lane is told to wait.
  void ask(Time now, const std::string& group, Lane& lane) {
    while (!lane.waiting.empty()) {
      const std::size_t count = run_at_head(lane);
      const flow::Load load = requests_[lane.waiting.front()].load;
      const flow::Booking booking =
          asked_.ask(now, {.group = group, .count = count, .weight = load.weight, .cost = load.cost});
      ASSERT_LE(booking.departures.size(), count);
      for (const flow::Departure& departure : booking.departures) grant(lane, departure);
      if (booking.departures.size() == count) continue;
      if (booking.stop == flow::Booking::Stop::refused) {
        take_head(lane).outcome = refused(booking.limited_by);
        continue;
      }
      ASSERT_EQ(booking.stop, flow::Booking::Stop::turn);
      lane.ask_again = std::max(booking.ask_again, now + 1);
      lane.told = ++told_;
      lane.told_by = booking.limited_by;
      return;
    }
  }

  void grant(Lane& lane, const flow::Departure& departure) {
    Request& request = take_head(lane);
    EXPECT_EQ(departure.load(), request.load);
    request.departure = departure;
    request.outcome = {departure.at, departure.limited_by};
    if (departure.limited_by == kNoLimit && departure.at > request.arrived) request.outcome.by = lane.told_by;
  }

  std::size_t run_at_head(const Lane& lane) const {
    const flow::Load load = requests_[lane.waiting.front()].load;
    const auto end = std::ranges::find_if(lane.waiting, [&](std::size_t n) { return requests_[n].load != load; });
    return static_cast<std::size_t>(end - lane.waiting.begin());
  }
  Request& take_head(Lane& lane) {
    Request& request = requests_[lane.waiting.front()];
    lane.waiting.pop_front();
    return request;
  }

  /// The waiting lane that is to ask next; among lanes with the same time, the one that was told first.
  std::pair<std::string, Lane*> next_lane() {
    std::pair<std::string, Lane*> next{{}, nullptr};
    for (auto& [name, lane] : lanes_) {
      if (lane.waiting.empty()) continue;
      const auto key = [](const Lane& of) { return std::pair(of.ask_again, of.told); };
      if (!next.second || key(lane) < key(*next.second)) next = {name, &lane};
    }
    return next;
  }

  std::vector<Outcome> outcomes() const {
    std::vector<Outcome> all;
    for (const Request& request : requests_) all.push_back(request.outcome);
    return all;
  }

  Asked& asked_;
  std::vector<Request> requests_;
  std::map<std::string, Lane> lanes_;
  int told_ = 0;
};

/// `1 001 000 by 0, 2 001 000, refused by 1`
inline void PrintTo(const Outcome& outcome, std::ostream* out) {
  if (outcome.refused) {
    *out << "refused";
  } else {
    *out << outcome.at;
  }
  if (outcome.by != kNoLimit) *out << " by " << outcome.by;
}

inline void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }

}  // namespace penstock::scenarios
