// SPDX-License-Identifier: Apache-2.0
// What one decision costs in this process: microseconds of an ask of LocalLimiter, with one limit and with four, for 1,
// 8 and 64 departures at once, all granted; of a group that is known and of one that is new; the bytes of a group, and
// what becomes of a million of them. Not a test: prints tables. Times are the least of several rounds, but for the
// million: what else the machine does only adds to them.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <vector>

#include "flow/local_limiter.h"
#include "support/scenario.h"

namespace penstock::flow {
namespace {

using namespace scenarios;

constexpr int kRounds = 50, kAsks = 2'000;  // short rounds: some of them are not disturbed
constexpr int kKnown = 10'000, kMillion = 1'000'000;

double spent_microseconds() {
  timespec spent{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) * 1e6 + static_cast<double>(spent.tv_nsec) / 1e3;
}

/// Of this process: what others do meanwhile does not count.
double microseconds(auto work) {
  const double before = spent_microseconds();
  work();
  return spent_microseconds() - before;
}

class Asked {
 public:
  explicit Asked(std::vector<LimitConfig> limits) : limiter_(std::move(limits), kStart) {}

  /// Ends the program where not all is granted: what is measured would be something else.
  void ask(Time now, std::string_view group, std::size_t count = 1) {
    booking_.clear();
    limiter_.ask(now, {.group = group, .count = count}, booking_);
    if (booking_.departures.size() == count) return;
    std::fprintf(stderr, "flow_cost: %zu of %zu granted\n", booking_.departures.size(), count);
    std::exit(1);
  }
  /// So many flights end, and their permits are free.
  void land(Time now, std::size_t count) {
    for (; count > 0; --count) limiter_.landed(now, {});
  }
  std::size_t groups() const { return limiter_.limits().groups(); }

 private:
  LocalLimiter limiter_;
  Booking booking_;
};

// ---- an ask ---------------------------------------------------------------------------------------------------------

/// A microsecond passes for each departure. What holds permits lands before the next ask.
double cost(const std::vector<LimitConfig>& limits, std::size_t count) {
  Asked asked(limits);
  Time now = 0;
  const bool lands = std::ranges::any_of(
      limits, [](const LimitConfig& limit) { return std::holds_alternative<SemaphoreConfig>(limit.kind); });
  const auto round = [&] {
    for (int i = 0; i < kAsks; ++i) {
      asked.ask(now += static_cast<Time>(count), {}, count);
      if (lands) asked.land(now, count);
    }
  };
  for (int i = 0; i < 10; ++i) round();
  double least = 1e9;
  for (int i = 0; i < kRounds; ++i) least = std::min(least, microseconds(round) / kAsks);
  return least;
}

void print_asks() {
  const auto fast = pacer(1e8), wide = window(1'000'000'000, sec(3'600)), slow = sliding(10'000, 10);
  const auto full = bucket(1'000'000'000, 1'000, sec(1));
  const auto print = [](const char* name, const std::vector<LimitConfig>& limits) {
    std::printf("| %-41s | %5.2f | %5.2f | %6.2f |\n", name, cost(limits, 1), cost(limits, 8), cost(limits, 64));
  };
  std::printf("| %-42s | n = 1 | n = 8 | n = 64 |\n|%s|------:|------:|-------:|\n",
              "limits, µs of this process an ask", std::string(43, '-').c_str());
  print("none", {});
  print("pacer", {fast});
  print("window", {wide});
  print("slidingWindow 10 000", {slow});
  print("tokenBucket", {full});
  print("counter", {counter(1'000'000'000, sec(3'600))});
  print("semaphore, and all landings", {permits_of(1'000)});
  print("pacer, window, tokenBucket, slidingWindow", {fast, wide, full, slow});
}

// ---- groups ---------------------------------------------------------------------------------------------------------

std::size_t bytes_in_use() {
  const auto now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

/// As an upstream's groups by path may look.
std::vector<std::string> names(int first, int count) {
  std::vector<std::string> made;
  for (int n = first; n < first + count; ++n) made.push_back("/guilds/" + std::to_string(700'000'000'000'000'000 + n));
  return made;
}

struct GroupCost {
  double known = 1e9, fresh = 1e9;
  std::size_t bytes = 0;
};

/// Of groups that have a departure each, and then another; bytes when they have ten. None is forgotten meanwhile.
GroupCost cost_of_groups(const LimitConfig& limit) {
  const auto all = names(0, kKnown);
  GroupCost cost;
  for (int i = 0; i < kRounds; ++i) {
    const std::size_t before = bytes_in_use();
    Asked asked({per_group(limit)});
    const auto all_ask = [&](std::size_t count) {
      return microseconds([&] {
               for (const auto& name : all) asked.ask(1, name, count);
             }) /
             kKnown;
    };
    cost.fresh = std::min(cost.fresh, all_ask(1));
    cost.known = std::min(cost.known, all_ask(1));
    all_ask(8);
    cost.bytes = (bytes_in_use() - before) / kKnown;
  }
  return cost;
}

void print_groups() {
  std::printf(
      "| limit of each group | new group, µs | known group, µs | bytes a group |\n"
      "|---------------------|--------------:|----------------:|--------------:|\n");
  const auto print = [](const char* name, const LimitConfig& limit) {
    const GroupCost cost = cost_of_groups(limit);
    std::printf("| %-19s | %13.2f | %15.2f | %13zu |\n", name, cost.fresh, cost.known, cost.bytes);
  };
  print("pacer", pacer(1'000));
  print("window", window(10, sec(3'600)));
  print("tokenBucket", bucket(10, 1, sec(1)));
  print("slidingWindow 10", sliding(10, sec(1)));
}

// ---- a million of them ----------------------------------------------------------------------------------------------

double resident_megabytes() {
  std::size_t whole = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> whole >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

void print_million() {
  const auto first = names(0, kMillion), second = names(kMillion, kMillion);
  malloc_trim(0);
  const double before = resident_megabytes();
  Asked asked({per_group(bucket(1, 1, sec(1)))});
  Time now = 0;
  std::printf(
      "| a million asks of groups                 | µs an ask | remembered then | resident, MB |\n"
      "|------------------------------------------|----------:|----------------:|-------------:|\n");
  const auto print = [&](const char* what, int asks, auto work) {
    const double spent = microseconds(work) / asks;
    std::printf("| %-40s | %9.2f | %15zu | %12.0f |\n", what, spent, asked.groups(), resident_megabytes() - before);
  };
  print("a million groups within a moment", kMillion, [&] {
    for (const auto& name : first) asked.ask(now, name);
  });
  now += sec(10);
  print("10 s later a million others, 10 000/s", kMillion, [&] {
    for (const auto& name : second) asked.ask(now += 100, name);
  });
  now += sec(10);
  print("the first again within a moment", kMillion, [&] {
    for (const auto& name : first) asked.ask(now, name);
  });
  now += sec(10);
  const auto lonely = [&] {
    for (int i = 0; i < kMillion; ++i) asked.ask(now += sec(1), "one");
  };
  print("10 s later one group, all the time", kMillion, lonely);
  malloc_trim(0);
  print("again, after malloc_trim", kMillion, lonely);
}

}  // namespace
}  // namespace penstock::flow

int main() {
  penstock::flow::print_asks();
  std::printf("\n");
  penstock::flow::print_groups();
  std::printf("\n");
  penstock::flow::print_million();
  return 0;
}
