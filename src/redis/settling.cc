// SPDX-License-Identifier: Apache-2.0
// How a booker comes to agree with Redis: after an outage it hands in what it granted alone; after lost keys all that
// it remembers, and then it waits until the other processes have done so too.
#include <charconv>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "redis/redis_booker.h"

namespace penstock::redis {

using flow::Time;
using Scope = flow::Booking::Scope;
using Status = BookReply::Status;

namespace {
constexpr std::size_t kStatesACall = 50;
constexpr std::size_t kMostStates = 20'000;  // of groups beyond this, what was forgotten is forgotten
constexpr Time kBetweenLooks = 10'000;
constexpr Time kBeside = 1'000'000;
}  // namespace

void RedisBooker::redis_down() {
  if (standing_ == Standing::down) return;
  go_alone(Standing::down);
}

/// Redis answers, and so do messages come, if what this upstream has hangs on them.
bool RedisBooker::may_ask_redis() const {
  return office_.up() && (!needs_messages_ || office_.redis().messages_come());
}

void RedisBooker::messages_gone() {
  if (needs_messages_) redis_down();
}

/// Redis answers, but not as it should to what this upstream asks.
void RedisBooker::refused() {
  refused_ = true;
  redis_down();
}

/// Or to ask, where lanes wait.
bool RedisBooker::has_to_tell(Time now) const {
  return in_use(now) || (!generation_.empty() && (semaphores_.any() || shadow_.has_unknown()));
}

/// It may be another Redis, or know less than it did: nothing else is said before it was heard of what it told last.
void RedisBooker::redis_up() {
  if (!may_ask_redis()) return;
  has_met_ = has_said_since_ = false;
  const Time now = office_.loop().now();
  if (refused_) return look(now);
  if (generation_.empty() || !has_to_tell(now)) return join();
  standing_ = Standing::settling;
  look(now);
}

void RedisBooker::go_alone(Standing standing) {
  if (standing_ == Standing::together) parts_ = sharers();
  standing_ = standing;
  look_again_.stop();
  resets_.clear();
  divide_limits();
  semaphores_.redis_gone();
  office_.standing_changed();
  wake_lanes();
}

/// What it would go on by without Redis. What it lets go so is told to Redis first.
void RedisBooker::note_left(const Asking& asking) {
  if (office_.config().when_down != WhenDown::share || asking.former || shadow_.has_untold()) return;
  const auto taken = static_cast<std::int64_t>(reply_.departures.size()) * asking.weight;
  std::size_t next = 0;
  for (const flow::LimitIndex limit : spelling_.places()) {
    const bool of_group = limits_[static_cast<std::size_t>(limit)].per == LimitConfig::Per::group;
    if (of_group && asking.group.empty()) continue;  // it is not asked for
    if (next == reply_.left.size()) return;
    const auto& [until, units] = reply_.left[next++];
    if (until == 0) {
      if (taken > 0) shadow_.note_taken(asking.group, limit, taken);
    } else {
      shadow_.note_left(asking.group, limit, {.until = static_cast<flow::Instant>(until), .units = units});
    }
  }
}

/// How many used the upstream is true for a while after it was told. Of one that was left alone since, others may have
/// come to it meanwhile: any process may.
int RedisBooker::sharers() const {
  const bool is_true = office_.loop().now() - counted_at_ < kInUse;
  return office_.sharers(is_true ? alive_ : 0);
}

/// By `share` alone: otherwise nothing leaves without Redis, or everything.
void RedisBooker::divide_limits() {
  if (office_.config().when_down == WhenDown::share) shadow_.go_alone(office_.loop().now(), parts_);
}

/// Calls are executed in the order in which they are sent: whoever asks from now on asks a Redis that knows.
void RedisBooker::join() {
  if (!generation_.empty() && shadow_.has_unknown()) hand_in(Spelling::HandIn::afterwards);
  standing_ = Standing::together;
  look_again_.stop();
  const Time now = office_.loop().now();
  shadow_.come_back(now);
  semaphores_.redis_back();
  std::exchange(untold_, {}).each(now, [&](const std::string& group, Time until) { send_pause(now, group, until); });
  office_.standing_changed();
  wake_lanes();
}

/// What they were told to wait for does not count any more.
void RedisBooker::wake_lanes() {
  const auto groups = told_.forget();
  events_.may_ask(Scope::upstream, {});
  for (const auto& group : groups) events_.may_ask(Scope::group, group);
}

/// Redis has lost its memory, as reply_ says.
void RedisBooker::generation_lost() {
  office_.agree_on_labels();
  if (booked_in_.empty()) booked_in_ = generation_;  // or even earlier: it was handed in to none since
  generation_ = reply_.generation;
  shadow_.all_is_unknown();
  const Time now = office_.loop().now();  // pauses first: with the last that is handed in the generation may open
  learned_.each(now, [&](const std::string& group, Time until) { send_pause(now, group, until); });
  hand_in(Spelling::HandIn::last);
  office_.redis().publish_to_all(name_ + " " + std::string(kLost));
  go_alone(Standing::settling);
  look_again_.start(office_.loop().now() + kBetweenLooks);
}

/// Another process says so. Who does not use the upstream has time: those that do wait for nobody else.
void RedisBooker::memory_lost() {
  const Time now = office_.loop().now();
  if (generation_.empty()) return;
  if (in_use(now)) return look(now);
  if (!forgettable(now) || semaphores_.any()) look_again_.start(office_.soon());
}

void RedisBooker::wait_until_open() {
  generation_ = reply_.generation;
  go_alone(Standing::settling);
  look_again_.start(office_.loop().now() + kBetweenLooks);
}

/// One telling in several calls, each of which may fail by itself.
struct RedisBooker::Telling {
  std::uint64_t number;
  bool is_all;
  std::size_t unanswered = 0;
  bool heard = true, stale = false, open = false;
};

/// An old head says in its generation's name until when it knows what has left. Clocks are mapped, and departures
/// booked, less than a second beside the truth. What was granted alone Redis knows since it was told.
std::string RedisBooker::lately() {
  recent_.add(office_.loop().now(), alone_units_);
  told_units_ = std::exchange(alone_units_, 0);
  const auto mark = generation_.rfind('~');
  std::int64_t found = 0;
  if (mark != generation_.npos) std::from_chars(&generation_[mark] + 1, &generation_.back() + 1, found);
  return found == 0 ? std::string() : std::to_string(recent_.since(clock_.to_loop(found) - kBeside));
}

void RedisBooker::hand_in(Spelling::HandIn what) {
  struct State {
    flow::LimitIndex limit;
    std::string group, text, untold;
  };
  const bool is_all = shadow_.is_all_unknown();
  std::vector<State> states;
  const auto number =
      shadow_.hand_in([&](flow::LimitIndex limit, std::string_view group, const auto& text, const auto& untold) {
        const bool told = spelling_.shares(limit) && !apart_.contains(limit, group);
        if (told && states.size() < kMostStates) states.push_back({limit, std::string(group), text, untold});
      });
  const std::string lately = this->lately();
  const auto telling = std::make_shared<Telling>(Telling{.number = number, .is_all = is_all});
  std::size_t at = 0;
  do {
    const std::size_t end = std::min(at + kStatesACall, states.size());
    const bool last = end == states.size();
    const auto part = last                             ? what
                      : what == Spelling::HandIn::last ? Spelling::HandIn::more_follows
                                                       : Spelling::HandIn::more_follows_afterwards;
    call_.clear();
    spelling_.begin_hand_in(
        call_, generation_, part,
        {.booked_in = is_all ? std::string_view(booked_in_) : std::string_view(), .lately = lately});
    for (; at < end; ++at) {
      const auto& [limit, group, text, untold] = states[at];
      spelling_.add_state(call_, limit, key_of(group), text, untold);
    }
    ++telling->unanswered;
    const bool called = call(Script::hand_in, [self = self_.ref(), telling](const Outcome& outcome, Time) {
      if (self) self->part_handed_in(*telling, outcome);
    });
    if (!called) {
      telling->heard = false;
      return handed_in(*telling);
    }
  } while (at < states.size());
}

/// It is heard if each part of it is. Otherwise all is told once more: what was heard of it counts twice then, and
/// nothing is granted twice.
void RedisBooker::part_handed_in(Telling& telling, const Outcome& outcome) {
  const auto status = worked(outcome) ? outcome->elements().next().text() : std::string_view();
  telling.stale |= status == "stale";
  telling.open = status == "open";
  telling.heard &= telling.open || status == "closed";
  if (--telling.unanswered == 0) handed_in(telling);
}

/// To another generation it is handed in once that is known: at once, before somebody who remembers nothing takes what
/// is not left.
void RedisBooker::handed_in(const Telling& telling) {
  if (!shadow_.handed_in(telling.number, telling.heard)) return;
  if (!telling.heard) alone_units_ += told_units_;
  if (telling.stale && standing_ == Standing::together) look(office_.loop().now());
  if (!telling.is_all || !telling.heard) return;
  booked_in_.clear();
  if (standing_ == Standing::settling && telling.open) join();
}

void RedisBooker::look_again() {
  if (!may_ask_redis()) return redis_down();
  standing_ == Standing::down ? redis_up() : look(office_.loop().now());
}

/// Asks for nothing: says that this process is alive, and learns how things stand.
void RedisBooker::look(Time now) {
  permits_.clear();
  semaphores_.tell(permits_);
  const std::size_t semaphores = permits_.size();
  send_ask(now, {.count = 0, .without = apart_.of({})}, true, permits_,
           [self = self_.ref(), semaphores, changes = changes_](const Outcome& outcome, Time sent) {
             if (!self || !self->hears_looks()) return;
             const bool of_these_limits = self->changes_ == changes;
             of_these_limits ? self->looked(outcome, semaphores, sent) : self->look(self->office_.loop().now());
           });
}

void RedisBooker::looked(const Outcome& outcome, std::size_t semaphores, Time sent) {
  if (!outcome && outcome.error().kind == FailureKind::corrupt) return looked_in_vain(outcome.error());
  const bool understood = read(outcome, 0, semaphores, sent);
  if (!understood && standing_ == Standing::down) return;
  if (std::exchange(refused_, false)) {
    standing_ = Standing::settling;
    if (std::exchange(has_complained_, false))
      office_.notice(LogLevel::info, "the limits of " + name_ + " are shared again");
  }
  const bool settling = standing_ == Standing::settling;
  if (!understood || (settling && reply_.status == Status::closed)) {
    if (settling) look_again_.start(office_.loop().now() + kBetweenLooks);
  } else if (reply_.status == Status::closed) {
    wait_until_open();
  } else if (reply_.status == Status::stale) {
    if (reply_.generation != generation_) generation_lost();
  } else {
    generation_ = reply_.generation;
    semaphores_.heard(reply_.permits, sent);
    note_left({});
    if (settling) join();
  }
}

/// A limit whose value is not ours is left out of the next look; any other such value is met by those who ask.
void RedisBooker::looked_in_vain(const Failure& why) {
  const bool found = set_apart({.without = apart_.of({})}, why);
  if (standing_ != Standing::settling) return;
  if (!found) return join();
  look_again_.start(office_.loop().now() + kBetweenLooks);
}

}  // namespace penstock::redis
