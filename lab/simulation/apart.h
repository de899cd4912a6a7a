// SPDX-License-Identifier: Apache-2.0
// Runs, each in a process of its own, several at once. One that crashes or never ends is a verdict like others.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "simulation/outcome.h"

namespace penstock::simulation {

class Apart {
 public:
  /// Rules that are broken by a run that crashes, and by one that takes too long.
  static constexpr const char *kCrash = "crash", *kTime = "time";

  /// `longest`: of the processor's time, for one run.
  Apart(Play play, std::size_t at_once, std::chrono::seconds longest);
  ~Apart();  ///< ends those that run
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;

  bool full() const { return running_.size() >= at_once_; }
  bool idle() const { return running_.empty(); }
  /// To be called unless full().
  void begin(std::size_t number, const Plan& plan);

  struct Done {
    std::size_t number = 0;  ///< as begin() was told
    Outcome outcome;
  };
  /// Waits for the next that ends; to be called unless idle(). Throws std::system_error if it cannot.
  Done wait();

 private:
  struct Running {
    std::size_t number;
    int process;
    int pipe;  // it writes its outcome into
    std::string text;
  };

  static bool read(Running& running);
  Done done(const Running& running) const;
  [[noreturn]] void play_in_child(const Plan& plan, int pipe) const;

  const Play play_;
  const std::size_t at_once_;
  const std::chrono::seconds longest_;
  std::vector<Running> running_;
};

}  // namespace penstock::simulation
