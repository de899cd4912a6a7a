// SPDX-License-Identifier: Apache-2.0
// Looks, an ask for no departures each, tell when this process may go on.
#include "redis/limits/recovery.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace penstock::redis {

using flow::Time;
using Standing = UpstreamCalls::Standing;
using Status = BookReply::Status;

namespace {
constexpr Time kOthersComeWithin = 1'000'000;  // as kClosedFor in head.lua
constexpr Time kBirthKnownWithin = 500'000;
constexpr Time kSlotMovesWithin = 1'000'000, kBetweenLooksAtSlot = 30'000;
constexpr Time kBetweenLooksInVain = 100'000;
constexpr std::size_t kMostFormer = 8;
constexpr std::string_view kOfNoServer = "1-elsewhere";  // a generation before all others, so that all is new

bool hangs_on_messages(const LimitConfig& limit) {
  const bool waits_for_others =
      std::holds_alternative<SemaphoreConfig>(limit.kind) || std::holds_alternative<CounterConfig>(limit.kind);
  return limit.shared && waits_for_others;
}
}  // namespace

Recovery::Recovery(UpstreamCalls& calls, Shadow& shadow, Semaphores& semaphores, Fleet& fleet, Quarantine& quarantine,
                   Fallback& fallback, const WaitList& wait_list, SharingNotices& notices, RecoveryEvents& events)
    : calls_(calls),
      replay_(calls, shadow, quarantine, [this](const MemoryReplay::Outcome& outcome) { replayed(outcome); }),
      semaphores_(semaphores),
      shadow_(shadow),
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

// ---- in place of another limiter ------------------------------------------------------------------------------------

void Recovery::take_over(FormerRedis former) {
  takes_over_ = true;
  if (former.processes > 0) fleet_.expect(former.processes, calls_.now());
  fallback_.count_sharers();
  fallback_.hold_until_told(true);
  former_ = std::move(former);
}

FormerRedis Recovery::known_to() const {
  if (former_) return *former_;
  const int users = fleet_.alive_lately(calls_.now());
  return {.memory = {.config = calls_.shared().config(), .server = std::string(calls_.memory().server())},
          .before = left_,
          .generation = replay_.booked_in(),
          .latest = calls_.memory().latest(),
          .processes = users > 0 ? users : calls_.shared().processes()};
}

/// A Redis that was left earlier has an old memory: a younger generation than its own, and the latest time that was
/// told, say so, and it takes only what it lacks. Any other knows nothing of what is remembered here. Where other
/// processes may come, too, they are waited for as after a loss of memory, since each knows only what it has used
/// itself. A process that was alone hands in all, and that is all there is.
void Recovery::compare_with_former() {
  if (!former_) return;
  FormerRedis former = *std::exchange(former_, std::nullopt);
  left_ = std::move(former.before);
  if (former.generation.empty()) return;
  const auto is_this = [this](const Memory& memory) {
    return same_memory(memory, calls_.shared().config(), calls_.memory().server());
  };
  if (is_this(former.memory)) return calls_.memory().resume(former.generation, former.latest);
  if (std::ranges::any_of(left_, is_this)) {
    calls_.memory().resume(former.generation, former.latest);
  } else if (former.processes > 1) {
    calls_.memory().enter(kOfNoServer);
    others_until_ = calls_.now() + kOthersComeWithin;
  } else {
    shadow_.all_is_unknown();
  }
  std::erase_if(left_, is_this);
  left_.push_back(std::move(former.memory));
  if (left_.size() > kMostFormer) left_.erase(left_.begin());
}

// ---- Redis' connection ----------------------------------------------------------------------------------------------

bool Recovery::may_ask_redis() const {
  const Redis* const redis = calls_.redis();
  if (!redis || !redis->up()) return false;
  return !needs_messages_ || (redis->messages_come() && calls_.shared().servers().messages_come());
}

bool Recovery::has_to_tell(Time now) const {
  return takes_over_ || wait_list_.in_use(now) ||
         (!calls_.memory().generation().empty() && (semaphores_.any() || replay_.has_unknown()));
}

void Recovery::redis_up() {
  if (!may_ask_redis()) return;
  compare_with_former();
  calls_.memory().meet_anew();
  const Time now = calls_.now();
  if (refused_) return look(now);
  if (!takes_over_ && (calls_.memory().generation().empty() || !has_to_tell(now))) return join();
  calls_.set_standing(Standing::recovering);
  look(now);
}

void Recovery::redis_down() {
  if (calls_.standing() != Standing::down) leave(Standing::down);
}

void Recovery::redis_changed() {
  if (!may_ask_redis()) redis_down();
}

void Recovery::redis_moved() {
  redis_changed();
  if (calls_.standing() == Standing::down || !calls_.memory().is_elsewhere()) return;
  if (!wait_for_slot()) leave_for_new_server();
}

/// A slot that moves is soon at its new node, with all that is known. Until then each process would go by its part, and
/// has not heard what the others took last: lanes wait instead, at most for a second. By other rules than `share`
/// nothing is taken twice.
bool Recovery::wait_for_slot() {
  const Time now = calls_.now();
  if (calls_.when_down() != WhenDown::share || calls_.standing() == Standing::down) return false;
  if (now - slot_moves_since_.value_or(now) >= kSlotMovesWithin) return false;
  if (!slot_moves_since_) slot_moves_since_ = now;
  calls_.memory().meet_anew();
  if (!recovering(calls_)) leave(Standing::recovering);
  look_soon();
  return true;
}

/// The keys may have come along, or the server knows less: this process tells it first what it was told.
void Recovery::leave_for_new_server() {
  refused();
  look_soon();
}

