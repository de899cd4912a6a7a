// SPDX-License-Identifier: Apache-2.0
// See drain.h.
#include "app/drain.h"

#include <string>
#include <utility>

namespace penstock::app {

namespace {
constexpr std::int64_t kDrainLookEvery = 50'000;
constexpr std::int64_t kLastWords = 500'000;  // for answers written when grace is over
constexpr std::int64_t kOnceMore = 500'000;   // for clients that have asked before
constexpr std::int64_t kAtLast = 5'000'000;   // for clients that have not
}  // namespace

Drain::Drain(loop::Loop& loop, const Drained& drained, bool has_successor, NoticeSink notices)
    : loop_(loop),
      drained_(drained),
      has_successor_(has_successor),
      notices_(std::move(notices)),
      grace_timer_(loop, [this] { out_of_grace(); }),
      serving_timer_(loop, [this] { serve_accepted(); }),
      closing_timer_(loop, [this] { close_connections(); }) {}

Drain::~Drain() { tell(false); }

void Drain::begin(Duration grace, OnDone when_done) {
  if (done_) return when_done(in_time_);
  when_done_.push_back(std::move(when_done));
  if (when_done_.size() > 1) return;
  notices_({.level = LogLevel::info, .text = "draining for up to " + std::to_string(grace.count() / 1'000'000) + " s"});
  drained_.listener.close();
  since_ = loop_.now();
  leave_by_ = since_ + grace.count();
  grace_timer_.start(leave_by_);
  drained_.clients.close_after_answers();
  serve_accepted();
}

/// Requests already sent are served, also those whose password is still being checked.
void Drain::serve_accepted() {
  if (!in_time_ || (!may_ask_once_more() && !drained_.clients.any_authenticating())) return end_exchanges();
  serving_timer_.start(loop_.now() + kDrainLookEvery);
}

/// A restart must refuse no request, and no other process can serve connections that we have accepted.
bool Drain::may_ask_once_more() const {
  if (!has_successor_ || drained_.clients.count() == 0) return false;
  return loop_.now() - since_ < (drained_.clients.any_new() ? kAtLast : kOnceMore);
}

void Drain::end_exchanges() {
  drained_.dispatcher.drain([this] {
    grace_timer_.stop();
    closing_timer_.start(loop_.now());
  });
}

void Drain::out_of_grace() {
  in_time_ = false;
  leave_by_ = loop_.now() + kLastWords;
  notices_({.level = LogLevel::warn, .text = "out of grace: what is still under way is ended"});
  drained_.authenticator.end();
  drained_.dispatcher.end_all();
}

/// Answers are complete, but some are still on their way to slow readers. A request at the authenticator has none yet.
void Drain::close_connections() {
  drained_.clients.close_idle();
  if (loop_.now() >= leave_by_ && drained_.authenticator.is_busy()) out_of_grace();
  const bool all_gone = drained_.clients.count() == 0 && loop_.self_owned() == 0;
  done_ = all_gone || loop_.now() >= leave_by_;
  if (done_) return tell(in_time_);
  closing_timer_.start(loop_.now() + kDrainLookEvery);
}

void Drain::tell(bool in_time) {
  for (auto& when_done : std::exchange(when_done_, {})) when_done(in_time);
}

}  // namespace penstock::app
