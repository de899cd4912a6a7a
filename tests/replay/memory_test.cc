// SPDX-License-Identifier: Apache-2.0
// What a log costs while it is read, played and measured: this program's operator new counts bytes.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <string>

#include "replay/comparison.h"
#include "replay/log_lines.h"

namespace {

thread_local std::size_t held = 0, most_held = 0;  // bytes

}  // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  void* const memory = std::malloc(size);
  if (memory) held += malloc_usable_size(memory), most_held = std::max(most_held, held);
  return memory;
}
void* operator new(std::size_t size) {
  if (void* const memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  if (memory) held -= malloc_usable_size(memory);
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }

namespace penstock::replay {
namespace {

/// Each request has one line, and was sent twice: nothing costs more for an event.
constexpr std::size_t kEvents = 200'000;
constexpr std::uint64_t kGroups = 1'000;

void read_log(RequestLog& log) {
  std::uint64_t place = 0;
  const auto placing = [&](const EventLine&) { return Place{.group = 1 + place++ % kGroups}; };
  EventLogReader reader(log, {placing, placing});
  reader.begin("events.jsonl");
  for (std::size_t i = 0; i < kEvents; ++i) {
    const auto at = static_cast<Time>(i) * kMillisecond;
    reader.read(line("complete", "r" + std::to_string(i), at + 30 * kSecond,
                     R"("status":200,"flightMs":5.000,"attempts":2,)" + wait_of(20 * kSecond)));
  }
  reader.end();
}

UpstreamSettings with_limits_of_groups(int at_once) {
  UpstreamSettings settings;
  settings.max_concurrent = at_once;
  settings.limits.push_back(
      {.kind = WindowConfig{.reservoir = 1'000, .interval = std::chrono::minutes(1)}, .per = LimitConfig::Per::group});
  settings.limits.push_back({.kind = PacerConfig{.qps = 10'000}});
  return settings;
}

TEST(Memory, is_at_most_200_bytes_for_an_event) {
  const auto settings = with_limits_of_groups(64), old_settings = with_limits_of_groups(32);
  const std::size_t before = held;
  most_held = held;
  RequestLog log;
  read_log(log);
  ASSERT_EQ(log.size(), kEvents);
  EXPECT_LE(most_held - before, 200 * kEvents) << "while it is read";
  const Side now{{{.name = "api", .settings = &settings, .quota = Rate{50, std::chrono::seconds(1)}}}, &log.places[0]};
  const Side then{{{.name = "api", .settings = &old_settings}}, &log.places[1]};
  const auto compared = compare(log, now, &then);
  EXPECT_GT(compared.upstreams.at(0).by_new.sendings, kEvents);
  EXPECT_LE(most_held - before, 200 * kEvents) << "while it is played";
  RecordProperty("bytes_an_event", static_cast<int>((most_held - before) / kEvents));
}

}  // namespace
}  // namespace penstock::replay
