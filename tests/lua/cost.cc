// SPDX-License-Identifier: Apache-2.0
// What one decision costs Redis: microseconds of a call by its own statistics (commandstats), with one limit and with
// four, for 1, 8 and 64 departures at once, all granted. Not a test: prints a table.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "lua/asker.h"
#include "support/scenario.h"

namespace penstock::lua {
namespace {

using namespace scenarios;

constexpr int kRounds = 9, kCalls = 300;

double microseconds_of_a_call(test::RedisServer& server) {
  const std::string stats = server.run({"INFO", "commandstats"}).text;
  const auto at = stats.find("usec_per_call=", stats.find("cmdstat_evalsha:"));
  return std::atof(stats.c_str() + at + 14);
}

/// The least of several rounds: what else the machine does only adds to it.
double cost(test::RedisServer& server, const std::vector<LimitConfig>& limits, std::size_t count) {
  Scripts scripts(server, Scripts::Clock::of_redis);
  double least = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    Asker asker(scripts, "cost", "me", limits, 0);
    asker.ask(0, {.count = count});
    server.run({"CONFIG", "RESETSTAT"});
    for (int i = 0; i < kCalls; ++i) asker.ask(0, {.count = count});
    least = std::min(least, microseconds_of_a_call(server));
    server.run({"FLUSHALL"});
  }
  return least;
}

void print(test::RedisServer& server, const char* name, const std::vector<LimitConfig>& limits) {
  std::printf("| %s |", name);
  for (const std::size_t count : {1, 8, 64}) std::printf(" %.1f |", cost(server, limits, count));
  std::printf("\n");
}

}  // namespace
}  // namespace penstock::lua

int main() {
  using namespace penstock::lua;
  penstock::test::RedisServer server;
  const auto fast = pacer(1e8), wide = window(1'000'000'000, sec(3'600)), slow = sliding(10'000, 10);
  const auto full = bucket(1'000'000'000, 1'000, sec(1));
  std::printf("| limits, µs of Redis a call | n = 1 | n = 8 | n = 64 |\n| --- | --- | --- | --- |\n");
  print(server, "pacer", {fast});
  print(server, "window", {wide});
  print(server, "slidingWindow 10 000", {slow});
  print(server, "tokenBucket", {full});
  print(server, "2 pacers", {fast, named("second", fast)});
  print(server, "4 pacers", {fast, named("second", fast), named("third", fast), named("fourth", fast)});
  print(server, "pacer, window, tokenBucket, slidingWindow", {fast, wide, full, slow});
  return 0;
}
