// SPDX-License-Identifier: Apache-2.0
// Plays runs, each in a child process, several at once. A run that crashes or never ends is a verdict like others.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "simulation/outcome.h"

namespace penstock::simulation {

class Apart {
 public:
  /// The rules that a run breaks if it crashes, or takes too long.
  static constexpr const char *kCrash = "crash", *kTime = "time";

  /// `longest`: processor time of one run.
  Apart(Play play, std::size_t at_once, std::chrono::seconds longest);
  ~Apart();  ///< kills the running ones
  Apart(const Apart&) = delete;
  Apart& operator=(const Apart&) = delete;

  bool full() const { return running_.size() >= at_once_; }
  bool idle() const { return running_.empty(); }
  /// Only while not full().
  void begin(std::size_t number, const Plan& plan);

  struct Done {
    std::size_t number = 0;  ///< as given to begin()
    Outcome outcome;
  };
  /// Waits for the next run to end; only while not idle(). Throws std::system_error if it cannot.
  Done wait();

 private:
  struct Running {
    std::size_t number;
    int process;
    int pipe;  // the child writes its outcome into it
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
