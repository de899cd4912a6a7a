// SPDX-License-Identifier: Apache-2.0
// See interceptor.h.
#include "proxy/interceptor.h"

#include <algorithm>
#include <utility>

namespace penstock::proxy {

namespace {
constexpr std::int64_t kOfOneTurn = 5'000;  // microseconds, so that others wait no longer
}  // namespace

Interceptor::Interceptor(loop::Loop& loop)
    : leaves(loop), loop_(loop), soon_(loop, [this] { take_turns(); }), next_(loop, [this] { soon_.ask(); }) {}

void Interceptor::change(const InterceptConfig& config, std::shared_ptr<const tls::Authority> authority) {
  if (leaves.set_authority(std::move(authority))) distrust.forget();
  distrust.set_bypass(config.bypass_on_pin);
}

Interceptor::Turn::Turn(Interceptor& interceptor, std::move_only_function<void()> begin)
    : interceptor_(interceptor), begin_(std::move(begin)) {
  interceptor_.waiting_.push_back(this);
  if (!interceptor_.next_.running()) interceptor_.soon_.ask();
}

Interceptor::Turn::~Turn() {
  auto& waiting = interceptor_.waiting_;
  const auto place = std::ranges::find(waiting, this);
  if (place != waiting.end()) waiting.erase(place);
}

/// One at a time, for a stream shakes hands at the turn's end too: behind this, and before what is asked for here. The
/// rest when the loop has looked at everybody else.
void Interceptor::take_turns() {
  const auto now = loop_.now();
  if (until_ == 0) until_ = now + kOfOneTurn;
  if (waiting_.empty() || now >= until_) {
    until_ = 0;
    if (!waiting_.empty()) next_.start(now);
    return;
  }
  auto begin = std::move(waiting_.front()->begin_);
  waiting_.pop_front();
  begin();
  soon_.ask();
}

}  // namespace penstock::proxy
