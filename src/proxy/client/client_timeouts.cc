// SPDX-License-Identifier: Apache-2.0
// One timer that is not restarted on every change; when it fires, the times are compared, and it may start again.
#include "proxy/client/client_timeouts.h"

#include <utility>

namespace penstock::proxy {

ClientTimeouts::ClientTimeouts(loop::Loop& loop, std::move_only_function<void()> on_timer)
    : loop_(loop), timer_(loop, std::move(on_timer)) {}

void ClientTimeouts::wait_for(For what, Duration limit) {
  limit_ = limit.count();
  if (std::exchange(what_, what) != what) since_ = loop_.now();
  keep_time();
}

void ClientTimeouts::keep_time() {
  const std::int64_t over = since_ + limit_;
  if (limit_ > 0 && (!timer_.running() || timer_.at() > over)) timer_.start(over);
}

bool ClientTimeouts::fired() {
  if (what_ == For::nothing || limit_ == 0) return false;
  const bool over = loop_.now() >= since_ + limit_;
  if (!over) keep_time();
  return over;
}

}  // namespace penstock::proxy
