// SPDX-License-Identifier: Apache-2.0
// Formats each call, and sends it.
#include "redis/limits/upstream_calls.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "redis/client/scripts.h"

namespace penstock::redis {

using flow::Time;

UpstreamCalls::UpstreamCalls(SharedRedis& shared, std::string upstream, const std::vector<LimitConfig>& limits,
                             OnFailure on_failure)
    : shared_(shared),
      upstream_(std::move(upstream)),
      hash_(shared.config().prefix, upstream_, shared.config().secret),
      on_failure_(std::move(on_failure)),
      args_(shared.config().prefix, upstream_, shared.who(), limits),
      touched_(std::numeric_limits<Time>::min() / 2) {}

void UpstreamCalls::on_reply(const BookReply& reply) {
  const bool closed = reply.status == BookReply::Status::closed;
  has_met_ |= !closed;
  has_said_since_ &= !closed;
  if (reply.status == BookReply::Status::ok) latest_ = std::max(latest_, reply.now);
  clock_.learn(reply.sent, reply.received, reply.now);
}

bool UpstreamCalls::worked(const Outcome& outcome) const {
  if (!outcome) on_failure_(outcome.error());
  return outcome.has_value();
}

bool UpstreamCalls::book(Time now, const Book& book, Call::Done done) {
  const bool keeps_to_part = when_down() == WhenDown::share;
  const bool says_since = keeps_to_part && !has_met_ && !std::exchange(has_said_since_, true);
  const std::string_view since = !says_since ? "" : book.has_unknown ? "+" : "s";
  const std::string_view processes = book.touch ? shared_.key_to_be_there(now) : std::string_view();
  if (!processes.empty()) {
    done = [&shared = shared_, done = std::move(done)](const Outcome& outcome, Time sent) mutable {
      shared.heard_there(outcome);
      done(outcome, sent);
    };
  }
  call_.clear();
  args_.book(call_, {.generation = generation_,
                     .fresh_generation = shared_.fresh_generation(has_met_ ? 0 : latest_, since),
                     .alive = book.alive,
                     .touch = book.touch,
                     .processes = processes,
                     .left = keeps_to_part,
                     .group = key_of(book.group),
                     .count = book.count,
                     .weight = book.weight,
                     .more = book.more,
                     .permits = book.permits,
                     .without = book.without});
  if (book.touch) touched_ = now;
  return call(Script::book, std::move(done));
}

void UpstreamCalls::give_back(std::string_view group, std::int64_t at, int weight,
                              std::span<const flow::LimitIndex> without) {
  call_.clear();
  args_.give_back(call_, generation_, key_of(group), at, weight, without);
  call(Script::give_back);
}

void UpstreamCalls::report_late(std::string_view group, std::span<const ScriptArgs::Move> moves,
                                std::span<const flow::LimitIndex> without) {
  call_.clear();
  args_.report_late(call_, generation_, key_of(group), moves, without);
  call(Script::report_late);
}

void UpstreamCalls::refused(std::string_view group, std::int64_t departed, std::span<const flow::LimitIndex> without) {
  call_.clear();
  args_.refused(call_, generation_, key_of(group), departed, without);
  call(Script::refused);
}

void UpstreamCalls::learned(std::string_view group, const ScriptArgs::Learned& learned) {
  call_.clear();
  args_.learned(call_, generation_, key_of(group), learned);
  call(Script::learned);
}

void UpstreamCalls::cancel_wait(flow::Booking::Scope scope, std::string_view group) {
  call_.clear();
  args_.cancel_wait(call_, generation_, key_of(group), scope);
  call(Script::cancel_wait);
}

bool UpstreamCalls::pause(std::string_view group, Time length, Call::Done done, bool shortens) {
  call_.clear();
  shortens ? args_.shorten_pause(call_, key_of(group), length) : args_.pause(call_, key_of(group), length);
  return call(Script::pause, std::move(done));
}

bool UpstreamCalls::reset(flow::LimitIndex counter, std::string_view group, Call::Done done) {
  call_.clear();
  args_.reset(call_, generation_, key_of(group), counter);
  return call(Script::reset, std::move(done));
}

bool UpstreamCalls::permits(const LimitConfig& semaphore, flow::LimitIndex place, std::string_view group,
                            std::string_view told, int alive, Call::Done done) {
  call_.clear();
  if (place != flow::kNoLimit) {
    args_.permits(call_, shared_.fresh_generation(), alive, group, place, told);
    return call(Script::permits, std::move(done));
  }
  const ScriptArgs former(shared_.config().prefix, upstream_, shared_.who(), std::vector{semaphore});
  former.permits(call_, shared_.fresh_generation(), alive, group, 0, told);
  return call(Script::permits, std::move(done));
}

void UpstreamCalls::begin_replay(ScriptArgs::Replay what, const ScriptArgs::HandedIn& handed_in) {
  call_.clear();
  args_.begin_replay(call_, generation_, what, handed_in);
}

void UpstreamCalls::add_state(flow::LimitIndex limit, std::string_view group, std::string_view state,
                              std::string_view untold) {
  args_.add_state(call_, limit, key_of(group), state, untold);
}

bool UpstreamCalls::replay(Call::Done done) { return call(Script::replay, std::move(done)); }

bool UpstreamCalls::call(Script script, Call::Done done) {
  if (!done) {
    done = [self = self_.ref()](const Outcome& outcome, Time) {
      if (self) self->worked(outcome);
    };
  }
  return shared_.call(script, call_.keys.all(), call_.arguments.all(), std::move(done));
}

}  // namespace penstock::redis
