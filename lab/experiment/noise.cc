// SPDX-License-Identifier: Apache-2.0
// experiment_noise: measures how late this machine wakes a thread that sleeps. One thread on each core sleeps until
// each next millisecond. At the end of standard input it says `worst_us N p99_us N late_us N`, each from the core where
// it is worst; `late_us` is the sum of the latenesses above one millisecond.
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <thread>
#include <vector>

#include "bench/sockets.h"

namespace penstock::experiment {
namespace {

using Clock = std::chrono::steady_clock;
using Lateness = std::vector<double>;

std::vector<int> own_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) bench::die_of_errno("sched_getaffinity");
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

void stay_on(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) bench::die("a core cannot be chosen");
}

/// At least one sample: a core that the system withheld until the end is the latest of all.
Lateness watch_core(int core, const std::atomic<bool>& over) {
  stay_on(core);
  Lateness late;
  auto next = Clock::now();
  do {
    next += std::chrono::milliseconds(1);
    std::this_thread::sleep_until(next);
    late.push_back(std::chrono::duration<double, std::micro>(Clock::now() - next).count());
    next = std::max(next, Clock::now());
  } while (!over);
  std::ranges::sort(late);
  return late;
}

void wait_for_the_end_of_input() {
  char byte;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

void run() {
  const std::vector<int> cores = own_cores();
  std::vector<Lateness> found(cores.size());
  std::atomic<bool> over = false;
  {
    std::vector<std::jthread> threads;
    for (std::size_t at = 0; at < cores.size(); ++at) {
      threads.emplace_back([&, at] { found[at] = watch_core(cores[at], over); });
    }
    wait_for_the_end_of_input();
    over = true;
  }
  double worst = 0, p99 = 0, sum = 0;
  for (const Lateness& late : found) {
    worst = std::max(worst, late.back());
    p99 = std::max(p99, late[late.size() * 99 / 100]);
    sum = std::max(sum, std::accumulate(std::ranges::upper_bound(late, 1000.0), late.end(), 0.0));
  }
  std::printf("worst_us %.0f p99_us %.0f late_us %.0f\n", worst, p99, sum);
}

}  // namespace
}  // namespace penstock::experiment

int main() { penstock::experiment::run(); }
