// SPDX-License-Identifier: Apache-2.0
// Desks whose limits change, and the limits that they change to, at a real Redis.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/in_time.h"
#include "redis/limiter_fixture.h"
#include "support/redis_server.h"

namespace penstock::redis {

inline LimitConfig long_window(int reservoir) {
  return {.kind = WindowConfig{.reservoir = reservoir, .interval = 8760h}};
}
inline LimitConfig counter(int max, Duration period) { return {.kind = CounterConfig{.max = max, .period = period}}; }
inline LimitConfig permits_of(int capacity, Duration lease = 60s) {
  return {.kind = SemaphoreConfig{.capacity = capacity, .lease = lease}, .name = "permits"};
}
inline LimitConfig named(std::string name, LimitConfig limit) {
  limit.name = std::move(name);
  return limit;
}
inline LimitConfig of_group(LimitConfig limit) {
  limit.per = LimitConfig::Per::group;
  return limit;
}
inline LimitConfig own(LimitConfig limit) {
  limit.shared = false;
  return limit;
}
inline LimitConfig refusing(LimitConfig limit) {
  limit.mode = LimitConfig::Mode::refuse;
  return limit;
}

class RedisChange : public SharedLimiterTest {
 protected:
  std::unique_ptr<LimiterFixture> grown_up(std::vector<LimitConfig> limits) {
    begin_an_old_generation();
    auto made = desk(std::move(limits));
    made->fly_on();
    return made;
  }
  /// Nothing more comes.
  std::size_t settled(const LimiterFixture& desk) {
    run_.run_for(kSecond / 4);
    return desk.took_off().size();
  }
  std::string stored(std::string_view limit) {
    return server_.run({"GET", "penstock:{github}:" + std::string(limit)}).text;
  }
};

}  // namespace penstock::redis
