// SPDX-License-Identifier: Apache-2.0
// Plays arrivals, departures and landings in order, together with the limits of groups, and notes when a process had a
// request that only the upstream's own limits on the rate, or Redis, could have held.
#include "simulation/wants.h"

#include <algorithm>
#include <map>
#include <queue>
#include <string>

#include "flow/local_limiter.h"
#include "simulation/reading.h"

namespace penstock::simulation {

namespace {

/// At one moment landings come first, and queues are examined after all events.
enum class What : std::uint8_t { lands, gives_up, waits, leaves };

struct Event {
  Time at;
  What what;
  std::size_t id;  // of the request
};

struct Later {
  Time at;
  int group;
  bool operator>(const Later& other) const { return at > other.at; }
};

struct Group {
  bool held = false;  // by its own limits on the rate
  Time held_until = 0;
  std::size_t in_flight = 0;
  std::map<int, std::size_t> waiting;  // by process
};

struct Process {
  std::size_t slots = 1, in_flight = 0, waiting = 0, ready_groups = 0;
  Time wants_since = kNotYet, full_since = kNotYet;
};

constexpr Time kTelling = kSecond / 2;

class Play {
 public:
  explicit Play(const Reading& reading)
      : reading_(reading),
        limits_(reading.rate_limits(LimitConfig::Per::group)),
        limiter_(limits_, flow::instant_at_zero(reading.journal().wall_at_begin, 0)) {
    for (const auto& limit : reading.plan().limits) {
      if (!counts_flights(limit)) continue;
      auto& capacity = of_group(limit) ? group_capacity_ : capacity_;
      capacity = std::min(capacity, static_cast<std::size_t>(size_of(limit)));
    }
    for (const Member& member : reading.plan().members)
      processes_.push_back({.slots = flow::slots_of(member.settings)});
    found_.wanting.resize(processes_.size());
    found_.full.resize(processes_.size());
  }

  Wants run() {
    const std::vector<Event> events = all_events();
    for (std::size_t next = 0; next < events.size() || !later_.empty();) {
      const bool own = later_.empty() || (next < events.size() && events[next].at <= later_.top().at);
      now_ = own ? events[next].at : later_.top().at;
      for (; !later_.empty() && later_.top().at == now_; later_.pop()) group_may(later_.top().group);
      for (; next < events.size() && events[next].at == now_; ++next) play(events[next]);
      note();
    }
    now_ = std::max(now_, reading_.journal().ended);
    for (std::size_t i = 0; i < processes_.size(); ++i) close(i);
    return std::move(found_);
  }

 private:
  std::vector<Event> all_events() const {
    std::vector<Event> events;
    const auto& requests = reading_.journal().requests;
    for (std::size_t id = 0; id < requests.size(); ++id) {
      const Request& request = requests[id];
      const bool left = request.departed != kNotYet, ended = request.ended != kNotYet;
      const Time known = reading_.first_answer(request);
      const Time gone = left ? request.departed : ended ? request.ended : reading_.journal().ended;
      if (known < gone) {
        events.push_back({known, What::waits, id});
        events.push_back({gone, What::gives_up, id});
      }
      if (left) events.push_back({request.departed, What::leaves, id});
      if (left && ended) events.push_back({std::max(request.ended, request.departed), What::lands, id});
    }
    std::ranges::stable_sort(events, [](const Event& a, const Event& b) {
      return a.at != b.at ? a.at < b.at : a.id != b.id ? a.id < b.id : a.what < b.what;
    });
    return events;
  }

  bool by_groups() const { return reading_.has_group_limits(); }
  Process& process_of(const Request& request) { return processes_[static_cast<std::size_t>(request.member)]; }

  void play(const Event& event) {
    const Request& request = reading_.journal().requests[event.id];
    Process& process = process_of(request);
    switch (event.what) {
      case What::waits: return change_waiting(request, 1);
      case What::gives_up: return change_waiting(request, -1);
      case What::lands:
        --process.in_flight;
        --in_flight_;
        return change_group(request, [](Group& group) { --group.in_flight; });
      case What::leaves:
        ++process.in_flight;
        ++in_flight_;
        return leave_group(request);
    }
  }

  void change_waiting(const Request& request, int by) {
    process_of(request).waiting += static_cast<std::size_t>(by);
    change_group(request, [&](Group& group) {
      auto& waiting = group.waiting[request.member];
      if ((waiting += static_cast<std::size_t>(by)) == 0) group.waiting.erase(request.member);
    });
  }

  bool ready(const Group& group) const { return !group.held && group.in_flight < group_capacity_; }
  void count_ready(const Group& group, int by) {
    if (!ready(group)) return;
    for (const auto& [member, waiting] : group.waiting)
      processes_[static_cast<std::size_t>(member)].ready_groups += static_cast<std::size_t>(by);
  }

  template <typename Change>
  void change_group(const Request& request, Change change) {
    if (!by_groups()) return;
    Group& group = groups_[request.group];
    count_ready(group, -1);
    change(group);
    count_ready(group, 1);
  }

  void leave_group(const Request& request) {
    if (!by_groups()) return;
    const std::string name = std::to_string(request.group);
    Time held_until = 0;
    if (!limits_.empty()) {
      limiter_.book(now_, flow::LaneKey(name), request.weight);
      looked_.clear();
      limiter_.look(now_, {.group = name, .weight = reading_.heaviest()}, looked_, {});
      held_until =
          looked_.departures.empty() ? std::max(looked_.not_before, looked_.ask_again) : looked_.departures.front().at;
    }
    change_group(request, [&](Group& group) {
      ++group.in_flight;
      group.held = held_until > now_;
      group.held_until = held_until;
    });
    if (held_until > now_) later_.push({held_until, request.group});
  }

  void group_may(int number) {
    Group& group = groups_[number];
    if (!group.held || group.held_until != now_) return;  // another request of the group left meanwhile
    group.held = false;
    count_ready(group, 1);
  }

  void note() {
    const bool permit = in_flight_ < capacity_;
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      Process& process = processes_[i];
      const bool full = process.in_flight >= process.slots;
      const bool waits = by_groups() ? process.ready_groups > 0 : process.waiting > 0;
      mark(process.full_since, full, found_.full[i], 1);
      mark(process.wants_since, waits && !full && permit, found_.wanting[i], kTelling);
    }
  }

  void mark(Time& since, bool is, std::vector<Span>& spans, Time least) {
    if (is == (since != kNotYet)) return;
    if (!is && now_ - since >= least) spans.push_back({since, now_});
    since = is ? now_ : kNotYet;
  }

  void close(std::size_t i) {
    mark(processes_[i].full_since, false, found_.full[i], 1);
    mark(processes_[i].wants_since, false, found_.wanting[i], kTelling);
  }

  const Reading& reading_;
  std::vector<LimitConfig> limits_;
  flow::LocalLimiter limiter_;
  flow::Booking looked_;
  std::size_t capacity_ = static_cast<std::size_t>(-1), group_capacity_ = capacity_;
  std::vector<Process> processes_;
  std::map<int, Group> groups_;
  std::priority_queue<Later, std::vector<Later>, std::greater<>> later_;
  std::size_t in_flight_ = 0;
  Time now_ = 0;
  Wants found_;
};

}  // namespace

Wants find_wants(const Reading& reading) { return Play(reading).run(); }

}  // namespace penstock::simulation
