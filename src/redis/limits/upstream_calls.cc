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
      args_(shared.config().prefix, upstream_, shared.process_name(), limits),
      slot_(slot_of(args_.head())),
      memory_(shared_, slot_),
      touched_(std::numeric_limits<Time>::min() / 2) {}

void UpstreamCalls::on_reply(const BookReply& reply) {
  memory_.on_reply(reply);
  clock_.learn(reply.sent, reply.received, reply.now);
}

bool UpstreamCalls::worked(const Outcome& outcome) const {
  if (!outcome) on_failure_(outcome.error());
  return outcome.has_value();
}

bool UpstreamCalls::book(Time now, const Book& book, Call::Done done) {
  const bool keeps_to_part = when_down() == WhenDown::share;
  const std::string_view since = keeps_to_part ? memory_.mark_to_tell(book.has_unknown) : "";
  const bool has_lists =
      keeps_to_part && args_.routes().has(book.route) && asked_left_.due(now, book.route, book.touch);
  const std::string_view processes = book.touch ? shared_.presence_key(now) : std::string_view();
  if (!processes.empty()) {
    done = [&shared = shared_, done = std::move(done)](const Outcome& outcome, Time sent) mutable {
      shared.presence_answered(outcome);
      done(outcome, sent);
    };
  }
  call_.clear();
  args_.book(call_, {.generation = memory_.generation(),
                     .fresh_generation = shared_.fresh_generation(memory_.server_now(), memory_.time_to_tell(), since),
                     .alive = book.alive,
                     .touch = book.touch,
                     .processes = processes,
                     .left = keeps_to_part,
                     .lists = has_lists,
                     .group = key_of(book.group),
                     .route = book.route,
                     .count = book.count,
                     .load = book.load,
                     .more = book.more,
                     .permits = book.permits,
                     .without = book.without});
  if (book.touch) touched_ = now;
  return call(Script::book, std::move(done));
}

void UpstreamCalls::give_back(flow::LaneKey lane, std::int64_t at, const flow::Load& load,
                              std::span<const flow::LimitIndex> without) {
  const GroupKey group = key_of(lane.group);
  call_.clear();
  args_.give_back(call_, memory_.generation(), flow::LaneKey(group, lane.route), at, load, without);
  call(Script::give_back);
}

void UpstreamCalls::settle(flow::LaneKey lane, const flow::Departure& departure, int cost,
                           std::span<const flow::LimitIndex> without) {
  const GroupKey group = key_of(lane.group);
  call_.clear();
  args_.settle(call_, memory_.generation(), flow::LaneKey(group, lane.route), departure, cost, without);
  call(Script::settle);
}

void UpstreamCalls::report_late(flow::LaneKey lane, std::span<const ScriptArgs::Move> moves,
                                std::span<const flow::LimitIndex> without) {
  const GroupKey group = key_of(lane.group);
  call_.clear();
  args_.report_late(call_, memory_.generation(), flow::LaneKey(group, lane.route), moves, without);
  call(Script::report_late);
}

void UpstreamCalls::refused(flow::LaneKey lane, std::int64_t departed, std::span<const flow::LimitIndex> without) {
  const GroupKey group = key_of(lane.group);
  call_.clear();
  args_.refused(call_, memory_.generation(), flow::LaneKey(group, lane.route), departed, without);
  call(Script::refused);
}

void UpstreamCalls::learned(std::string_view group, const ScriptArgs::Learned& learned) {
  call_.clear();
  args_.learned(call_, memory_.generation(), key_of(group), learned);
  call(Script::learned);
}

void UpstreamCalls::cancel_wait(std::string_view line) {
  call_.clear();
  args_.cancel_wait(call_, memory_.generation(), line);
  call(Script::cancel_wait);
}

bool UpstreamCalls::pause(std::string_view group, Time length, Call::Done done, bool shortens) {
  call_.clear();
  shortens ? args_.shorten_pause(call_, key_of(group), length) : args_.pause(call_, key_of(group), length);
  return call(Script::pause, std::move(done));
}

bool UpstreamCalls::reset(flow::LimitIndex counter, flow::LaneKey lane, Call::Done done) {
  const GroupKey group = key_of(lane.group);
  call_.clear();
  args_.reset(call_, memory_.generation(), flow::LaneKey(group, lane.route), counter);
  return call(Script::reset, std::move(done));
}

bool UpstreamCalls::permits(const LimitConfig& semaphore, flow::LimitIndex place, std::string_view group,
                            std::string_view told, int alive, Call::Done done) {
  call_.clear();
  if (place != flow::kNoLimit) {
    args_.permits(call_, shared_.fresh_generation(memory_.server_now()), alive, group, place, told);
    return call(Script::permits, std::move(done));
  }
  const ScriptArgs former(shared_.config().prefix, upstream_, shared_.process_name(), std::vector{semaphore});
  former.permits(call_, shared_.fresh_generation(memory_.server_now()), alive, group, 0, told);
  return call(Script::permits, std::move(done));
}

void UpstreamCalls::begin_replay(ScriptArgs::Replay what, const ScriptArgs::HandedIn& handed_in) {
  call_.clear();
  args_.begin_replay(call_, memory_.generation(), what, handed_in);
}

void UpstreamCalls::add_state(flow::LimitIndex limit, std::string_view group, std::string_view state,
                              std::string_view untold) {
  args_.add_state(call_, limit, key_of(group), state, untold);
}

bool UpstreamCalls::look(Script script, const Fill& fill, Call::Done done) {
  call_.clear();
  fill(args_, call_);
  return call(script, std::move(done));
}

bool UpstreamCalls::replay(Call::Done done) { return call(Script::replay, std::move(done)); }

bool UpstreamCalls::call(Script script, Call::Done done) {
  if (!done) {
    done = [self = self_.ref()](const Outcome& outcome, Time) {
      if (self) self->worked(outcome);
    };
  }
  return shared_.call_at(slot_, script, call_.keys.all(), call_.arguments.all(), std::move(done));
}

}  // namespace penstock::redis
