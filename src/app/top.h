// SPDX-License-Identifier: Apache-2.0
// `penstock top` on a terminal: what comes (keys, answers of the daemon, signals) becomes the next picture.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "app/top_keys.h"
#include "app/top_poll.h"
#include "app/top_screen.h"
#include "app/top_signals.h"
#include "app/top_terminal.h"
#include "app/top_view.h"

namespace penstock::app {

/// Seconds since 1970.
double wall_clock();

class Top {
 public:
  /// `first`: what the daemon has answered already.
  Top(const Endpoint& admin, ShownStatus first);

  /// Until the user leaves, or a signal ends it. The program's exit code.
  int run();

 private:
  void draw();
  void wait();
  void hear();
  void type();
  void press_all(const std::vector<Key>& keys);
  void obey(int signal);
  void suspend();
  /// What is shown: what was known when the view was held, or what is known now.
  TopNews news() const;

  TopSignals signals_;  // blocked before the poll's thread begins
  TopPoll poll_;
  std::string where_;  // the admin port
  TopTerminal terminal_;
  TopInks inks_ = inks_of_environment();
  KeyReader keys_;
  TopView view_;
  TopNews latest_, held_;
  std::chrono::steady_clock::time_point answered_ = std::chrono::steady_clock::now();
  std::optional<int> code_;  // set: the end
};

}  // namespace penstock::app
