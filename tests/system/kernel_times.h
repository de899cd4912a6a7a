// SPDX-License-Identifier: Apache-2.0
// An origin that keeps when requests came to the kernel: what its own thread is late by, on a busy machine, is no
// matter. It takes requests without a body that come in one piece each.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "system/redis_stage.h"

namespace penstock::trial {

class KernelTimes {
 public:
  /// Answers whoever connects to `listener`, which outlives it, from now on.
  explicit KernelTimes(const Socket& listener);
  ~KernelTimes();
  KernelTimes(const KernelTimes&) = delete;

  /// In order.
  std::vector<Arrivals::Time> times() const;
  bool await(std::size_t count) const;

  /// To be called before somebody connects whose requests are to be timed.
  static void ask_kernel(const Socket& listener);

 private:
  void work(int listener);
  bool serve(int fd);

  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_;
  std::vector<Arrivals::Time> times_;
  std::thread worker_;
};

}  // namespace penstock::trial
