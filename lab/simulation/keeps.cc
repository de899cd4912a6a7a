// SPDX-License-Identifier: Apache-2.0
// Judges that no limit is exceeded. All stretches are examined, in O(n log n): the units in a stretch less what it
// allows are a difference of two numbers, one for each end, so the worst stretch up to an end is a running minimum.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "flow/limit.h"
#include "simulation/reading.h"

namespace penstock::simulation {

namespace {

/// Departures are whole microseconds: each of two may be off by one.
constexpr Time kRounding = 2;

struct Worst {
  double excess = -std::numeric_limits<double>::infinity();
  Time from = 0, until = 0;
  void see(double other, Time begin, Time end) {
    if (other > excess) *this = {other, begin, end};
  }
};

class Excuses {
 public:
  explicit Excuses(std::vector<Excuse> all) : all_(std::move(all)) {}

  /// The excuses allow begun(end) − over(begin) in a stretch that touches them.
  double begun(Time at) const {
    return sum(at, [](const Excuse& excuse, Time t) { return excuse.from <= t; });
  }
  double over(Time at) const {
    return sum(at, [](const Excuse& excuse, Time t) { return excuse.until < t; });
  }
  double between(Time from, Time until) const { return begun(until) - over(from); }
  bool anything_at(Time at) const {
    return std::ranges::any_of(all_, [&](auto& e) { return e.anything && e.from <= at && at <= e.until; });
  }

 private:
  template <typename Counts>
  double sum(Time at, Counts counts) const {
    double units = 0;
    for (const Excuse& excuse : all_) {
      if (counts(excuse, at)) units += excuse.units;
      units += excuse.a_second * static_cast<double>(std::clamp(at, excuse.from, excuse.until) - excuse.from) / 1e6;
    }
    return units;
  }

  std::vector<Excuse> all_;
};

/// At most `rate` · Δ + `at_once` in any stretch of length Δ.
Worst worst_of_rate(const std::vector<Left>& left, double a_microsecond, double at_once, const Excuses& excuses) {
  Worst worst;
  double units = 0, least = std::numeric_limits<double>::infinity();
  Time least_at = 0;
  for (const Left& one : left) {
    const double passed = a_microsecond * static_cast<double>(one.at);
    const double before = units - passed - excuses.over(one.at);
    if (before < least) least = before, least_at = one.at;
    units += one.units;
    worst.see(units - passed - excuses.begun(one.at) - least - at_once, least_at, one.at);
  }
  return worst;
}

/// The least of the entries that were put at or behind a place; a Fenwick tree.
class LeastBehind {
 public:
  explicit LeastBehind(std::size_t places) : tree_(places + 1, {std::numeric_limits<double>::infinity(), 0}) {}
  using Entry = std::pair<double, Time>;
  void put(std::size_t place, Entry entry) {
    for (std::size_t i = tree_.size() - 1 - place; i < tree_.size(); i += i & -i) tree_[i] = std::min(tree_[i], entry);
  }
  Entry least(std::size_t place) const {
    Entry least{std::numeric_limits<double>::infinity(), 0};
    if (place + 1 >= tree_.size()) return least;
    for (std::size_t i = tree_.size() - 1 - place; i > 0; i -= i & -i) least = std::min(least, tree_[i]);
    return least;
  }

