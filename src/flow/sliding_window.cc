// SPDX-License-Identifier: Apache-2.0
// The unit that must have left an interval ago is found by its place in the list.
#include "flow/sliding_window.h"

#include <algorithm>

namespace penstock::flow {

Instant SlidingWindow::frontier(int weight) const {
  const std::int64_t in_the_way = size() - config_.max + weight - 1;
  return in_the_way < 0 || size() == 0 ? kAlways : time(std::min(in_the_way, size() - 1)) + interval();
}

// With weights and several lanes a departure may be before the newest: it counts as if it were with it. What is over
// the maximum is dropped once it is past: a lowered maximum may be raised again.
void SlidingWindow::commit(Instant at, int weight) {
  const Instant t = size() > 0 ? std::max(rounded_up(at), times_.back()) : rounded_up(at);
  times_.insert(times_.end(), static_cast<std::size_t>(weight), t);
}

// Only what no departure from now on could come too near to: it may be that the newest are given back, or `max` is
// raised.
void SlidingWindow::refresh(Instant now) {
  while (size() > config_.max && time(0) + interval() <= now) drop_first();
}

void SlidingWindow::give_back(Instant at, int weight) {
  for (; weight > 0 && size() > 0 && times_.back() == at; --weight) times_.pop_back();
}

// The first that are no earlier give way, a little before `from` already: what was handed in may differ by that, and
// what was stored as late as the newest is later. To move one too old does no harm. What is over may be forgotten.
void SlidingWindow::moved(Instant from, Instant to, int weight) {
  const auto begin = times_.begin() + static_cast<std::ptrdiff_t>(first_);
  const auto last = std::lower_bound(begin, times_.end(), to);
  if (to - from >= interval()) {
    times_.insert(last, static_cast<std::size_t>(weight), to);
    return;
  }
  const auto first = std::lower_bound(begin, last, from - kGuard);
  const auto units = std::min<std::ptrdiff_t>(weight, last - first);
  std::fill(std::move(first + units, last, first), last, to);
}

Instant SlidingWindow::ahead(Instant now, std::int64_t units) const { return ahead_within(now, units, config_.max); }

Instant SlidingWindow::expected(Instant now, std::int64_t units, int weight, const OtherProcesses& others) const {
  return ahead_within(now, units + weight - 1, std::max<std::int64_t>(1, config_.max / (1 + others.count)));
}

Instant SlidingWindow::ahead_within(Instant now, std::int64_t units, std::int64_t most) const {
  const auto rounds = static_cast<Instant>(units / most);
  const std::int64_t in_the_way = size() - most + units % most;
  return (in_the_way < 0 ? now : std::max(now, time(in_the_way) + interval())) + rounds * interval();
}

void SlidingWindow::shift(Instant by) {
  for (Instant& time : times_) time += by;
}

Instant SlidingWindow::forgettable_at() const { return size() > 0 ? times_.back() + interval() : kAlways; }

std::string SlidingWindow::state() const {
  std::string text;
  for (std::int64_t n = 0; n < size(); ++n) text += ' ' + std::to_string(static_cast<std::int64_t>(time(n)));
  return text.empty() ? text : "1s" + text;
}

void SlidingWindow::drop_first() {
  if (2 * ++first_ < times_.size()) return;
  times_.erase(times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(first_));
  first_ = 0;
}

}  // namespace penstock::flow
