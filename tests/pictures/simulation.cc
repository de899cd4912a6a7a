// SPDX-License-Identifier: Apache-2.0
// One lane over a local limiter: whoever waits asks at each event, and is told when asking is worth while again.
#include "pictures/simulation.h"

#include <set>

#include "flow/local_limiter.h"

namespace penstock::pictures {
namespace {

using flow::Time;

class Simulation {
 public:
  Simulation(const LimitConfig& limit, std::vector<Request> requests)
      : limiter_({limit}), requests_(std::move(requests)) {
    for (const Request& request : requests_) events_.insert(request.arrives);
  }

  std::vector<Request> run() {
    while (!events_.empty()) {
      const Time now = *events_.begin();
      events_.erase(events_.begin());
      for (; landings_.contains(now); landings_.erase(landings_.find(now))) limiter_.landed(now, {});
      while (arrived_ < requests_.size() && requests_[arrived_].arrives <= now) ++arrived_;
      if (left_ < arrived_) ask(now);
    }
    return std::move(requests_);
  }

 private:
  void ask(Time now) {
    booking_.clear();
    limiter_.ask(now, {.group = {}, .count = arrived_ - left_}, booking_);
    for (const flow::Departure& departure : booking_.departures) leave(departure.at);
    const bool told = left_ < arrived_ && booking_.stop == flow::Booking::Stop::turn;
    if (told && booking_.ask_again > now) events_.insert(booking_.ask_again);
  }

  void leave(Time at) {
    Request& request = requests_[left_++];
    request.leaves = at;
    landings_.insert(at + request.flies);
    events_.insert(at + request.flies);
  }

  flow::LocalLimiter limiter_;
  flow::Booking booking_;
  std::vector<Request> requests_;
  std::set<Time> events_;
  std::multiset<Time> landings_;
  std::size_t arrived_ = 0;
  std::size_t left_ = 0;
};

}  // namespace

std::vector<Request> simulate(const LimitConfig& limit, std::vector<Request> requests) {
  return Simulation(limit, std::move(requests)).run();
}

}  // namespace penstock::pictures
