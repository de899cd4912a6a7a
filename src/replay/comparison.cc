// SPDX-License-Identifier: Apache-2.0
// See comparison.h. Upstreams are replayed one after the other, since nothing that one of them does delays another.
#include "replay/comparison.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "replay/unknowns.h"

namespace penstock::replay {

namespace {

using Numbers = std::vector<std::uint32_t>;

/// The requests by upstream, then by arrival, and where those of each upstream begin.
struct Sorted {
  Numbers numbers;
  std::vector<std::size_t> begins;

  std::span<const std::uint32_t> of(std::size_t upstream) const {
    return std::span(numbers).subspan(begins[upstream], begins[upstream + 1] - begins[upstream]);
  }
};

Sorted sort_by_arrival(const RequestLog& log, const Side& side) {
  Sorted sorted;
  sorted.numbers.resize(log.size());
  std::iota(sorted.numbers.begin(), sorted.numbers.end(), 0U);
  const auto& places = *side.places;
  std::ranges::sort(sorted.numbers, {}, [&](std::uint32_t number) {
    return std::tuple(places[number].upstream, log[number].arrived, number);
  });
  sorted.begins.resize(side.upstreams.size() + 1);
  for (const auto& place : places) ++sorted.begins[place.upstream + 1];
  std::partial_sum(sorted.begins.begin(), sorted.begins.end(), sorted.begins.begin());
  return sorted;
}

/// Of the flights that are known; 0: none is.
Time median_flight(const RequestLog& log, std::span<const std::uint32_t> order) {
  std::vector<Time> flights;
  for (const auto number : order) {
    if (log[number].flight != LoggedRequest::kUnknown) flights.push_back(log[number].flight);
  }
  if (flights.empty()) return 0;
  const auto middle = flights.begin() + static_cast<std::ptrdiff_t>(flights.size() / 2);
  std::ranges::nth_element(flights, middle);
  return *middle;
}

/// One course of all requests, by whichever settings.
class Course {
 public:
  Course(const RequestLog& log, const Side& side, const Sorted& sorted) : outcomes_(log.size()) {
    repeats_.most = log.events;
    for (std::size_t i = 0; i < side.upstreams.size(); ++i) {
      const auto& upstream = side.upstreams[i];
      const auto order = sorted.of(i);
      if (upstream.is_denied) {
        for (const auto number : order) outcomes_[number] = {0, Fate::destination_unnamed};
        continue;
      }
      Replay(log, *side.places, order, *upstream.settings, median_flight(log, order)).run(outcomes_, repeats_);
    }
  }

  /// Of each upstream of the settings `now`, which may be others than those that were played.
  template <typename Take>
  void measure(const RequestLog& log, const Side& now, const Sorted& sorted, Take take) {
    const auto upstream_of = [&](const Sending& one) { return (*now.places)[one.request].upstream; };
    auto& all = repeats_.played;
    std::ranges::sort(all, {}, [&](const Sending& one) { return std::tuple(upstream_of(one), one.at, one.request); });
    auto begin = all.cbegin();
    for (std::size_t i = 0; i < now.upstreams.size(); ++i) {
      const auto end = std::find_if(begin, all.cend(), [&](const Sending& one) { return upstream_of(one) != i; });
      const auto order = sorted.of(i);
      const auto& upstream = now.upstreams[i];
      if (!order.empty())
        take(i, replayed({log, *now.places, order, *upstream.settings, upstream.quota, median_flight(log, order)},
                         outcomes_, {begin, end}));
      begin = end;
    }
  }
  std::uint64_t left_out() const { return repeats_.left_out; }

 private:
  std::vector<Outcome> outcomes_;  // of each request of the log
  Repeats repeats_;
};

ComparedUpstream begin_row(const RequestLog& log, const Upstream& upstream, std::span<const std::uint32_t> order) {
  ComparedUpstream row{.name = upstream.name,
                       .requests = order.size(),
                       .max_concurrent = upstream.settings->max_concurrent,
                       .quota = upstream.quota};
  for (const auto number : order) {
    const auto& request = log[number];
    row.answered_429 += request.fate == Fate::sent && request.status == 429 ? 1 : 0;
    row.tunnels += request.tunnel ? 1 : 0;
  }
  return row;
}

}  // namespace

/// One course after the other, so that no more than one stands in memory.
Comparison compare(const RequestLog& log, const Side& now, const Side* before) {
  const Sorted sorted = sort_by_arrival(log, now);
  std::vector<ComparedUpstream> rows(now.upstreams.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& upstream = now.upstreams[i];
    const auto order = sorted.of(i);
    if (order.empty()) continue;
    rows[i] = begin_row(log, upstream, order);
    rows[i].logged = logged({log, *now.places, order, *upstream.settings, upstream.quota, median_flight(log, order)});
  }
  if (before) {
    Course(log, *before, sort_by_arrival(log, *before)).measure(log, now, sorted, [&](std::size_t i, Figures figures) {
      rows[i].by_old = std::move(figures);
    });
  }
  Course course(log, now, sorted);
  course.measure(log, now, sorted, [&](std::size_t i, Figures figures) { rows[i].by_new = std::move(figures); });
  std::erase_if(rows, [](const ComparedUpstream& row) { return row.requests == 0; });
  std::ranges::stable_sort(rows, std::greater<>(), &ComparedUpstream::requests);
  return {std::move(rows), unknowns(log, now, course.left_out())};
}

std::string printable(std::string_view text, std::size_t longest) {
  std::string clean(text.substr(0, longest));
  for (char& c : clean) {
    if (c < ' ' || c > '~') c = '?';
  }
  return clean;
}

}  // namespace penstock::replay
