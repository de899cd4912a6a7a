// SPDX-License-Identifier: Apache-2.0
// Events in order of time; a call is carried out half a round trip after it was sent, and answered another half later.
#include "lua/crowd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/scenario.h"

namespace penstock::lua {

Crowd::Crowd(Scripts& scripts, Plan plan, unsigned seed)
    : plan_(std::move(plan)), post_(scripts.server()), random_(seed) {
  for (std::size_t i = 0; i < plan_.round_trips.size(); ++i) {
    const std::string who = "p" + std::to_string(i);
    processes_.push_back({.asker = Asker(scripts, "api", who, plan_.limits, scenarios::kStart),
                          .shadow = std::make_unique<flow::LocalLimiter>(plan_.limits, scenarios::kStart),
                          .round_trip = plan_.round_trips[i]});
    for (const auto& group : plan_.groups) processes_.back().lanes.push_back({.group = group});
    post_.subscribe(who);
  }
}

void Crowd::run() {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const auto workers = static_cast<int>(std::lround(plan_.workers * eagerness(i)));
    for (Lane& lane : processes_[i].lanes) {
      for (int k = 0; k < workers; ++k) {
        plan_event(chance(1'000), [this, i, &lane] { arrive(processes_[i], lane); });
      }
    }
  }
  for (int i = 0; i < plan_.spike; ++i) {
    plan_event(1, [this] {
      Process& process = any_process();
      arrive(process, process.lanes[random_() % process.lanes.size()]);
    });
  }
  if (plan_.demand > 0) next_arrival();
  while (!events_.empty() && events_.top().at < plan_.length) {
    const Event event = events_.top();
    events_.pop();
    now_ = event.at;
    event.what();
  }
  std::ranges::stable_sort(departures_, {}, &Departure::at);
}

void Crowd::plan_event_of(Process& process, Time at, std::function<void()> what) {
  plan_event(at, [this, &process, what = std::move(what)] {
    if (now_ < process.frozen_until) return plan_event_of(process, process.frozen_until, what);
    what();
  });
}

Crowd::Process& Crowd::any_process() {
  std::vector<double> eager;
  for (std::size_t i = 0; i < processes_.size(); ++i) eager.push_back(eagerness(i));
  return processes_[std::discrete_distribution<std::size_t>(eager.begin(), eager.end())(random_)];
}

void Crowd::next_arrival() {
  plan_event(now_ + chance(1e6 / plan_.demand), [this] {
    Process& process = any_process();
    arrive(process, process.lanes[random_() % process.lanes.size()]);
    next_arrival();
  });
}

void Crowd::arrive(Process& process, Lane& lane) {
  const Time patience = plan_.patience > 0 ? now_ + chance(static_cast<double>(plan_.patience)) : plan_.length;
  lane.waiting.push_back(patience);
  if (plan_.patience > 0) plan_event(patience, [=, this, &process, &lane] { give_up(process, lane, patience); });
  ask_where_due(process);
}

void Crowd::give_up(Process& process, Lane& lane, Time patience) {
  const auto found = std::ranges::find(lane.waiting, patience);
  if (found == lane.waiting.end()) return;
  lane.waiting.erase(found);
  if (lane.waiting.empty()) cancel_wait(process, lane);
}

void Crowd::cancel_wait(Process& process, Lane& lane) {
  if (lane.in_line) cancel_wait(process, lane, true);
  const bool idle = std::ranges::all_of(process.lanes, [](const Lane& one) { return one.waiting.empty(); });
  if (idle && process.in_line) cancel_wait(process, lane, false);
}

void Crowd::cancel_wait(Process& process, Lane& lane, bool of_group) {
  (of_group ? lane.in_line : process.in_line) = false;
  (of_group ? lane.told_until : process.told_until) = 0;
  ++calls_;
  plan_event(now_ + half_trip(process), [=, this, &process, &lane] {
    EXPECT_EQ(process.asker.cancel_wait(now_, lane.group, of_group).text, "ok");
    deliver_messages();
  });
}

void Crowd::ask_where_due(Process& process) {
  const std::size_t first = process.next_lane, lanes = process.lanes.size();
  for (std::size_t i = 0; i < lanes; ++i) {
    if (process.asks >= process.most_asks) return;
    Lane& lane = process.lanes[(first + i) % lanes];
    if (!retry(process, lane)) continue;
    ask(process, lane);
    if (process.most_asks < kAnyNumber) process.next_lane = (first + i + 1) % lanes;
  }
}

bool Crowd::retry(const Process& process, const Lane& lane) const {
  const bool soon = lane.booked == 0 || lane.last_departure - now_ < 2 * process.round_trip + 1'000;
  return !process.dead && now_ >= process.frozen_until && wants(lane) > 0 && soon && !lane.asking &&
         now_ >= lane.told_until && now_ >= process.told_until;
}

/// What else it could send, were it not for the limits of all. Of a lane that waits for those of its group, nothing.
std::int64_t Crowd::wants_besides(const Process& process, const Lane& asking) const {
  std::size_t besides = 0;
  for (const Lane& lane : process.lanes) {
    const bool held_by_group = lane.in_line && now_ < lane.told_until;
    if (&lane != &asking && !lane.asking && !held_by_group) besides += wants(lane);
  }
  return static_cast<std::int64_t>(besides);
}

void Crowd::ask(Process& process, Lane& lane) {
  lane.asking = true;
  ++process.asks;
  ++calls_;
  plan_event(now_ + half_trip(process), [this, &process, &lane] {
    const bool touch = now_ - process.touched >= kTouchEvery;
    if (touch) process.touched = now_;
    // Those that gave up meanwhile are not asked for.
    const std::size_t count = std::max<std::size_t>(1, wants(lane));
    Answer answer =
        process.asker.ask(now_, {.group = lane.group, .count = count, .more = wants_besides(process, lane)}, touch);
    EXPECT_THAT(answer.status, testing::AnyOf("ok", "stale", "closed"));
    deliver_messages();
    plan_event_of(process, now_ + half_trip(process),
                  [this, &process, &lane, answer = std::move(answer)] { answered(process, lane, answer); });
  });
}

void Crowd::answered(Process& process, Lane& lane, const Answer& answer) {
  lane.asking = false;
  --process.asks;
  if (answer.status == "stale") return replay(process);
  if (answer.status == "closed") return plan_event(now_ + 5'000, [this, &process] { ask_where_due(process); });
  for (const flow::Departure& departure : answer.booking.departures) {
    ++lane.booked;
    lane.last_departure = std::max(departure.at, now_);
    process.shadow->book(departure.at, lane.group, 1);
    const Time late = plan_.lateness > 0 ? std::uniform_int_distribution<Time>(0, plan_.lateness)(random_) : 0;
    plan_event_of(process, lane.last_departure + late,
                  [=, this, &process, &lane] { depart(process, lane, departure); });
  }
  if (!answer.granted_all) tell(process, lane, answer.booking);
  if (answer.granted_all && lane.last_departure <= now_) {
    process.most_asks = std::min(kAnyNumber, 2 * process.most_asks);
  }
  ask_where_due(process);
}

void Crowd::tell(Process& process, Lane& lane, const flow::Booking& booking) {
  const bool of_group = booking.scope == flow::Booking::Scope::group;
  const bool granted = !booking.departures.empty();
  Time again = booking.ask_again != 0 ? booking.ask_again : lane.last_departure - 2 * process.round_trip - 1'000;
  if (again < booking.not_before) again = std::min(again, booking.not_before - process.round_trip / (of_group ? 2 : 1));
  (of_group ? lane.told_until : process.told_until) = std::max(again, now_ + 1);
  if (!of_group) process.most_asks = 1;
  (of_group ? lane.in_line : process.in_line) = !granted || booking.ask_again != 0;
  plan_event_of(process, std::max(again, now_ + 1), [this, &process] { ask_where_due(process); });
  if (!granted && lane.waiting.empty()) cancel_wait(process, lane);
}

/// Redis has lost its memory. This does not know of groups.
void Crowd::replay(Process& process) {
  plan_event(now_ + half_trip(process), [this, &process] {
    Texts states(plan_.limits.size());
    process.shadow->states([&](flow::LimitIndex limit, std::string_view, const std::string& state) {
      states[static_cast<std::size_t>(limit)] = state;
    });
    EXPECT_FALSE(process.asker.replay(now_, "", states).is_error());
    plan_event(now_ + half_trip(process), [this, &process] { ask_where_due(process); });
  });
}

void Crowd::depart(Process& process, Lane& lane, const flow::Departure& booked) {
  --lane.booked;
  if (process.dead) return;
  if (plan_.lateness > 0 && now_ > booked.at + flow::kOnTime) {
    plan_event(now_ + half_trip(process), [=, this, &process, &lane, at = now_] {
      EXPECT_EQ(process.asker.report_late(now_, lane.group, {booked}, at).text, "ok");
    });
  }
  if (!lane.waiting.empty()) {
    lane.waiting.pop_front();
    departures_.push_back({now_, static_cast<std::size_t>(&process - processes_.data()), lane.group, booked.at});
    if (plan_.workers > 0) plan_event(now_ + kFlight, [this, &process, &lane] { arrive(process, lane); });
  }
  ask_where_due(process);
}

/// A message takes half a round trip to whom it is for.
void Crowd::deliver_messages() {
  for (const auto& [who, text] : post_.take()) {
    if (std::bernoulli_distribution(plan_.lost_messages)(random_)) continue;
    const std::string group = text.starts_with("api line ") ? text.substr(9) : "";
    for (Process& process : processes_) {
      if (process.asker.who() != who) continue;
      plan_event_of(process, now_ + half_trip(process), [this, &process, group] {
        for (Lane& lane : process.lanes) {
          if (!group.empty() && lane.group == group) lane.told_until = 0;
        }
        if (group.empty()) process.told_until = 0;
        ask_where_due(process);
      });
    }
  }
}

std::size_t Crowd::pending() const {
  std::size_t count = 0;
  for (const Process& process : processes_) {
    for (const Lane& lane : process.lanes) count += lane.waiting.size();
  }
  return count;
}

std::vector<int> Crowd::by_process(Time since) const {
  std::vector<int> counts(processes_.size());
  for (const Departure& departure : departures_) counts[departure.process] += departure.at >= since ? 1 : 0;
  return counts;
}

std::map<std::string, int> Crowd::by_group() const {
  std::map<std::string, int> counts;
  for (const auto& group : plan_.groups) counts[group] = 0;
  for (const Departure& departure : departures_) ++counts[departure.group];
  return counts;
}

int Crowd::most_within(Time length) const {
  std::ptrdiff_t most = 0;
  auto first = departures_.begin();
  for (auto last = departures_.begin(); last != departures_.end(); ++last) {
    while (first->at <= last->at - length) ++first;
    most = std::max(most, last - first + 1);
  }
  return static_cast<int>(most);
}

}  // namespace penstock::lua
