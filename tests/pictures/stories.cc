// SPDX-License-Identifier: Apache-2.0
// The six stories. What is to be seen in them is worked out by hand in pictures_test.cc.
#include "pictures/stories.h"

namespace penstock::pictures {
namespace {

using flow::Time;

constexpr Time kMs = 1000;
constexpr Time kSecond = 1000 * kMs;
constexpr Time kShort = 20 * kMs;

/// `count` requests from `first` on, `apart` from each other.
std::vector<Request> row(Time first, int count, Time apart) {
  std::vector<Request> requests;
  for (int n = 0; n < count; ++n) requests.push_back({.arrives = first + n * apart, .flies = kShort});
  return requests;
}

std::vector<Request> together(std::vector<Request> first, const std::vector<Request>& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

/// Ten shortly before the edge of a window and a few in the next: where windows and sliding windows differ.
std::vector<Request> at_an_edge() {
  return together(row(100 * kMs, 2, 300 * kMs), together(row(850 * kMs, 10, 10 * kMs), row(2'500 * kMs, 3, 60 * kMs)));
}

std::vector<Request> of_various_lengths() {
  std::vector<Request> requests = row(100 * kMs, 10, 90 * kMs);
  constexpr Time kLengths[] = {700, 300, 500, 400, 250, 600, 350, 450, 300, 500};
  for (std::size_t n = 0; n < requests.size(); ++n) requests[n].flies = kLengths[n] * kMs;
  return requests;
}

}  // namespace

std::vector<Story> stories() {
  using namespace std::chrono_literals;
  return {
      {.file = "pacer.svg",
       .title = "pacer: { qps: 10, maxBurst: 3 }",
       .limit = {PacerConfig{.qps = 10, .max_burst = 3}},
       .requests = together(row(100 * kMs, 12, 20 * kMs), row(2'000 * kMs, 8, 20 * kMs)),
       .lasts = 3 * kSecond},
      {.file = "window.svg",
       .title = "window: { reservoir: 5, interval: 1s }",
       .limit = {WindowConfig{.reservoir = 5, .interval = 1s}},
       .requests = at_an_edge(),
       .lasts = 3 * kSecond,
       .grid = kSecond},
      {.file = "sliding-window.svg",
       .title = "slidingWindow: { max: 5, interval: 1s }",
       .limit = {SlidingWindowConfig{.max = 5, .interval = 1s}},
       .requests = at_an_edge(),
       .lasts = 3 * kSecond},
      {.file = "token-bucket.svg",
       .title = "tokenBucket: { capacity: 5, refillAmount: 2, refillFrequency: 500ms }",
       .limit = {TokenBucketConfig{.capacity = 5, .refill_amount = 2, .refill_frequency = 500ms}},
       .requests = together(row(100 * kMs, 9, 20 * kMs), row(2'300 * kMs, 5, 20 * kMs)),
       .lasts = 3 * kSecond},
      {.file = "semaphore.svg",
       .title = "semaphore: { capacity: 3 }",
       .limit = {SemaphoreConfig{.capacity = 3}},
       .requests = of_various_lengths(),
       .lasts = 3 * kSecond,
       .flights = true},
      {.file = "counter.svg",
       .title = "counter: { max: 5, period: 1s }",
       .limit = {CounterConfig{.max = 5, .period = 1s}},
       .requests = row(300 * kMs, 14, 120 * kMs),
       .lasts = 3 * kSecond},
  };
}

}  // namespace penstock::pictures
