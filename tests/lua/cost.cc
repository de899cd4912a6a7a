// SPDX-License-Identifier: Apache-2.0
// What one decision costs Redis: microseconds of a call by its own statistics (commandstats), with one limit and with
// four, for 1, 8 and 64 departures at once, all granted; what Redis' own commands are of that; and the bytes of a
// limit's key. Not a test: prints tables.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "lua/asker.h"
#include "redis/limits/permits.h"
#include "support/scenario.h"

namespace penstock::lua {
namespace {

using namespace scenarios;

constexpr int kRounds = 100, kCalls = 25;  // short rounds: some of them are not disturbed

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "lua_cost: %s\n", why.c_str());
  std::exit(1);
}

/// A figure of INFO: what stands behind `name`, after `section` if that is given.
double told(test::RedisServer& server, std::string_view part, std::string_view name, std::string_view section = "") {
  const std::string stats = server.run({"INFO", part}).text;
  const auto at = stats.find(name, stats.find(section));
  if (at == stats.npos) die("INFO does not tell " + std::string(name));
  return std::atof(stats.c_str() + at + name.size());
}

/// The least of several rounds: what else the machine does only adds to it. The first call is not counted.
double cost_of(test::RedisServer& server, auto call) {
  double least = 1e9;
  call();
  for (int round = 0; round < kRounds; ++round) {
    server.run({"CONFIG", "RESETSTAT"});
    for (int i = 0; i < kCalls; ++i) call();
    least = std::min(least, told(server, "commandstats", "usec_per_call=", "cmdstat_evalsha:"));
  }
  server.run({"FLUSHALL"});
  return least;
}

/// An ask of which all is granted: otherwise something else would be measured.
void ask(Asker& asker, std::size_t count, std::string_view group = {}) {
  const Answer answer = asker.ask(0, {.group = group, .count = count});
  if (!answer.granted_all) die("not all was granted: " + answer.status);
}

// ---- an ask ---------------------------------------------------------------------------------------------------------

void print_row(const char* name, auto cost_of_count) {
  std::printf("| %-41s |", name);
  for (const std::size_t count : {1, 8, 64}) std::printf(" %6.1f |", cost_of_count(count));
  std::printf("\n");
}

void print_ask(test::RedisServer& server, const char* name, const std::vector<LimitConfig>& limits) {
  print_row(name, [&](std::size_t count) {
    Scripts scripts(server, Scripts::Clock::of_redis);
    Asker asker(scripts, "cost", "me", limits, 0);
    return cost_of(server, [&] { ask(asker, count); });
  });
}

constexpr Time kLease = sec(1);

/// One process that returns with each ask what it was granted by the one before. Whether it is granted so many.
bool ask_for_permits(Scripts& scripts, redis::Permits& permits, std::string& generation, std::size_t count) {
  const std::string of = "penstock:{cost}:";
  const auto reply = scripts.call(Script::book, 0, {of + "head", of + "alive", of + "pause", of + "semaphore"},
                                  {"me", generation, "first", "1", "0", "", std::to_string(count), "1", "0", "0",
                                   "semaphore", "u", "d", "1000", std::to_string(kLease), permits.told({})});
  if (reply.items.size() != 13) die("not an answer: " + reply.text);
  generation = reply.items[0].text;
  if (reply.items[10].items.size() != 2 * count) return false;
  permits.granted(reply.items[9].items.at(0).integer);
  permits.use(static_cast<std::int64_t>(count));
  for (; count > 0; --count) permits.ended();
  return true;
}

/// A Redis that knows nothing grants nothing for half a lease: nobody could tell whether it has forgotten.
void await_permits(Scripts& scripts, redis::Permits& permits, std::string& generation) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!ask_for_permits(scripts, permits, generation, 1)) {
    if (std::chrono::steady_clock::now() > end) die("no permits within ten seconds");
  }
}

void print_permits(test::RedisServer& server) {
  print_row("semaphore", [&](std::size_t count) {
    Scripts scripts(server, Scripts::Clock::of_redis);
    redis::Permits permits(kLease);
    std::string generation;
    await_permits(scripts, permits, generation);
    return cost_of(server, [&] {
      if (!ask_for_permits(scripts, permits, generation, count)) die("fewer permits than were asked for");
    });
  });
}

