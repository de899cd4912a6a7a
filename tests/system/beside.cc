// SPDX-License-Identifier: Apache-2.0
// See beside.h.
#include "system/beside.h"

#include <algorithm>

namespace penstock::trial {

Beside::Beside(const Daemon& daemon, const Origin& origin)
    : daemon_(daemon), loop_(daemon), client_(daemon.port()), request_(get(origin.url())) {
  ask();
  memory_ = daemon_.resident_kib();
}

void Beside::ask_until(int peers, const std::function<bool()>& done) {
  const auto until = Clock::now() + kPatience;
  std::size_t most = memory_;
  while (!done()) {
    ASSERT_LT(Clock::now(), until) << "it lets them go on";
    ask();
    most = std::max(most, daemon_.resident_kib());
  }
  loop_.expect_quick_turns();
  EXPECT_EQ(daemon_.admin("/healthz").status, 200);
  if (!is_sanitized()) {
    EXPECT_LT(most, memory_ + static_cast<std::size_t>(peers) * 1024);
  }
}

void Beside::ask() {
  const auto waited = loop_.waited();
  const auto began = Clock::now();
  client_.send(request_);
  EXPECT_EQ(client_.reply().status, 200);
  EXPECT_TRUE(within((is_sanitized() ? 250ms : 50ms) + loop_.waited() - waited, began));
}

}  // namespace penstock::trial
