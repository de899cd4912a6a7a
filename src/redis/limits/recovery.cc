// SPDX-License-Identifier: Apache-2.0
// How a limiter comes to agree with Redis. After an outage it hands in what it granted alone; after a loss of keys it
// hands in all that it remembers, and waits until the other processes have done so, too.
#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "redis/limits/shared_limiter.h"

namespace penstock::redis {

using flow::Time;
using Scope = flow::Booking::Scope;
using Status = BookReply::Status;

namespace {
constexpr std::size_t kStatesACall = 50;
constexpr std::size_t kMostStates = 20'000;  // states of groups beyond this number stay forgotten
constexpr Time kBetweenLooks = 10'000;
}  // namespace

void SharedLimiter::redis_down() {
  if (state_ == State::down) return;
  go_alone(State::down);
}

/// Redis answers, and messages arrive if limits of this upstream need them.
bool SharedLimiter::may_ask_redis() const { return shared_.redis().up() && (!needs_messages_ || shared_.redis().messages_come()); }

void SharedLimiter::messages_gone() {
  if (needs_messages_) redis_down();
}

/// Redis answers this upstream's calls, but not as it should.
void SharedLimiter::refused() {
  refused_ = true;
  redis_down();
}

/// Or has to ask, because lanes wait.
bool SharedLimiter::has_to_tell(Time now) const {
  return in_use(now) || (!generation_.empty() && (semaphores_.any() || shadow_.has_unknown()));
}

/// This may be another Redis, or know less than before. So the first call tells the latest script time that this
/// process was told, before anything else is said.
void SharedLimiter::redis_up() {
  if (!may_ask_redis()) return;
  has_met_ = has_said_since_ = false;
  const Time now = shared_.loop().now();
  if (refused_) return look(now);
  if (generation_.empty() || !has_to_tell(now)) return join();
  state_ = State::recovering;
  look(now);
}

void SharedLimiter::go_alone(State standing) {
  if (state_ == State::connected) parts_ = sharers();
  state_ = standing;
  look_again_.stop();
  counter_resets_.clear();
  divide_limits();
  semaphores_.redis_gone();
  owner_.standing_changed();
  wake_lanes();
}

/// Remembers what is left of each limit, by which the process would go on without Redis. Skipped while Redis has not
/// been told of everything that was granted alone.
void SharedLimiter::note_left(const Asking& asking) {
  if (shared_.config().when_down != WhenDown::share || asking.former || shadow_.has_untold()) return;
  const auto taken = static_cast<std::int64_t>(reply_.departures.size()) * asking.weight;
  std::size_t next = 0;
  for (const flow::LimitIndex limit : script_args_.places()) {
    const bool of_group = limits_[static_cast<std::size_t>(limit)].per == LimitConfig::Per::group;
    if (of_group && asking.group.empty()) continue;  // not part of the ask
    if (next == reply_.left.size()) return;
    const auto& [until, units] = reply_.left[next++];
    if (until == 0) {
      if (taken > 0) shadow_.note_taken(asking.group, limit, taken);
    } else {
      shadow_.note_left(asking.group, limit, {.until = static_cast<flow::Instant>(until), .units = units});
    }
  }
}

/// The count of processes at the upstream is taken as true for a while after it was told. Later, any process may have
/// come to use the upstream.
int SharedLimiter::sharers() const {
  const bool is_true = shared_.loop().now() - counted_at_ < kInUse;
  return shared_.sharers(is_true ? alive_ : 0);
}

/// Only for `share`: by the other rules nothing leaves without Redis, or everything.
void SharedLimiter::divide_limits() {
  if (shared_.config().when_down == WhenDown::share) shadow_.go_alone(shared_.loop().now(), parts_);
}

/// Redis executes calls in the order in which they are sent: an ask sent from now on meets a Redis that knows.
void SharedLimiter::join() {
  if (!generation_.empty() && shadow_.has_unknown()) replay(ScriptArgs::Replay::afterwards);
  state_ = State::connected;
  look_again_.stop();
  const Time now = shared_.loop().now();
  shadow_.come_back(now);
  semaphores_.redis_back();
  std::exchange(untold_, {}).each(now, [&](const std::string& group, Time until) { send_pause(now, group, until); });
  owner_.standing_changed();
  wake_lanes();
}

/// What lanes were told to wait for no longer counts.
void SharedLimiter::wake_lanes() {
  const auto groups = wait_list_.forget();
  events_.retry(Scope::upstream, {});
  for (const auto& group : groups) events_.retry(Scope::group, group);
}

/// Redis has lost its memory, as reply_ says.
void SharedLimiter::generation_lost() {
  shared_.agree_on_labels();
  if (booked_in_.empty()) booked_in_ = generation_;  // else it is an earlier one: nothing was handed in since
  generation_ = reply_.generation;
  shadow_.all_is_unknown();
  const Time now = shared_.loop().now();  // pauses first: the last hand-in may open the generation
  learned_.each(now, [&](const std::string& group, Time until) { send_pause(now, group, until); });
  replay(ScriptArgs::Replay::last);
  shared_.redis().publish_to_all(name_ + " " + std::string(kLost));
  go_alone(State::recovering);
  look_again_.start(shared_.loop().now() + kBetweenLooks);
}

/// Another process says so. A limiter that is not in use can take its time: processes in use do not wait for it.
void SharedLimiter::memory_lost() {
  const Time now = shared_.loop().now();
  if (generation_.empty()) return;
  if (in_use(now)) return look(now);
  if (!forgettable(now) || semaphores_.any()) look_again_.start(shared_.soon());
}

void SharedLimiter::wait_until_open() {
  generation_ = reply_.generation;
  go_alone(State::recovering);
  look_again_.start(shared_.loop().now() + kBetweenLooks);
}

/// One telling in several calls, each of which may fail by itself.
struct SharedLimiter::Telling {
  std::uint64_t number;
  bool is_all;
  std::size_t unanswered = 0;
  bool heard = true, stale = false, open = false;
  std::int64_t latest = 0;  // the script time at which Redis heard the last part
};

/// The generation's name tells the latest script time that an old head knows. What Redis granted at a later one is not
/// in that head, and nothing of what is being told is.
std::string SharedLimiter::lately() {
  told_units_ += std::exchange(alone_units_, 0);
  const auto mark = generation_.rfind('~');
  std::int64_t found = 0;
  if (mark != generation_.npos) std::from_chars(&generation_[mark] + 1, &generation_.back() + 1, found);
  return found == 0 ? std::string() : std::to_string(recent_.since(found) + told_units_);
}

void SharedLimiter::replay(ScriptArgs::Replay what) {
  struct Held {
    flow::LimitIndex limit;
    std::string group, text, untold;
  };
  const bool is_all = shadow_.is_all_unknown();
  std::vector<Held> states;
  const auto number =
      shadow_.replay([&](flow::LimitIndex limit, std::string_view group, const auto& text, const auto& untold) {
        const bool told = script_args_.shares(limit) && !quarantine_.contains(limit, group);
        if (told && states.size() < kMostStates) states.push_back({limit, std::string(group), text, untold});
      });
  const std::string lately = this->lately();
  const auto telling = std::make_shared<Telling>(Telling{.number = number, .is_all = is_all});
  std::size_t at = 0;
  do {
    const std::size_t end = std::min(at + kStatesACall, states.size());
    const bool last = end == states.size();
    const auto part = last                               ? what
                      : what == ScriptArgs::Replay::last ? ScriptArgs::Replay::more_follows
                                                         : ScriptArgs::Replay::more_follows_afterwards;
    call_.clear();
    script_args_.begin_replay(
        call_, generation_, part,
        {.booked_in = is_all ? std::string_view(booked_in_) : std::string_view(), .lately = lately});
    for (; at < end; ++at) {
      const auto& [limit, group, text, untold] = states[at];
      script_args_.add_state(call_, limit, key_of(group), text, untold);
    }
    ++telling->unanswered;
    const bool called = call(Script::replay, [self = self_.ref(), telling](const Outcome& outcome, Time) {
      if (self) self->part_replayed(*telling, outcome);
    });
    if (!called) {
      telling->heard = false;
      return replayed(*telling);
    }
  } while (at < states.size());
}

/// The telling is heard if each part is. Otherwise all is told once more; parts that were heard count twice then, which
/// grants nothing twice.
void SharedLimiter::part_replayed(Telling& telling, const Outcome& outcome) {
  std::string_view status;
  if (worked(outcome)) {
    auto elements = outcome->elements();
    status = elements.next().text();
    telling.latest = std::max(telling.latest, elements.next().integer());
  }
  telling.stale |= status == "stale";
  telling.open = status == "open";
  telling.heard &= telling.open || status == "closed";
  if (--telling.unanswered == 0) replayed(telling);
}

/// If there is another generation by now, everything is handed in to it at once, before a process that remembers
/// nothing takes what is not left.
void SharedLimiter::replayed(const Telling& telling) {
  if (!shadow_.replayed(telling.number, telling.heard)) return;
  if (telling.heard) recent_.add(telling.latest, std::exchange(told_units_, 0));
  if (telling.stale && state_ == State::connected) look(shared_.loop().now());
  if (!telling.is_all || !telling.heard) return;
  booked_in_.clear();
  if (state_ == State::recovering && telling.open) join();
}

void SharedLimiter::look_again() {
  if (!may_ask_redis()) return redis_down();
  state_ == State::down ? redis_up() : look(shared_.loop().now());
}

/// An ask for no departures: tells that this process is alive, and learns how things stand.
void SharedLimiter::look(Time now) {
  permits_.clear();
  semaphores_.tell(permits_);
  const std::size_t semaphores = permits_.size();
  send_ask(now, {.count = 0, .without = quarantine_.of({})}, true, permits_,
           [self = self_.ref(), semaphores, changes = changes_](const Outcome& outcome, Time sent) {
             if (!self || !self->hears_looks()) return;
             const bool of_these_limits = self->changes_ == changes;
             of_these_limits ? self->look_answered(outcome, semaphores, sent) : self->look(self->shared_.loop().now());
           });
}

void SharedLimiter::look_answered(const Outcome& outcome, std::size_t semaphores, Time sent) {
  if (!outcome && outcome.error().kind == FailureKind::corrupt) return look_failed(outcome.error());
  const bool understood = read(outcome, 0, semaphores, sent);
  if (!understood && state_ == State::down) return;
  if (std::exchange(refused_, false)) {
    state_ = State::recovering;
    if (std::exchange(has_complained_, false))
      shared_.notice(LogLevel::info, "the limits of " + name_ + " are shared again");
  }
  const bool recovering = state_ == State::recovering;
  if (!understood || (recovering && reply_.status == Status::closed)) {
    if (recovering) look_again_.start(shared_.loop().now() + kBetweenLooks);
  } else if (reply_.status == Status::closed) {
    wait_until_open();
  } else if (reply_.status == Status::stale) {
    if (reply_.generation != generation_) generation_lost();
  } else {
    generation_ = reply_.generation;
    semaphores_.heard(reply_.permits, sent);
    note_left({});
    if (recovering) join();
  }
}

/// A limit with a foreign value is left out of the next look; asks find any other foreign value.
void SharedLimiter::look_failed(const Failure& why) {
  const bool found = quarantine({.without = quarantine_.of({})}, why);
  if (state_ != State::recovering) return;
  if (!found) return join();
  look_again_.start(shared_.loop().now() + kBetweenLooks);
}

}  // namespace penstock::redis
