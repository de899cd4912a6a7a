// SPDX-License-Identifier: Apache-2.0
// Looks, an ask for no departures each, tell when this process may go on.
#include "redis/limits/recovery.h"

#include <algorithm>
#include <utility>

namespace penstock::redis {

using flow::Time;
using Standing = UpstreamCalls::Standing;
using Status = BookReply::Status;

namespace {
bool hangs_on_messages(const LimitConfig& limit) {
  const bool waits_for_others =
      std::holds_alternative<SemaphoreConfig>(limit.kind) || std::holds_alternative<CounterConfig>(limit.kind);
  return limit.shared && waits_for_others;
}
}  // namespace

Recovery::Recovery(UpstreamCalls& calls, Shadow& shadow, Semaphores& semaphores, const Fleet& fleet,
                   Quarantine& quarantine, Fallback& fallback, const WaitList& wait_list, SharingNotices& notices,
                   RecoveryEvents& events)
    : calls_(calls),
      replay_(calls, shadow, quarantine, [this](const MemoryReplay::Outcome& outcome) { replayed(outcome); }),
      semaphores_(semaphores),
      fleet_(fleet),
      quarantine_(quarantine),
      fallback_(fallback),
      wait_list_(wait_list),
      notices_(notices),
      events_(events),
      look_again_(calls.shared().loop(), [this] { look_again(); }) {}

void Recovery::change(const std::vector<LimitConfig>& limits) {
  needs_messages_ = std::ranges::any_of(limits, hangs_on_messages);
}

// ---- Redis' connection ----------------------------------------------------------------------------------------------

bool Recovery::may_ask_redis() const {
  const Redis& redis = calls_.shared().redis();
  return redis.up() && (!needs_messages_ || redis.messages_come());
}

bool Recovery::has_to_tell(Time now) const {
  return wait_list_.in_use(now) || (!calls_.generation().empty() && (semaphores_.any() || replay_.has_unknown()));
}

void Recovery::redis_up() {
  if (!may_ask_redis()) return;
  calls_.meet_anew();
  const Time now = calls_.now();
  if (refused_) return look(now);
  if (calls_.generation().empty() || !has_to_tell(now)) return join();
  calls_.set_standing(Standing::recovering);
  look(now);
}

void Recovery::redis_down() {
  if (calls_.standing() != Standing::down) leave(Standing::down);
}

void Recovery::messages_gone() {
  if (needs_messages_) redis_down();
}

void Recovery::asked(Time now) {
  if (calls_.standing() == Standing::down && look_again_.running()) look_again_.start(now);
}

/// If the head expired, the next would begin a young generation, whose semaphores grant nothing for half a lease.
void Recovery::tick(Time now) {
  const bool may_change = may_return() || (calls_.connected() && !may_ask_redis());
  if (may_change && !look_again_.running()) look_again_.start(now);
  if (may_change || !calls_.connected()) return;
  const Time touched = calls_.touched();
  const bool wanted = wait_list_.in_use(now) || !quarantine_.empty() ||
                      (semaphores_.any() && touched > 0 && now - touched >= kHeadKept);
  if (wanted && calls_.touch_due(now)) look(now);
  quarantine_.tick();
}

// ---- calls and replies ----------------------------------------------------------------------------------------------

void Recovery::call_failed(const Failure& why) {
  if (is_outage(why.kind)) return;        // an outage concerns all upstreams
  if (quarantine_.concerns(why)) return;  // the next ask quarantines it, and reports that
  notices_.complain(why.text);
  if (why.kind != FailureKind::corrupt) refused();
}

void Recovery::refused() {
  refused_ = true;
  redis_down();
}

bool Recovery::heard_otherwise(const BookReply& reply) {
  if (reply.status == Status::closed) {
    wait_until_open(reply);
  } else if (reply.generation != calls_.generation()) {
    generation_lost(reply);
  } else {
    return false;
  }
  return true;
}

void Recovery::tell_unknown() {
  if (replay_.has_unknown()) replay_.start(ScriptArgs::Replay::afterwards);
}

/// A limiter that is not in use can take its time: processes in use do not wait for it.
void Recovery::hear_memory_lost(Time now, bool forgettable) {
  if (calls_.generation().empty()) return;
  if (wait_list_.in_use(now)) return look(now);
  if (!forgettable || semaphores_.any()) look_again_.start(calls_.shared().soon());
}

// ---- looks ----------------------------------------------------------------------------------------------------------

void Recovery::look_again() {
  if (!may_ask_redis()) return redis_down();
  calls_.standing() == Standing::down ? redis_up() : look(calls_.now());
}

void Recovery::look_soon() { look_again_.start(calls_.now() + kBetweenLooks); }

void Recovery::look(Time now) {
  permits_.clear();
  semaphores_.tell(permits_);
  const auto without = quarantine_.of({});
  calls_.book(now,
              {.alive = fleet_.alive(),
               .touch = true,
               .has_unknown = replay_.has_unknown(),
               .permits = permits_,
               .without = without},
              [alive = calls_.ref(), this, semaphores = permits_.size(), changes = calls_.changes(),
               told = calls_.now()](const Outcome& outcome, Time sent) {
                if (!alive) return;
                const bool heard = calls_.standing() != Standing::down || (refused_ && may_ask_redis());
                if (!heard) return;
                const bool of_these_limits = calls_.changes() == changes;
                of_these_limits ? look_answered(outcome, semaphores, sent, told) : look(calls_.now());
              });
}

void Recovery::look_answered(const Outcome& outcome, std::size_t semaphores, Time sent, Time told) {
  if (!outcome && outcome.error().kind == FailureKind::corrupt) return look_failed(outcome.error());
  const BookReply* const reply = events_.read(outcome, 0, semaphores, sent);
  if (!reply && calls_.standing() == Standing::down) return;
  if (std::exchange(refused_, false)) {
    calls_.set_standing(Standing::recovering);
    notices_.all_is_well();
  }
  if (!reply || (recovering() && reply->status == Status::closed)) {
    if (recovering()) look_soon();
  } else if (reply->status == Status::closed) {
    wait_until_open(*reply);
  } else if (reply->status == Status::stale) {
    if (reply->generation != calls_.generation()) generation_lost(*reply);
  } else {
    calls_.enter(reply->generation);
    semaphores_.heard(reply->permits, told);
    fallback_.note_left(*reply, {}, 0);
    if (recovering()) join();
  }
}

/// A limit with a foreign value is left out of the next look; asks find any other foreign value.
void Recovery::look_failed(const Failure& why) {
  const bool found = quarantine_.met({}, quarantine_.of({}), why);
  if (!recovering()) return;
  found ? look_soon() : join();
}

// ---- standing -------------------------------------------------------------------------------------------------------

void Recovery::generation_lost(const BookReply& reply) {
  calls_.shared().agree_on_labels();
  replay_.all_is_lost(calls_.generation());
  calls_.enter(reply.generation);
  events_.memory_lost();  // before the last hand-in, which may open the generation
  replay_.start(ScriptArgs::Replay::last);
  calls_.publish(kLost);
  leave(Standing::recovering);
  look_soon();
}

void Recovery::wait_until_open(const BookReply& reply) {
  calls_.enter(reply.generation);
  leave(Standing::recovering);
  look_soon();
}

void Recovery::leave(Standing standing) {
  if (calls_.connected()) fallback_.count_sharers();
  calls_.set_standing(standing);
  look_again_.stop();
  fallback_.divide();
  events_.left_redis();
}

/// Redis executes calls in the order in which they are sent: an ask sent from now on meets a Redis that knows.
void Recovery::join() {
  if (!calls_.generation().empty()) tell_unknown();
  calls_.set_standing(Standing::connected);
  look_again_.stop();
  events_.joined_redis();
}

/// If there is another generation by now, everything is handed in to it at once, before a process that remembers
/// nothing takes what is not left.
void Recovery::replayed(const MemoryReplay::Outcome& outcome) {
  if (outcome.stale && calls_.connected()) look(calls_.now());
  if (outcome.all && recovering() && outcome.open) join();
}

}  // namespace penstock::redis
