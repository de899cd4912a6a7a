// SPDX-License-Identifier: Apache-2.0
// The judge of what hostile peers do to others: a client beside them, whose requests take as long as ever, and the
// program's memory, loop and health meanwhile.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "support/origin.h"
#include "system/loop_watch.h"
#include "system/stage.h"

namespace penstock::trial {

/// Hostile peers come in two crowds, the second on top of the first.
inline constexpr int kFew = 4, kMany = 50;

/// A peer none of whose bytes has been taken for so long has come to rest.
inline constexpr std::chrono::milliseconds kStuck{150};

class Beside {
 public:
  /// Before they come.
  explicit Beside(const Daemon& daemon);

  /// PendingAsks one request after the other, which is answered at once, until `done`. Beside a few `peers` none takes
  /// 50 ms more than this machine was late, or let client, program and origin wait for a processor, and the loop keeps
  /// its turns below that; on a machine that is slower just now than the one of the bounds, it is as many times as
  /// long. Many are threads of this test which keep the machine busy in ways that nobody tells of: beside them it is
  /// 100 ms, and no stall. The program does not grow by more than a MiB for each, and it is healthy.
  void ask_until(int peers, const std::function<bool()>& done);

 private:
  void answer(test::Socket& peer);
  void ask(int peers);
  Clock::duration waited() const { return loop_.waited() + Clock::duration(origin_waited_); }

  const Daemon& daemon_;
  const LoopWatch loop_;
  std::atomic<Clock::rep> origin_waited_ = 0;
  test::Origin origin_{[this](auto&, auto& peer, int) { answer(peer); }};
  Client client_;
  const std::string request_;
  std::size_t memory_ = 0;
};

}  // namespace penstock::trial
