// SPDX-License-Identifier: Apache-2.0
// Step by step what the scripts do. Names are theirs.
#include "flow/rehearsed_line.h"

#include <algorithm>
#include <cmath>

namespace penstock::flow {

namespace {
/// How many units must be free.
int needed(const SharedLimit& limit, int weight) { return limit.by_cost ? 1 : weight; }

constexpr Instant kReach = static_cast<Instant>(kHorizon);
constexpr Instant kClaims = 5'000, kInTheLine = 1'000'000;  // as in lua/line.lua
constexpr double kFewest = 6;                               // as in lua/level.lua
constexpr double kNoise = 0.001;                            // as in lua/prelude.lua
constexpr std::size_t kMostAsks = 10'000;                   // of others, in one rehearsal

bool claims(double wants, Instant at, Instant now) { return wants > 0 && at + kClaims >= now; }
}  // namespace

// ---- what the processes do ------------------------------------------------------------------------------------------

double RehearsedLine::Process::waiting(Instant now) const {
  return std::floor(units + per_second * std::max(0.0, now - since) / 1e6 + kNoise);
}

Instant RehearsedLine::Process::has_one_at(Instant now) const {
  if (waiting(now) >= 1) return now;
  return per_second > 0 ? std::max(now, since + (1 - units) / per_second * 1e6) : kNever;
}

/// One that is told to depart at `at` asks half a horizon, or a round trip, before.
RehearsedLine::RehearsedLine(const std::vector<InLine>& all, Instant as_of, Ways ways) : ways_(ways), processes_(1) {
  const auto trip = static_cast<Instant>(ways.round_trip);
  for (const InLine& one : all) {
    const std::size_t who = one.is_own ? kOwn : processes_.size();
    if (one.had > 0 || one.wants > 0) line_.push_back({.who = who, .had = one.had, .wants = one.wants, .at = one.at});
    if (one.is_own) continue;
    Process process{
        .differs = one.differs, .units = one.units, .per_second = one.per_second, .since = as_of, .asks_at = kNever};
    const Instant by_line = one.at - std::max(kReach / 2, trip) + trip / 2;
    const Instant told = one.asks_at > as_of ? one.asks_at : by_line;
    process.asks_at = std::max(process.has_one_at(as_of), one.wants > 0 ? told : as_of);
    processes_.push_back(process);
  }
}

void RehearsedLine::play(SharedLimits limits, Instant until) {
  while (asks_ < kMostAsks) {
    call_after_reset(limits);
    const auto next = std::ranges::min_element(processes_, {}, &Process::asks_at);
    if (next->asks_at > until) return;
    ++asks_;
    const Instant now = next->asks_at;
    const Asked asked{.now = now,
                      .count = static_cast<std::size_t>(std::min(next->waiting(now), InLine::kMost)),
                      .who = static_cast<std::size_t>(next - processes_.begin())};
    const Answer answer = book(limits, asked);
    next->units -= static_cast<double>(answer.ended.granted);
    next->asks_at = std::max(comes_again(*next, now, answer), now + 1);
  }
}

void RehearsedLine::call_after_reset(SharedLimits limits) {
  for (const SharedLimit& one : limits) {
    const Instant reset = one.limit->frontier(1) == kNever ? one.limit->reset_at() : kNever;
    if (reset == kNever) continue;
    const Instant asks_at = called_after(reset, ways_.round_trip) + static_cast<Instant>(ways_.round_trip) / 2;
    for (const Place& place : line_) {
      Process& process = processes_[place.who];
      if (place.who != kOwn && place.wants > 0) process.asks_at = std::min(process.asks_at, asks_at);
    }
  }
}

/// See Grants::ask_in_time(), and place() of lanes.cc.
Instant RehearsedLine::comes_again(const Process& process, Instant asked, const Answer& answer) const {
  const auto trip = static_cast<Instant>(ways_.round_trip);
  const Told& told = answer.told;
  Instant again = asked + trip / 2;
  if (told.again != kAlways) {
    const Instant in_time = told.again < told.not_before ? std::min(told.again, told.not_before - trip) : told.again;
    again = std::max(again, in_time);
  }
  if (answer.ended.granted > 0) again = std::max(again, answer.ended.last - static_cast<Instant>(ways_.lead));
  return process.has_one_at(again) + trip / 2;
}

// ---- an ask ---------------------------------------------------------------------------------------------------------

/// As many weights as a unit of the limit is, if all requests cost as much for their weight as the one that asks.
double RehearsedLine::in_weights(const SharedLimit& limit) const {
  return limit.by_cost ? static_cast<double>(turn_.asked.weight) / turn_.asked.cost : 1;
}

RehearsedLine::Moment RehearsedLine::earliest(SharedLimits limits, Instant from, int weight) {
  Moment moment{from};
  for (const SharedLimit& one : limits) {
    if (const Instant front = one.limit->frontier(needed(one, weight)); front > moment.at) moment = {front, one.index};
  }
  return moment;
}

RehearsedLine::Moment RehearsedLine::ahead_of(SharedLimits limits, Instant now, double units, int weight) {
  Moment moment{now};
  LimitIndex unreset = kNoLimit;
  const auto before = static_cast<std::int64_t>(units);
  for (const SharedLimit& one : limits) {
    const int own = needed(one, weight);
    const std::int64_t others = one.by_cost ? 0 : before;  // what they will cost is not known
    Instant front = one.limit->frontier(own);
    if (front == kNever) {
      if (unreset == kNoLimit) unreset = one.index;
      front = one.limit->ahead(now, others + own - 1);
    } else if (others > 0) {
      front = std::max(front, one.limit->ahead(now, others));
    }
    if (front > moment.at) moment = {front, one.index};
  }
  if (unreset != kNoLimit) moment.by = unreset;
  return moment;
}

RehearsedLine::Moment RehearsedLine::off_edges(SharedLimits limits, Moment moment) {
  if (moment.at == kNever) return moment;
  Instant before = kAlways;
  for (int rounds = 8; rounds > 0 && moment.at > before; --rounds) {
    before = moment.at;
    for (const SharedLimit& one : limits) {
      if (const Instant off = one.limit->after_guard(moment.at); off > moment.at) moment = {off, one.index};
    }
  }
  return moment;
}

/// As next_departure() in lua/granting.lua finds each.
RehearsedLine::Answer RehearsedLine::book(SharedLimits limits, const Asked& asked) {
  for (const SharedLimit& one : limits) one.limit->refresh(asked.now);
  enter(limits, asked);
  const std::size_t most = most_of(limits);
  Ended ended{.last = asked.now};
  while (ended.granted < asked.count) {
    if (ended.granted >= most) {
      ended.stopped = true, ended.by = turn_.most_by, ended.not_before = asked.now + 1;
      break;
    }
    Moment next = earliest(limits, ended.last, asked.weight);
    const bool unreset = next.at == kNever;
    if (unreset) next = ahead_of(limits, ended.last, 0, asked.weight);
    next = off_edges(limits, next);
    if (unreset || rounded_up(next.at) > asked.now + kReach) {
      ended.stopped = true, ended.by = next.by, ended.not_before = rounded_up(next.at);
      break;
    }
    for (const SharedLimit& one : limits)
      one.by_cost ? one.limit->commit_cost(next.at, asked.cost) : one.limit->commit(next.at, asked.weight);
    ended.last = next.at;
    ++ended.granted;
  }
  return {ended, settle(limits, ended)};
}

/// slack_of() in lua/level.lua.
void RehearsedLine::measure(SharedLimits limits, std::size_t among) {
  double rate = 1;
  for (const SharedLimit& one : limits) rate = std::min(rate, one.limit->passes() * in_weights(one));
  const double passed = rate * kReach;
  const double part = std::max(std::floor(passed / static_cast<double>(among)), kFewest);
  turn_.step = std::min(std::floor(passed / 2) + 1, part);
  turn_.slack = std::max<double>(turn_.asked.weight, turn_.step);
  turn_.passed = std::floor(passed);
}

void RehearsedLine::enter(SharedLimits limits, const Asked& asked) {
  const std::size_t who = asked.who;
  turn_ = {.asked = asked, .mine = {.who = who}, .is_new = true};
  std::erase_if(line_, [&](const Place& one) { return one.at + kInTheLine < asked.now; });
  double least = kNever;
  for (const Place& one : line_) {
    const bool differs = processes_[one.who].differs != processes_[who].differs;
    turn_.differ |= differs;
    if (one.who == who) {
      turn_.mine = one, turn_.is_new = false, turn_.seniors = turn_.others.size();
    } else if (claims(one.wants, one.at, asked.now) && (!differs || one.at <= asked.now + kReach)) {
      turn_.others.push_back(one);
      least = std::min(least, one.had), turn_.soonest = std::min(turn_.soonest, one.at);
    }
  }
  measure(limits, turn_.others.size() + 1);
  if (turn_.others.empty()) return;
  Place& mine = turn_.mine;
  if (!claims(mine.wants, mine.at, asked.now)) mine.had = std::max(mine.had, least - turn_.slack);
  const double common = std::min(mine.had, least);
  turn_.least = least - common;
  mine.had -= common;
  for (std::vector<Place>* const all : {&line_, &turn_.others}) {
    for (Place& one : *all) {
      if (one.who != who) one.had = std::max(0.0, one.had - common);
    }
  }
  for (Place& one : turn_.others) {
    const bool differs = processes_[one.who].differs != processes_[who].differs;
    one.most = differs ? std::min(one.wants, turn_.step) : one.wants;
    one.first = differs ? std::min(one.most, turn_.passed) : one.wants;
  }
}

double RehearsedLine::poured_to(double level) const {
  double units = level - turn_.mine.had;
  for (const Place& one : turn_.others) {
    if (one.had < level) units += std::min(one.most, level - one.had);
  }
  return units;
}

std::size_t RehearsedLine::most_of(SharedLimits limits) {
  const std::size_t count = turn_.asked.count;
  if (turn_.others.empty()) return count;
  const Instant now = turn_.asked.now;
  double room = kNever;
  for (const SharedLimit& one : limits) {
    if (const double passed = one.limit->room(now, now + kReach) * in_weights(one); passed < room)
      room = passed, turn_.most_by = one.index;
  }
  room = std::floor(std::max(0.0, room) + kNoise);
  const double had = turn_.mine.had, weight = turn_.asked.weight;
  double level = had, above = had + std::min(room, static_cast<double>(count) * weight);
  if (poured_to(above) <= room) level = above;
  while (above - level > 1) {
    const double between = std::floor((level + above) / 2);
    (poured_to(between) <= room ? level : above) = between;
  }
  double units = level - had;
  const double least = turn_.least + turn_.slack - had;
  if (least > 0) units = std::max({units, least, weight});
  turn_.most = static_cast<std::int64_t>(std::floor(units / weight));
  return static_cast<std::size_t>(turn_.most);
}

double RehearsedLine::units_first(std::size_t granted) const {
  double units = 0;
  const bool stays = granted == 0 && !turn_.is_new;
  for (std::size_t i = 0; i < turn_.others.size(); ++i) {
    const Place& one = turn_.others[i];
    const double behind = turn_.mine.had - one.had;
    if (behind > 0) {
      units += std::min(one.first, std::ceil(behind / turn_.step) * turn_.step);
    } else if (behind == 0 && !(stays && i >= turn_.seniors)) {
      units += std::min(one.first, turn_.step);
    }
  }
  return units;
}

RehearsedLine::Moment RehearsedLine::expect(SharedLimits limits, std::size_t granted) {
  const Instant now = turn_.asked.now;
  const int weight = turn_.asked.weight;
  double units = units_first(granted);
  const double may_have = turn_.least + turn_.slack - turn_.mine.had;
  const bool comes_first =
      units > 0 && may_have >= weight && turn_.soonest - kReach / 2 > ahead_of(limits, now, 0, weight).at;
  if (comes_first) units = 0;
  Moment next = ahead_of(limits, now, units, weight);
  if (turn_.most == 0 && next.at <= now + kReach) {
    next = ahead_of(limits, now, poured_to(turn_.mine.had + weight) - weight, weight);
    const bool by_cost = std::ranges::any_of(limits, &SharedLimit::by_cost);
    turn_.asks_by = now + (by_cost ? 2 * kReach : 1'000'000);
    if (by_cost) next.at = std::max(next.at, turn_.asks_by);
  }
  next = off_edges(limits, next);
  return {std::max(next.at, now + 1), next.by == kNoLimit ? turn_.most_by : next.by};
}

RehearsedLine::Told RehearsedLine::settle(SharedLimits limits, const Ended& ended) {
  const Instant now = turn_.asked.now;
  const bool some_others = !turn_.others.empty();
  Place& mine = turn_.mine;
  const double units = static_cast<double>(ended.granted) * turn_.asked.weight;
  Told told{.not_before = ended.not_before, .by = ended.by};
  if (line_.empty() && !ended.stopped) return told;
  double wants = static_cast<double>(turn_.asked.more);
  Instant at = std::max(now + kReach / 2, ended.last);
  if (turn_.differ) {
    if (const Instant front = earliest(limits, at, turn_.asked.weight).at; front < kNever) at = front;
  }
  mine.had += units;
  if (!some_others) mine.had = std::min(mine.had, turn_.slack);
  if (ended.stopped) {
    if (some_others) {
      const Moment next = expect(limits, ended.granted);
      told.not_before = rounded_up(next.at), told.by = next.by == kNoLimit ? ended.by : next.by;
    }
    wants += static_cast<double>(turn_.asked.count - ended.granted) * turn_.asked.weight;
    at = std::max(at, told.not_before);
    if (ended.granted == 0 || some_others) {
      const bool awaits_reset = std::ranges::any_of(limits, [&](const SharedLimit& one) {
        return one.index == told.by && one.limit->frontier(needed(one, turn_.asked.weight)) == kNever;
      });
      told.awaits_reset = awaits_reset;
      told.again = awaits_reset ? std::max(told.not_before, now + kReach)
                                : std::max(told.not_before - kReach / 2, now + kReach / 10);
      told.again = std::min(told.again, turn_.asks_by);
    }
  }
  const auto known = std::ranges::find(line_, turn_.asked.who, &Place::who);
  const auto place = known - line_.begin();
  const bool keeps = known != line_.end() && ended.granted == 0;
  if (known != line_.end()) line_.erase(known);
  if (wants > 0) wants += units;
  mine.wants = wants, mine.at = rounded_up(at);
  if (wants > 0 || mine.had > 0) line_.insert(keeps ? line_.begin() + place : line_.end(), mine);
  const bool some_want = std::ranges::any_of(line_, [](const Place& one) { return one.wants > 0; });
  if (wants <= 0 && !some_others && !some_want) line_.clear();
  return told;
}

}  // namespace penstock::flow