 private:
  std::vector<Entry> tree_;
};

struct Steps {
  double at_once;  // units
  double each;     // units for each step
  Time step;
  Time tolerance;
};

/// At most `at_once` + `each` · ⌈(Δ + tolerance) ÷ step⌉ in any stretch of length Δ. With t = step · n + rest, the
/// number of steps is the difference of the n, plus one if the rest at the end is larger.
Worst worst_of_steps(const std::vector<Left>& left, const Steps& steps, const Excuses& excuses) {
  std::vector<Time> rests;
  for (const Left& one : left) rests.push_back(one.at % steps.step);
  std::ranges::sort(rests);
  rests.erase(std::unique(rests.begin(), rests.end()), rests.end());
  LeastBehind begins(rests.size());
  LeastBehind::Entry least{std::numeric_limits<double>::infinity(), 0};
  Worst worst;
  double units = 0;
  for (const Left& one : left) {
    const double passed = steps.each * static_cast<double>(one.at / steps.step);
    const LeastBehind::Entry begin{units - passed - excuses.over(one.at), one.at};
    const auto place = std::ranges::lower_bound(rests, one.at % steps.step) - rests.begin();
    begins.put(static_cast<std::size_t>(place), begin);
    least = std::min(least, begin);
    units += one.units;
    const Time end = one.at + steps.tolerance;
    const auto behind = std::ranges::lower_bound(rests, end % steps.step) - rests.begin();
    const double now =
        units - steps.each * static_cast<double>(end / steps.step) - excuses.begun(one.at) - steps.at_once;
    const auto without = begins.least(static_cast<std::size_t>(behind));
    const auto with = std::min(without, LeastBehind::Entry{least.first + steps.each, least.second});
    worst.see(now - with.first, with.second, one.at);
  }
  return worst;
}

/// Steps counted from the first departure on: at most `at_once` + `each` · ⌊(t + tolerance) ÷ step⌋ until t. Departures
/// that were booked up to `sooner` before it and taken back may have begun the steps. Only for runs without faults in
/// which no process reads other limits; worst_of_steps() judges all stretches.
Worst worst_since_first(const Reading& reading, const std::vector<Left>& left, const Steps& steps, Time sooner) {
  Worst worst;
  const bool reloads = std::ranges::any_of(reading.plan().members, [](auto& member) { return member.reloads > 0; });
  if (!reading.journal().faults.empty() || reloads) return worst;
  double units = 0;
  for (const Left& one : left) {
    units += one.units;
    const Time passed = one.at - left.front().at + sooner + steps.tolerance;
    worst.see(units - steps.at_once - steps.each * static_cast<double>(passed / steps.step), left.front().at, one.at);
  }
  return worst;
}

Worst worse_of(const Worst& one, const Worst& other) { return other.excess > one.excess ? other : one; }

/// At most `max` in any half-open stretch of length `interval`.
Worst worst_of_sliding(const std::vector<Left>& left, double max, Time interval, const Excuses& excuses) {
  Worst worst;
  double units = 0;
  std::size_t first = 0;
  for (const Left& one : left) {
    units += one.units;
    for (; one.at - left[first].at >= interval; ++first) units -= left[first].units;
    worst.see(units - max - excuses.between(one.at - interval, one.at), left[first].at, one.at);
  }
  return worst;
}

struct OneWindow {
  double first = 0, middle = 0, last = 0;  // units near its begin, between, and near its end
  Time from = std::numeric_limits<Time>::max(), until = 0;
};

/// At most `reservoir` in each window. A departure nearer to an edge than `doubt` counts on the side that has room.
Worst worst_of_windows(const Reading& reading, const std::vector<Left>& left, const WindowConfig& config, Time doubt,
                       const Excuses& excuses) {
  std::map<std::int64_t, OneWindow> windows;
  const Time interval = config.interval.count();
  for (const Left& one : left) {
    const std::int64_t wall = reading.wall(one.at), place = wall % interval;
    OneWindow& window = windows[wall / interval];
    (place < doubt ? window.first : place >= interval - doubt ? window.last : window.middle) += one.units;
    window.from = std::min(window.from, one.at), window.until = std::max(window.until, one.at);
  }
  Worst worst;
  double carried = 0, room = 0;  // of the window before: the units that it had no room for, and its remaining room
  std::int64_t before = std::numeric_limits<std::int64_t>::min();
  for (const auto& [number, window] : windows) {
    if (number != before + 1) {
      if (carried > 0) carried = 0;  // the window between was empty, and took them
      room = config.reservoir;       // likewise
    }
    const double allowed = config.reservoir + excuses.between(window.from, window.until);
    const double first = window.first - std::min(window.first, std::max(0.0, room));
    const double here = window.middle + first + carried;
    worst.see(here - allowed, window.from, window.until);
    const double fits = std::clamp(allowed - here, 0.0, window.last);
    carried = window.last - fits;
    room = allowed - here - fits;
    before = number;
  }
  return worst;
}

/// Never more than `capacity` in flight. A landing comes before a departure of the same moment.
Worst worst_of_flights(const Reading& reading, const std::vector<Left>& left, double capacity, const Excuses& excuses) {
  std::vector<std::pair<Time, int>> changes;
  for (const Left& one : left) {
    const Request& request = reading.journal().requests[one.id];
    changes.emplace_back(request.departed, 1);
    if (request.ended != kNotYet) changes.emplace_back(request.ended, -1);
  }
  std::ranges::sort(changes);
  Worst worst;
  double flying = 0;
  for (const auto& [at, change] : changes) {
    flying += change;
    if (!excuses.anything_at(at)) worst.see(flying - capacity - excuses.between(at, at), at, at);
  }
  return worst;
}

/// How far the times of two departures can be off: by what their processes differ about Redis' clock, or, where each
/// process keeps the limit alone, by how much its own clock has drifted.
Time doubt_of(const Reading& reading, const LimitConfig& limit) {
  const auto drifted = static_cast<Time>(reading.drift() * static_cast<double>(reading.journal().ended));
  return kRounding + (limit.shared ? reading.clock_error() : drifted);
}

struct Judged {
  const Reading& reading;
  const std::vector<Left>& left;
  const Excuses& excuses;
  Time doubt;
  /// How much later than booked a departure may leave. Windows and sliding windows are told of it; the other kinds
  /// count the booked time.
  Time late = 0;
  /// How long before the first departure another one may have been booked, which was taken back.
  Time sooner = 0;

