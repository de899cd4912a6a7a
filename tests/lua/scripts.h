// SPDX-License-Identifier: Apache-2.0
// The scripts on a real redis-server: with the tests' clock, where each call says what time it is, or with Redis' own.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "redis/client/scripts.h"
#include "support/redis_server.h"

namespace penstock::lua {

using Texts = std::vector<std::string>;

using redis::Script;

class Scripts {
 public:
  enum class Clock : std::uint8_t { of_tests, of_redis };
  explicit Scripts(test::RedisServer& server, Clock clock = Clock::of_tests);

  /// `instant`: microseconds since 2025; only the tests' clock looks at it.
  test::RedisReply call(Script script, std::int64_t instant, const Texts& keys, Texts arguments);
  test::RedisServer& server() { return server_; }
  bool tells_time() const { return clock_ == Clock::of_tests; }

 private:
  void load();

  test::RedisServer& server_;
  const Clock clock_;
  std::array<std::string, std::size(redis::kScripts)> shas_;
};

}  // namespace penstock::lua
