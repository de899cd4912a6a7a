// SPDX-License-Identifier: Apache-2.0
// See beside.h.
#include "system/beside.h"

#include <algorithm>
#include <utility>

#include "support/core_time.h"
#include "support/machine.h"

namespace penstock::trial {

Beside::Beside(const Daemon& daemon)
    : daemon_(daemon), loop_(daemon), client_(daemon.port()), request_(get("http://" + origin_.host() + "/")) {
  ask(0);
  memory_ = daemon_.resident_kib();
}

void Beside::ask_until(int peers, const std::function<bool()>& done) {
  const auto until = Clock::now() + kPatience;
  std::size_t most = memory_;
  while (!done()) {
    ASSERT_LT(Clock::now(), until) << "it lets them go on";
    ask(peers);
    most = std::max(most, daemon_.resident_kib());
  }
  peers <= kFew ? loop_.expect_quick_iterations() : loop_.expect_no_stall();
  EXPECT_EQ(daemon_.admin("/healthz").status, 200);
  if (!is_sanitized()) {
    EXPECT_LT(most, memory_ + static_cast<std::size_t>(peers) * 1024);
  }
}

// The crowd's threads are many, and compete with the origin's for the processors.
void Beside::answer(test::Socket& peer) {
  Clock::duration before{};
  while (!peer.read_until("\r\n\r\n").empty()) {
    const auto waited_so_far = test::core_time_of().waited;
    origin_waited_ += (waited_so_far - std::exchange(before, waited_so_far)).count();
    peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  }
}

void Beside::ask(int peers) {
  const auto bound = is_sanitized() ? 250ms : peers <= kFew ? 50ms : 100ms;
  const auto waited_before = waited();
  const auto began = Clock::now();
  client_.send(request_);
  EXPECT_EQ(client_.reply().status, 200);
  const auto ended = Clock::now();
  const auto waits = waited() - waited_before;
  if (within(bound + waits, began, ended)) return;
  const double slowness = test::machine_slowness();
  const auto there = std::chrono::duration_cast<Clock::duration>(slowness * bound);
  EXPECT_TRUE(within(there + waits, began, ended)) << "a machine that is so many times as slow: " << slowness;
}

}  // namespace penstock::trial
