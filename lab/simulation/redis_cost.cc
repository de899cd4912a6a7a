// SPDX-License-Identifier: Apache-2.0
// Measures what a call of the book script costs the simulated Redis, in microseconds, and its bytes in and out. Not a
// test: prints a table.
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "redis/client/scripts.h"
#include "redis/limits/script_args.h"
#include "redis/wire/command.h"
#include "simulation/redis_server.h"

namespace penstock::simulation {
namespace {

class Deaf final : public RedisServer::Client {
 public:
  void on_bytes(std::string_view bytes) override { last.assign(bytes); }
  void on_closed() override {}
  std::string last;
};

LimitConfig named(std::string name, LimitConfig::Kind kind) { return {.kind = kind, .name = std::move(name)}; }

/// Calls a millisecond apart.
void print(const char* name, const std::vector<LimitConfig>& limits, std::size_t count, bool touch) {
  std::int64_t now = 1'790'000'000'000'000;
  RedisServer server([&now] { return now; }, "cost");
  Deaf client;
  const auto connection = server.connect(client);
  server.feed(connection, redis::command({"SCRIPT", "LOAD", redis::kBookScript}));
  const std::string digest = client.last.substr(5, 40);
  const redis::ScriptArgs script_args("penstock", "api", "me", limits);
  redis::ScriptCall call;
  script_args.book(call, {.fresh_generation = "fresh", .touch = touch, .count = count});
  std::string bytes;
  redis::begin_command(bytes, 3 + call.keys.size() + call.arguments.size());
  redis::add_word(bytes, "EVALSHA");
  redis::add_word(bytes, digest);
  redis::add_word(bytes, std::to_string(call.keys.size()));
  for (const auto key : call.keys.all()) redis::add_word(bytes, key);
  for (const auto argument : call.arguments.all()) redis::add_word(bytes, argument);
  constexpr int kCalls = 50'000;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i, now += 1'000) server.feed(connection, bytes);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  std::printf("| %-44s | %6.2f |\n", name, took.count() / kCalls);
  if (client.last.find("\r\nok\r\n") == std::string::npos) std::printf("not ok: %s\n", client.last.c_str());
}

}  // namespace
}  // namespace penstock::simulation

int main() {
  using namespace penstock;
  using simulation::named;
  using simulation::print;
  const auto fast = named("pacer", PacerConfig{.qps = 1e8});
  const auto slow = named("slow", PacerConfig{.qps = 500});
  const auto window = named("window", WindowConfig{.reservoir = 1'000'000'000, .interval = std::chrono::hours(1)});
  const auto bucket = named(
      "bucket", TokenBucketConfig{
                    .capacity = 1'000'000'000, .refill_amount = 1'000, .refill_frequency = std::chrono::seconds(1)});
  const auto sliding = named("sliding", SlidingWindowConfig{.max = 10'000, .interval = std::chrono::milliseconds(10)});
  print("pacer, n = 1", {fast}, 1, false);
  print("pacer, n = 1, with a touch", {fast}, 1, true);
  print("pacer, n = 8", {fast}, 8, false);
  print("pacer at twice its rate: turns, n = 8", {slow}, 8, false);
  print("pacer, window, bucket, sliding window, n = 1", {fast, window, bucket, sliding}, 1, false);
  return 0;
}