void print_asks(test::RedisServer& server) {
  const auto fast = pacer(1e8), wide = window(1'000'000'000, sec(3'600)), slow = sliding(10'000, 10);
  const auto full = bucket(1'000'000'000, 1'000, sec(1));
  std::printf("| %-42s |  n = 1 |  n = 8 | n = 64 |\n|%s|-------:|-------:|-------:|\n", "limits, µs of Redis an ask",
              std::string(43, '-').c_str());
  print_ask(server, "pacer", {fast});
  print_ask(server, "window", {wide});
  print_ask(server, "slidingWindow 10 000", {slow});
  print_ask(server, "tokenBucket", {full});
  print_ask(server, "counter", {counter(1'000'000'000, sec(3'600))});
  print_permits(server);
  print_ask(server, "2 pacers", {fast, named("second", fast)});
  print_ask(server, "4 pacers", {fast, named("second", fast), named("third", fast), named("fourth", fast)});
  print_ask(server, "pacer, window, tokenBucket, slidingWindow", {fast, wide, full, slow});
}

// ---- the floor ------------------------------------------------------------------------------------------------------

void print_floor(test::RedisServer& server, const char* name, std::string_view script) {
  const std::string sha = server.run({"SCRIPT", "LOAD", script}).text;
  const double cost = cost_of(server, [&] {
    server.run({"EVALSHA", sha, "3", "{cost}head", "{cost}pause", "{cost}pacer"});
  });
  std::printf("| %-41s | %6.1f |\n", name, cost);
}

void print_floors(test::RedisServer& server) {
  std::printf("| %-41s |     µs |\n|%s|-------:|\n", "scripts of Redis' commands alone", std::string(43, '-').c_str());
  print_floor(server, "empty", "return 1");
  print_floor(server, "GET, SET PX",
              "redis.call('GET', KEYS[3]) redis.call('SET', KEYS[3], '2p 1 1 0 1', 'PX', '1000')");
  print_floor(server, "TIME, 3 GET, 2 SET PX, as with one pacer",
              "redis.call('TIME') redis.call('GET', KEYS[1]) redis.call('GET', KEYS[2]) redis.call('GET', KEYS[3]) "
              "redis.call('SET', KEYS[3], '2p 60000000000000.0000 1 0 100', 'PX', '1000') "
              "redis.call('SET', KEYS[1], '1 01234567 60000000000000 0 60000000000000 0 -', 'PX', '86400000')");
}

// ---- keys -----------------------------------------------------------------------------------------------------------

/// Of a key that remembers so many departures: what used_memory grows by, its entry in the tables of keys included.
void print_key(test::RedisServer& server, const char* name, const LimitConfig& limit, int count) {
  Scripts scripts(server, Scripts::Clock::of_redis);
  Asker asker(scripts, "example", "me", {named("limit", per_group(limit))}, 0);
  ask(asker, 1, "first");
  const int keys = std::min(10'000, 1'000'000 / count);
  const double before = told(server, "memory", "used_memory:");
  for (int n = 0; n < keys; ++n) ask(asker, static_cast<std::size_t>(count), std::to_string(1'000'000'000'000'000 + n));
  std::printf("| %-41s | %6.0f |\n", name, (told(server, "memory", "used_memory:") - before) / keys);
  server.run({"FLUSHALL"});
}

void print_keys(test::RedisServer& server) {
  std::printf("| %-41s |  bytes |\n|%s|-------:|\n", "a limit's key with a name of 41 bytes",
              std::string(43, '-').c_str());
  const auto hour = sec(3'600);
  print_key(server, "pacer", pacer(0.001), 1);
  print_key(server, "window", window(10, hour), 10);
  print_key(server, "tokenBucket", bucket(10, 1, hour), 10);
  print_key(server, "counter", counter(10, hour), 10);
  print_key(server, "slidingWindow 10", sliding(10, hour), 10);
  print_key(server, "slidingWindow 200", sliding(200, hour), 200);
  print_key(server, "slidingWindow 10 000", sliding(10'000, hour), 10'000);
}

}  // namespace
}  // namespace penstock::lua

int main() {
  penstock::test::RedisServer server;
  penstock::lua::print_asks(server);
  std::printf("\n");
  penstock::lua::print_floors(server);
  std::printf("\n");
  penstock::lua::print_keys(server);
  return 0;
}