/// One that Redis has just refused keeps to its pace, however often it is asked.
void Recovery::asked(Time now) {
  if (calls_.standing() == Standing::down && !refused_ && look_again_.running()) look_again_.start(now);
}

/// If the head expired, the next would begin a young generation, whose semaphores grant nothing for half a lease.
void Recovery::tick(Time now) {
  const bool may_change = may_return() || (calls_.connected() && !may_ask_redis());
  if (may_change && !look_again_.running()) look_again_.start(now);
  if (may_change || !calls_.connected()) return;
  const Time touched = calls_.touched();
  const bool wanted = wait_list_.in_use(now) || !quarantine_.empty() ||
                      (semaphores_.any() && touched > 0 && now - touched >= kHeadKept);
  if (wanted && touch_due(calls_, now)) look(now);
  quarantine_.tick();
}

// ---- calls and replies ----------------------------------------------------------------------------------------------

void Recovery::call_failed(const Failure& why) {
  if (is_outage(why.kind)) return;  // an outage concerns all upstreams
  const bool is_on_its_way = why.kind == FailureKind::moved || why.kind == FailureKind::tryagain;
  if (is_on_its_way && wait_for_slot()) return;
  if (why.kind == FailureKind::moved) return leave_for_new_server();
  if (quarantine_.concerns(why)) return;  // the next ask quarantines it, and reports that
  notices_.complain(why.text);
  if (why.kind != FailureKind::corrupt) refused();
  if (is_of_one_slot(why.kind)) look_again_.start(calls_.now() + kBetweenLooksInVain);  // that may last an instant
}

void Recovery::refused() {
  refused_ = true;
  redis_down();
}

bool Recovery::heard_otherwise(const BookReply& reply) {
  if (reply.status == Status::closed) {
    wait_until_open(reply);
  } else if (reply.generation != calls_.memory().generation()) {
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
  if (calls_.memory().generation().empty()) return;
  if (wait_list_.in_use(now)) return look(now);
  if (!forgettable || semaphores_.any()) look_again_.start(calls_.shared().soon());
}

// ---- looks ----------------------------------------------------------------------------------------------------------

void Recovery::look_again() {
  if (!may_ask_redis()) return redis_down();
  calls_.standing() == Standing::down ? redis_up() : look(calls_.now());
}

/// Where other processes are waited for, the next look comes after as long as they have been waited for already, 80 ms
/// at most. So many processes do not hold up Redis by looks just when it is back.
void Recovery::look_soon() {
  if (slot_moves_since_) return look_again_.start(calls_.now() + kBetweenLooksAtSlot);
  look_again_.start(calls_.now() + until_next_look_);
  until_next_look_ = std::min(2 * until_next_look_, kMostBetweenLooks);
}

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
  if (!reply || (recovering(calls_) && reply->status == Status::closed)) {
    if (recovering(calls_)) look_soon();
  } else if (reply->status == Status::closed) {
    wait_until_open(*reply);
  } else if (reply->status == Status::stale) {
    if (reply->generation != calls_.memory().generation()) generation_lost(*reply);
  } else {
    calls_.memory().enter(reply->generation);
    semaphores_.heard(reply->permits, told);
    fallback_.note_left(*reply, {}, {});
    if (recovering(calls_)) join();
  }
}

/// A limit with a foreign value is left out of the next look; asks find any other foreign value.
void Recovery::look_failed(const Failure& why) {
  const bool found = quarantine_.met({}, quarantine_.of({}), why);
  if (!recovering(calls_)) return;
  found ? look_soon() : join();
}

// ---- standing -------------------------------------------------------------------------------------------------------

void Recovery::generation_lost(const BookReply& reply) {
  calls_.shared().agree_on_labels();
  replay_.all_is_lost(calls_.memory().generation());
  calls_.memory().enter(reply.generation);
  events_.memory_lost();  // before the last hand-in, which may open the generation
  replay_.start(ScriptArgs::Replay::last);
  calls_.publish(kLost);
  leave(Standing::recovering);
  look_soon();
}

void Recovery::wait_until_open(const BookReply& reply) {
  calls_.memory().enter(reply.generation);
  leave(Standing::recovering);
  look_soon();
}

void Recovery::leave(Standing standing) {
  if (calls_.connected()) fallback_.count_sharers();
  calls_.set_standing(standing);
  look_again_.stop();
  until_next_look_ = kBetweenLooks;
  fallback_.divide();
  events_.left_redis();
}

/// Redis executes calls in the order in which they are sent: an ask sent from now on meets a Redis that knows.
/// A generation that has just begun has been closed until others came that take over, too.
void Recovery::join() {
  const auto& clock = calls_.clock();
  const std::string& generation = calls_.memory().generation();
  std::int64_t born = 0;
  std::from_chars(generation.data(), generation.data() + generation.size(), born);
  const Time now = calls_.now();
  const bool is_young = clock.known() && clock.to_script(now) - born * 1000 < kOthersComeWithin + kBirthKnownWithin;
  if (now < others_until_ && !is_young) return look_again_.start(others_until_);
  takes_over_ = false;
  slot_moves_since_.reset();
  fallback_.hold_until_told(false);
  if (!calls_.memory().generation().empty()) tell_unknown();
  calls_.set_standing(Standing::connected);
  look_again_.stop();
  events_.joined_redis();
}

/// If there is another generation by now, everything is handed in to it at once, before a process that remembers
/// nothing takes what is not left.
void Recovery::replayed(const MemoryReplay::Outcome& outcome) {
  if (outcome.stale && calls_.connected()) look(calls_.now());
  if (outcome.all && recovering(calls_) && outcome.open) join();
}

}  // namespace penstock::redis
