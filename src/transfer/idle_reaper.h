// SPDX-License-Identifier: Apache-2.0
// Closes kept connections that are dead or too old. libcurl does that only when a transfer starts, so this class now
// and then starts a transfer that goes nowhere. Internal to transfer/.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <functional>

#include "loop/loop.h"
#include "loop/timer.h"

namespace penstock::transfer {

class IdleReaper {
 public:
  /// Connections that have been idle for longer than `idle` are too old; `any_kept` returns whether there may be any.
  IdleReaper(loop::Loop& loop, CURLM* multi, std::chrono::seconds idle, std::function<bool()> any_kept);
  ~IdleReaper();  ///< must be destroyed before the multi handle
  IdleReaper(const IdleReaper&) = delete;
  IdleReaper& operator=(const IdleReaper&) = delete;

  /// There is a kept connection, which will become too old.
  void is_wanted();
  /// There is a kept connection that is dead.
  void is_wanted_soon();
  /// libcurl has finished the transfer.
  void rest();

 private:
  void sweep_within(std::chrono::seconds time);
  void sweep();

  loop::Loop& loop_;
  CURLM* const multi_;
  CURL* const handle_;
  const std::chrono::seconds idle_;
  const std::function<bool()> any_kept_;
  loop::Timer timer_;
  bool sweeping_ = false;
};

}  // namespace penstock::transfer
