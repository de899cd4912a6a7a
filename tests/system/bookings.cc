// SPDX-License-Identifier: Apache-2.0
// Answers of the script `book` are told from others by their shape.
#include "system/bookings.h"

#include <gtest/gtest.h>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <memory>

namespace penstock::trial {

namespace {

constexpr std::size_t kDepartures = 10;  // of an answer of `book`: generation, status, now, …, departures
constexpr auto kClocksDiffer = 100ms;    // a daemon knows Redis' clock give or take half a round trip

Arrivals::Time time_of(const redisReply& number) { return k2025 + std::chrono::microseconds(number.integer); }

}  // namespace

Relay::Ear Bookings::new_ear() {
  const std::shared_ptr<redisReader> reader(redisReaderCreate(), redisReaderFree);
  return [this, reader](std::string_view bytes) {
    redisReaderFeed(reader.get(), bytes.data(), bytes.size());
    for (void* reply = nullptr; redisReaderGetReply(reader.get(), &reply) == REDIS_OK && reply;) {
      note(*static_cast<redisReply*>(reply));
      freeReplyObject(reply);
    }
  };
}

void Bookings::note(const redisReply& reply) {
  if (reply.type != REDIS_REPLY_ARRAY || reply.elements <= kDepartures) return;
  const redisReply& departures = *reply.element[kDepartures];
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < departures.elements; i += 2) {
    granted_.push_back(time_of(*departures.element[i]));
  }
}

Bookings::Times Bookings::times() const {
  const std::lock_guard lock(mutex_);
  Times times = granted_;
  std::ranges::sort(times);
  return times;
}

std::vector<std::size_t> Bookings::per_window(Clock::duration length) const {
  return trial::per_window(times(), length);
}

void Bookings::expect_paced(double a_second, double at_once) const {
  const Times all = times();
  for (std::size_t first = 0; first < all.size(); ++first) {
    for (std::size_t last = first; last < all.size(); ++last) {
      const std::chrono::duration<double> stretch = all[last] - all[first] + 1us;  // they are whole
      ASSERT_LE(static_cast<double>(last - first + 1), a_second * stretch.count() + at_once) << "in any stretch";
    }
  }
}

std::size_t Bookings::count() const {
  const std::lock_guard lock(mutex_);
  return granted_.size();
}

bool Bookings::await(std::size_t count) const {
  return eventually([&] { return this->count() >= count; });
}

Shared patiently(std::string_view limits, std::string_view when_down) {
  return {.limits = std::string(limits), .when_down = std::string(when_down), .timeout = "8s"};
}

AtWork::AtWork(Shared given, std::vector<int> clocks, int clients_each) : SharedStage(std::move(given)) {
  for (const int clock : clocks) {
    Shared by = shared;
    by.clock = clock;
    join(by);
  }
  load = std::make_unique<Load>(ports(), origin.url(), clients_each);
  expect_acquainted();
}

void AtWork::join(Shared by) {
  by.port = bookings.port();
  add(by);
}

void AtWork::await_window(Clock::duration length, std::size_t count) const {
  const auto now = std::chrono::system_clock::now().time_since_epoch() / length;
  ASSERT_TRUE(eventually([&] {
    const auto times = bookings.times();
    const auto at = std::chrono::system_clock::now().time_since_epoch();
    return at / length > now && !times.empty() && times.back().time_since_epoch() / length == at / length &&
           trial::per_window(times, length).back() >= count;
  }));
}

void AtWork::expect_all_served_in_their_time() {
  trial::expect_only_successes(load->stop());
  const auto granted = bookings.times(), arrived = arrivals.times();
  ASSERT_LE(arrived.size(), granted.size());
  for (std::size_t k = 0; k < arrived.size(); ++k) {
    ASSERT_GT(arrived[k], granted[k] - kClocksDiffer) << "the " << k << "th left before its time";
  }
}

}  // namespace penstock::trial
