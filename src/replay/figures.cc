// SPDX-License-Identifier: Apache-2.0
// See figures.h.
#include "replay/figures.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace penstock::replay {

namespace {

/// A request that leaves at once waits for a few µs in the log, while it is read and judged: it stands in no queue.
constexpr Time kAtOnce = 100;

Time rank(const std::vector<Time>& sorted, double share) {
  const auto place = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(place, 1) - 1];
}

Waits waits_of(std::vector<Time> waits) {
  if (waits.empty()) return {};
  std::ranges::sort(waits);
  return {rank(waits, 0.5), rank(waits, 0.95), rank(waits, 0.99), waits.back()};
}

/// Measures one course. Goes over it once for each figure, so that no more than one list stands beside the log: there
/// may be ten million requests.
template <typename OutcomeOf>
class Measuring {
 public:
  Measuring(const Measure& measure, OutcomeOf outcome_of, const SomeRepeats& repeats)
      : measure_(measure), outcome_of_(outcome_of), repeats_(repeats) {}

  /// Sendings whose time is not known.
  void repeat_sometime(std::uint64_t times, Time flight) {
    sometime_ += times;
    flights_ += static_cast<double>(times) * static_cast<double>(flight);
  }

  Figures figures() {
    count_fates();
    count_sendings();
    figures_.waits = waits_of(waits());
    measure_queue();
    measure_flights();
    measure_departures();
    figures_.sendings += sometime_;
    return std::move(figures_);
  }

 private:
  void count_fates() {
    for (const auto number : measure_.order) {
      const LoggedRequest& request = measure_.log[number];
      const Outcome outcome = outcome_of_(number);
      ++figures_.fates[static_cast<std::size_t>(outcome.fate)];
      if (!may_change(request.fate)) continue;
      if (!begun_) first_ = request.arrived, begun_ = true;
      last_ = std::max({last_, request.arrived, request.arrived + outcome.wait});
      queued_ += outcome.wait > kAtOnce ? 1 : 0;
    }
  }
  void count_sendings() {
    for_each_sending([&](std::uint32_t number, Time at) {
      ++figures_.sendings;
      flights_ += static_cast<double>(flight_of(number));
      last_ = std::max(last_, at);
      ended_ = std::max(ended_, at + flight_of(number));
    });
  }
  std::vector<Time> waits() const {
    std::vector<Time> all;
    all.reserve(figures_.of(Fate::sent));
    for (const auto number : measure_.order) {
      if (const Outcome outcome = outcome_of_(number); outcome.fate == Fate::sent) all.push_back(outcome.wait);
    }
    return all;
  }
  void measure_queue() {
    std::vector<Time> begins, ends;
    begins.reserve(queued_), ends.reserve(queued_);
    for (const auto number : measure_.order) {
      const LoggedRequest& request = measure_.log[number];
      const Outcome outcome = outcome_of_(number);
      if (!may_change(request.fate) || outcome.wait <= kAtOnce) continue;
      begins.push_back(request.arrived);
      ends.push_back(request.arrived + outcome.wait);
    }
    figures_.longest_queue = most_at_once(std::move(begins), std::move(ends));
  }
  void measure_flights() {
    std::vector<Time> begins, ends;
    begins.reserve(figures_.sendings), ends.reserve(figures_.sendings);
    for_each_sending([&](std::uint32_t number, Time at) {
      begins.push_back(at);
      ends.push_back(at + flight_of(number));
    });
    figures_.most_in_flight = most_at_once(std::move(begins), std::move(ends));
    const double slots = std::max(measure_.settings.max_concurrent, 1);
    figures_.slots_used = flights_ / (slots * static_cast<double>(std::max<Time>(ended_ - first_, 1)));
  }
  void measure_departures() {
    std::vector<Departed> departed = departed_of({});
    if (measure_.quota) figures_.api_refused = beyond(*measure_.quota, departed);
    for (const auto& limit : measure_.settings.limits) {
      const auto* sliding = std::get_if<SlidingWindowConfig>(&limit.kind);
      if (sliding && sliding->beside_pacer) continue;  // the pacer beside it says the same
      std::vector<Departed> of_route;
      if (!limit.route.empty()) of_route = departed_of(limit.route);
      auto usage = usage_of(limit, limit.route.empty() ? departed : of_route, std::max<Time>(last_ - first_, 1));
      if (usage) figures_.limits.push_back(*std::move(usage));
    }
  }
  /// Of that route; empty: all.
  std::vector<Departed> departed_of(std::string_view route) const {
    std::vector<Departed> departed;
    if (route.empty()) departed.reserve(figures_.sendings);
    const auto& routes = measure_.settings.routes;
    for_each_sending([&](std::uint32_t number, Time at) {
      const Place& place = measure_.places[number];
      const bool counts = route.empty() || (place.route > 0 && routes[place.route - 1].name == route);
      if (counts) departed.push_back({at, place.group, measure_.log[number].weight});
    });
    return departed;
  }

  template <typename Take>
  void for_each_sending(Take take) const {
    for (const auto number : measure_.order) {
      const Outcome outcome = outcome_of_(number);
      if (outcome.fate == Fate::sent) take(number, measure_.log[number].arrived + outcome.wait);
    }
    for (const auto& sending : repeats_) take(sending.request, sending.at);
  }
  Time flight_of(std::uint32_t number) const {
    const Time flight = measure_.log[number].flight;
    return flight == LoggedRequest::kUnknown ? measure_.flight : flight;
  }

  const Measure& measure_;
  const OutcomeOf outcome_of_;
  const SomeRepeats repeats_;
  Figures figures_;
  std::size_t queued_ = 0;
  std::uint64_t sometime_ = 0;
  Time first_ = 0, last_ = 0, ended_ = 0;  // the first arrival, the last departure or arrival, the last landing
  double flights_ = 0;                     // µs
  bool begun_ = false;
};

}  // namespace

Figures logged(const Measure& measure) {
  Measuring measuring(
      measure, [&](std::uint32_t number) { return measure.log[number].outcome(); }, SomeRepeats{});
  for (const auto number : measure.order) {
    const LoggedRequest& request = measure.log[number];
    if (request.fate == Fate::sent && request.attempts > 1)
      measuring.repeat_sometime(request.attempts - 1U, std::max<Time>(request.flight, 0));
  }
  return measuring.figures();
}

Figures replayed(const Measure& measure, std::span<const Outcome> outcomes, const SomeRepeats& repeats) {
  return Measuring(
             measure, [outcomes](std::uint32_t number) { return outcomes[number]; }, repeats)
      .figures();
}

}  // namespace penstock::replay
