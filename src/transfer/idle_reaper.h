// SPDX-License-Identifier: Apache-2.0
// libcurl looks for kept connections that are dead or too old when a transfer starts, and at no other time. This is a
// transfer that starts for nothing else, now and then, and goes nowhere. For this room.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <functional>

#include "loop/loop.h"
#include "loop/timer.h"

namespace penstock::transfer {

class IdleReaper {
 public:
  /// Connections that have been idle for longer than `idle` are too old; `any_kept` says whether there may be some.
  IdleReaper(loop::Loop& loop, CURLM* multi, std::chrono::seconds idle, std::function<bool()> any_kept);
  ~IdleReaper();  ///< before the multi handle
  IdleReaper(const IdleReaper&) = delete;
  IdleReaper& operator=(const IdleReaper&) = delete;

  /// There is a connection that will be too old.
  void is_wanted();
  /// There is one that is dead.
  void is_wanted_soon();
  /// libcurl is done with it.
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