  Worst operator()(const PacerConfig& pacer) const {
    const double a_microsecond = pacer.qps * (1 + reading.drift()) / 1e6;
    const double at_once = pacer.max_burst + reading.heaviest() + a_microsecond * static_cast<double>(doubt + late);
    return worst_of_rate(left, a_microsecond, at_once, excuses);
  }
  /// Whatever it learns, it stays below its `max`.
  Worst operator()(const AdaptiveConfig& adaptive) const { return (*this)(PacerConfig{.qps = adaptive.max}); }
  Worst operator()(const WindowConfig& window) const {
    const Time guard = std::min<Time>(static_cast<Time>(flow::kGuard), window.interval.count() / 10);
    return worst_of_windows(reading, left, window, std::max<Time>(0, doubt - guard), excuses);
  }
  Worst operator()(const SlidingWindowConfig& sliding) const {
    const Time off = std::max<Time>(0, doubt - static_cast<Time>(2 * flow::kGuard));
    return worst_of_sliding(left, sliding.max, sliding.interval.count() - off, excuses);
  }
  Worst operator()(const TokenBucketConfig& bucket) const {
    const Time step = bucket.refill_frequency.count();
    const double refill = bucket.refill_amount;
    const Steps steps{static_cast<double>(bucket.capacity), refill, step, doubt + late};
    return worse_of(worst_of_steps(left, steps, excuses), worst_since_first(reading, left, steps, sooner));
  }
  Worst operator()(const SemaphoreConfig& semaphore) const {
    return worst_of_flights(reading, left, semaphore.capacity, excuses);
  }
  Worst operator()(const CounterConfig& counter) const {
    const double max = counter.max;
    Steps steps{max, max, counter.period.count(), doubt + late};
    const Worst worst = worst_of_steps(left, steps, excuses);
    steps.tolerance += static_cast<Time>(flow::kGuard);  // the first period begins that much before its first departure
    return worse_of(worst, worst_since_first(reading, left, steps, sooner));
  }
};

struct Whose {
  int member, group;
  auto operator<=>(const Whose&) const = default;
};

bool counts_in(const LimitConfig& limit, const Request& request) { return !of_route(limit) || request.routed; }

/// The limit that a request meets: of its group, of its process, or the one of all.
Whose whose_limit(const LimitConfig& limit, const Request& request) {
  return {limit.shared ? -1 : request.member, of_group(limit) ? request.group : -1};
}

/// For each limit, when the first request arrived that never left. A departure may have been booked for it, and taken
/// back when it had gone; refills and resets keep the rhythm of the first departure that was booked.
std::map<Whose, Time> first_gone(const Reading& reading, const LimitConfig& limit) {
  std::map<Whose, Time> arrived;
  for (const Request& request : reading.journal().requests) {
    if (request.departed != kNotYet || request.ended <= request.arrived || !counts_in(limit, request)) continue;
    Time& first = arrived.try_emplace(whose_limit(limit, request), request.arrived).first->second;
    first = std::min(first, request.arrived);
  }
  return arrived;
}

/// By how much a departure may leave later than it was booked. Where any limit is shared, it is booked in all limits
/// for the moment at which Redis was asked, or later, and can leave when the answer comes.
Time late_for(const Reading& reading) {
  const bool asks_redis = std::ranges::any_of(reading.plan().limits, &LimitConfig::shared);
  return asks_redis ? reading.way_back() : 0;
}

std::string named(const LimitConfig& limit, const Whose& whose) {
  std::string name = called(limit);
  if (of_route(limit)) name += " of the route";
  if (of_group(limit)) name += said(" of group %d", whose.group);
  if (!limit.shared) name += said(" of process %d", whose.member);
  return name;
}

/// When each process had last heard of a limit before Redis was gone: with each call, or, of a limit of a group or a
/// route, with each call for that, of which a departure with Redis tells.
std::vector<Time> last_heard(const Reading& reading, const std::vector<Left>& left, const LimitConfig& limit,
                             Time gone) {
  const Time ahead = kind_of(limit) == LimitKind::pacer ? flow::kHorizon : 0;
  std::vector<Time> heard(reading.plan().members.size(), 0);
  if (of_group(limit) || of_route(limit)) {
    const Time booked = flow::kHorizon + reading.plan().redis_timeout.count();
    for (const Left& one : left) {
      const Request& request = reading.journal().requests[one.id];
      if (one.at >= gone || request.without_redis) continue;
      heard[static_cast<std::size_t>(request.member)] = std::max<Time>(0, one.at - booked);
    }
    return heard;
  }
  for (const Call& call : reading.journal().calls) {
    const auto member = static_cast<std::size_t>(call.member);
    const bool was_answered = call.at < gone - reading.longest_trip();
    if (was_answered) heard[member] = std::max(heard[member], call.at - ahead);
  }
  return heard;
}

/// What other processes took of a limit with Redis after each process had last heard of it, before Redis was gone; at
/// most what the limit lets leave at once. It may leave when Redis is gone. Where departures are spaced, they are
/// booked a horizon ahead.
double unheard(const Reading& reading, const std::vector<Left>& left, const LimitConfig& limit, Time gone) {
  const auto heard = last_heard(reading, left, limit, gone);
  const auto whose = [&](const Left& one) -> const Request& { return reading.journal().requests[one.id]; };
  const Time by = gone + std::min(flow::kHorizon, static_cast<Time>(reading.plan().redis_timeout.count()));
  double sum = 0;
  for (std::size_t member = 0; member < heard.size(); ++member) {
    double units = 0;
    for (const Left& one : left) {
      const bool other = whose(one).member != static_cast<int>(member);
      const bool granted = whose(one).in_redis || !whose(one).without_redis;
      if (other && granted && one.at >= heard[member] && one.at < by) units += one.units;
    }
    sum += std::min(units, size_of(limit));
  }
  return sum;
}

}  // namespace

void judge_keeps(const Reading& reading, Judgement& judgement) {
  for (const LimitConfig& limit : reading.plan().limits) {
    const auto excused = excuses_for(reading.plan(), reading.journal().faults, limit, reading.heaviest(),
                                     reading.longest_flight(), reading.journal().ended);
    const Excuses of_faults(excused);
    std::map<Whose, std::vector<Left>> parts;
    for (const Left& one : reading.left()) {
      const Request& request = reading.journal().requests[one.id];
      if (!counts_in(limit, request) || (!counts_flights(limit) && of_faults.anything_at(one.at))) continue;
      parts[whose_limit(limit, request)].push_back(one);
    }
    const auto gone = first_gone(reading, limit);
    for (const auto& [whose, left] : parts) {
      auto all = excused;
      for (Excuse& one : all) one.units += one.unheard > 0 ? one.unheard * unheard(reading, left, limit, one.from) : 0;
      const Excuses excuses(std::move(all));
      const auto came = gone.find(whose);
      const Time sooner = came == gone.end() ? 0 : std::max<Time>(0, left.front().at - came->second);
      const Worst worst =
          std::visit(Judged{reading, left, excuses, doubt_of(reading, limit), late_for(reading), sooner}, limit.kind);
      judgement.figures.worst_excess = std::max(judgement.figures.worst_excess, worst.excess);
      if (worst.excess <= 1e-6) continue;
      breaks(judgement, "keeps",
             said("%s: %.3f units over, in %lld us from %s on", named(limit, whose).c_str(), worst.excess,
                  static_cast<long long>(worst.until - worst.from), moment(worst.from).c_str()),
             worst.excess);
    }
  }
}

}  // namespace penstock::simulation
