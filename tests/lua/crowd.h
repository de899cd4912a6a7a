// SPDX-License-Identifier: Apache-2.0
// Several processes that share one upstream's limits, on a clock of their own: a model of their lanes, with round trips
// to the real scripts. A process asks, is told and asks again as its lanes would; it has slots for all.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "flow/local_limiter.h"
#include "lua/asker.h"
#include "lua/post.h"

namespace penstock::lua {

/// What the processes are, and what they want.
struct Plan {
  std::vector<LimitConfig> limits;
  std::vector<Time> round_trips;        ///< one for each process
  std::vector<std::string> groups{""};  ///< each a lane of every process
  int workers = 0;                      ///< of each lane: each sends, waits for the answer, sends again
  int spike = 0;                        ///< so many requests at the beginning, besides
  double demand = 0;                    ///< or: requests a second of all processes together, by chance
  Time lateness = 0;                    ///< a departure leaves so much later than booked at most, and says so
  double lost_messages = 0;             ///< so large a part of what processes are told in between
  Time patience = 0;                    ///< after which a client gives up, on average; 0: never
  std::vector<double> eagerness;        ///< how much of the demand, or how many times the workers, each process has
  Time length = 10'000'000;
};

class Crowd {
 public:
  struct Departure {
    Time at;
    std::size_t process;
    std::string group;
    Time booked;  // for which moment
  };

  Crowd(Scripts& scripts, Plan plan, unsigned seed = 1);
  void run();
  /// Something happens to all of it at that time.
  void happens(Time time, std::function<void()> what) { plan_event(time, std::move(what)); }

  /// Nothing is heard of that process any more.
  void kill(std::size_t process) { processes_[process].dead = true; }
  /// From now on it goes by other limits of the same kinds and names.
  void change(std::size_t process, const std::vector<LimitConfig>& limits) { processes_[process].asker.change(limits); }
  /// What would reach it meanwhile reaches it at the end of that time.
  void freeze(std::size_t process, Time until) { processes_[process].frozen_until = until; }

  const std::vector<Departure>& departures() const { return departures_; }  ///< in order of time
  int calls() const { return calls_; }
  std::size_t pending() const;
  double calls_per_request() const { return static_cast<double>(calls_) / static_cast<double>(departures_.size()); }
  std::vector<int> by_process(Time since = 0) const;
  std::map<std::string, int> by_group() const;
  /// In any stretch of that length, half open.
  int most_within(Time length) const;

 private:
  static constexpr std::size_t kAnyNumber = 1'000'000;
  static constexpr Time kFlight = 2'000, kTouchEvery = 1'000'000;
  struct Lane {
    std::string group;
    std::deque<Time> waiting;  // until when each has patience
    std::size_t booked = 0;
    Time last_departure = 0;
    Time told_until = 0;
    bool asking = false, in_line = false;  // of its group
  };
  struct Process {
    Asker asker;
    std::unique_ptr<flow::LocalLimiter> shadow;  // its own departures
    Time round_trip;
    std::vector<Lane> lanes;
    std::size_t next_lane = 0;
    Time told_until = 0;                           // all lanes; they ask in turn then
    std::size_t asks = 0, most_asks = kAnyNumber;  // under way at once
    bool in_line = false, dead = false;
    Time touched = -kTouchEvery;
    Time frozen_until = 0;
  };
  struct Event {
    Time at;
    int number;  // of those at one time, the first planned is the first
    std::function<void()> what;
    bool operator<(const Event& other) const { return std::pair(at, number) > std::pair(other.at, other.number); }
  };

  void plan_event(Time at, std::function<void()> what) { events_.push({at, ++planned_, std::move(what)}); }
  /// Of the process itself.
  void plan_event_of(Process& process, Time at, std::function<void()> what);
  void next_arrival();
  void arrive(Process& process, Lane& lane);
  void give_up(Process& process, Lane& lane, Time patience);
  void cancel_wait(Process& process, Lane& lane);
  void cancel_wait(Process& process, Lane& lane, bool of_group);
  void ask_where_due(Process& process);
  bool retry(const Process& process, const Lane& lane) const;
  static std::size_t wants(const Lane& lane) {
    return lane.waiting.size() - std::min(lane.waiting.size(), lane.booked);
  }
  std::int64_t wants_besides(const Process& process, const Lane& asking) const;
  void ask(Process& process, Lane& lane);
  void answered(Process& process, Lane& lane, const Answer& answer);
  void tell(Process& process, Lane& lane, const flow::Booking& booking);
  void replay(Process& process);
  void depart(Process& process, Lane& lane, const flow::Departure& booked);
  void deliver_messages();
  /// Some are slower than others.
  Time half_trip(const Process& process) {
    return process.round_trip * std::uniform_int_distribution<Time>(45, 65)(random_) / 100;
  }
  Process& any_process();
  double eagerness(std::size_t process) const { return plan_.eagerness.empty() ? 1 : plan_.eagerness[process]; }
  Time chance(double mean) { return 1 + static_cast<Time>(std::exponential_distribution<double>(1 / mean)(random_)); }

  const Plan plan_;
  Post post_;
  std::mt19937 random_;
  std::vector<Process> processes_;
  std::priority_queue<Event> events_;
  int planned_ = 0;
  Time now_ = 0;
  std::vector<Departure> departures_;
  int calls_ = 0;
};

}  // namespace penstock::lua
