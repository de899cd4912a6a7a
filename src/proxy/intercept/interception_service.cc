// SPDX-License-Identifier: Apache-2.0
// Hands out handshake slots within a time budget for each iteration of the loop.
#include "proxy/intercept/interception_service.h"

#include <algorithm>
#include <utility>

namespace penstock::proxy {

namespace {
constexpr std::int64_t kPerIteration = 5'000;  // microseconds: the longest that other work has to wait
constexpr std::size_t kMostToldOf = 1000;
}  // namespace

InterceptionService::InterceptionService(loop::Loop& loop, NoticeSink notices)
    : leaves(loop),
      loop_(loop),
      notices_(std::move(notices)),
      soon_(loop, [this] { give_slots(); }),
      next_(loop, [this] { soon_.ask(); }) {}

void InterceptionService::change(const InterceptConfig& config, std::shared_ptr<const tls::Authority> authority) {
  if (leaves.set_authority(std::move(authority))) rejections.forget();
  rejections.set_bypass(config.bypass_on_pin);
}

void InterceptionService::tell_of_h2(const std::string& host) {
  if (!notices_ || told_of_.size() == kMostToldOf || !told_of_.insert(host).second) return;
  notices_({.level = LogLevel::warn,
            .text = "a client speaks HTTP/2 alone to " + host +
                    ": it gets a tunnel, whose requests nobody counts (intercept.h2Only)"});
}

InterceptionService::HandshakeSlot::HandshakeSlot(InterceptionService& interception,
                                                  std::move_only_function<void()> begin)
    : interception_(interception), begin_(std::move(begin)) {
  interception_.waiting_.push_back(this);
  if (!interception_.next_.running()) interception_.soon_.ask();
}

InterceptionService::HandshakeSlot::~HandshakeSlot() {
  auto& waiting = interception_.waiting_;
  const auto place = std::ranges::find(waiting, this);
  if (place != waiting.end()) waiting.erase(place);
}

/// Begins one handshake at a time: its stream works at the iteration's end too, after this task and before the next one
/// asked for here, so its time is measured. Beyond the budget the rest waits for the next iteration.
void InterceptionService::give_slots() {
  const auto now = loop_.now();
  if (until_ == 0) until_ = now + kPerIteration;
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
