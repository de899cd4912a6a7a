// SPDX-License-Identifier: Apache-2.0
// One timer that is not restarted on every change; when it fires, it compares the times and may start again.
#include "proxy/client/client_timeouts.h"

#include <utility>

namespace penstock::proxy {

ClientTimeouts::ClientTimeouts(loop::Loop& loop, std::move_only_function<void()> when_over)
    : loop_(loop), when_over_(std::move(when_over)), timer_(loop, [this] { on_time(); }) {}

void ClientTimeouts::wait_for(For what, Duration limit) {
  limit_ = limit.count();
  if (std::exchange(what_, what) != what) since_ = loop_.now();
  keep_time();
}

void ClientTimeouts::keep_time() {
  const std::int64_t over = since_ + limit_;
  if (limit_ > 0 && (!timer_.running() || timer_.at() > over)) timer_.start(over);
}

void ClientTimeouts::on_time() {
  if (what_ == For::nothing || limit_ == 0) return;
  if (loop_.now() < since_ + limit_) return keep_time();
  when_over_();
}

}  // namespace penstock::proxy
