// SPDX-License-Identifier: Apache-2.0
// A binary heap of timers over one timerfd.
#include "loop/timer.h"

#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <utility>

#include "loop/timer_queue.h"

namespace penstock::loop {

Timer::Timer(Loop& loop, std::move_only_function<void()> on_time)
    : queue_(loop.timers()), on_time_(std::move(on_time)) {}

void Timer::start(std::int64_t at) { queue_.start(*this, at); }

void Timer::stop() {
  if (running()) queue_.stop(*this);
}

TimerQueue::TimerQueue(uv_loop_s* uv)
    : fd_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)), poll_(new uv_poll_t) {
  uv_poll_init(uv, poll_, fd_.get());
  poll_->data = this;
  uv_poll_start(poll_, UV_READABLE, [](uv_poll_t* poll, int, int) {
    auto& queue = *static_cast<TimerQueue*>(poll->data);
    std::uint64_t expirations = 0;
    if (::read(queue.fd_.get(), &expirations, sizeof expirations) < 0) return;
    queue.armed_ = kNever;
    queue.fire();
  });
}

void TimerQueue::close() {
  if (!poll_) return;
  uv_close(reinterpret_cast<uv_handle_t*>(poll_), [](uv_handle_t* poll) { delete reinterpret_cast<uv_poll_t*>(poll); });
}

void TimerQueue::start(Timer& timer, std::int64_t at) {
  // A timer that a firing one starts for a time already due waits for the next iteration, or fire() would never return.
  timer.at_ = std::max(at, firing_ + 1);
  if (!timer.running()) {
    heap_.push_back(&timer);
    timer.place_ = heap_.size() - 1;
  }
  rise(timer.place_);
  sink(timer.place_);
}

void TimerQueue::stop(Timer& timer) {
  const std::size_t hole = timer.place_;
  timer.place_ = Timer::kNowhere;
  Timer* last = heap_.back();
  heap_.pop_back();
  if (last == &timer) return;
  place(hole, last);
  rise(last->place_);
  sink(last->place_);
}

void TimerQueue::place(std::size_t at, Timer* timer) {
  heap_[at] = timer;
  timer->place_ = at;
}

void TimerQueue::rise(std::size_t at) {
  Timer* timer = heap_[at];
  for (; at > 0; at = (at - 1) / 2) {
    Timer* parent = heap_[(at - 1) / 2];
    if (parent->at_ <= timer->at_) break;
    place(at, parent);
  }
  place(at, timer);
}

void TimerQueue::sink(std::size_t at) {
  Timer* timer = heap_[at];
  while (true) {
    std::size_t child = 2 * at + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1]->at_ < heap_[child]->at_) ++child;
    if (timer->at_ <= heap_[child]->at_) break;
    place(at, heap_[child]);
    at = child;
  }
  place(at, timer);
}

void TimerQueue::arm() {
  if (clock_ || heap_.empty() || (armed_ != kNever && armed_ <= heap_.front()->at_)) return;
  armed_ = heap_.front()->at_;
  const std::int64_t at = std::max<std::int64_t>(armed_, 1);
  itimerspec when{};
  when.it_value = {.tv_sec = at / 1'000'000, .tv_nsec = at % 1'000'000 * 1'000};
  timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void TimerQueue::fire() {
  firing_ = clock_ ? clock_->now() : system_now();
  while (!heap_.empty() && heap_.front()->at_ <= firing_) {
    Timer& due = *heap_.front();
    stop(due);
    due.on_time_();
  }
  firing_ = kNever;
}

std::optional<std::int64_t> TimerQueue::next() const {
  return heap_.empty() ? std::nullopt : std::optional(heap_.front()->at_);
}

}  // namespace penstock::loop
