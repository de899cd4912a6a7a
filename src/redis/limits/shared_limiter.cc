// SPDX-License-Identifier: Apache-2.0
// Asks and their answers.
#include "redis/limits/shared_limiter.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "redis/limits/divide_limits.h"
#include "redis/limits/limits_text.h"

namespace penstock::redis {

using flow::Booking;
using flow::Time;
using Scope = Booking::Scope;
using Stop = Booking::Stop;
using Status = BookReply::Status;

namespace {
constexpr Time kSecond = 1'000'000, kHeadKept = 3600 * kSecond;
constexpr Time kTouchAfter = kSecond / 2;  // for asks and the tick alike: a process that asks needs no extra call
constexpr Time kGrace = 1'000;             // so that the connection itself finds first that Redis is late
constexpr Time kLongAgo = std::numeric_limits<Time>::min() / 2;
}  // namespace

SharedLimiter::SharedLimiter(SharedRedis& shared, LimiterOwner& owner, std::string name,
                             const std::vector<LimitConfig>& limits, flow::LimiterEvents& events)
    : shared_(shared),
      owner_(owner),
      name_(std::move(name)),
      limits_(limits),
      events_(events),
      hash_(shared.config().prefix, name_, shared.config().secret),
      script_args_(shared.config().prefix, name_, shared.who(), limits_),
      state_(State::down),
      counted_at_(kLongAgo),
      parts_(shared.sharers(0)),
      whole_(limits_),
      shadow_(limits_, flow::instant_at_zero(shared.loop().wall(), shared.loop().now())),
      pending_asks_(shared.loop(), shared.config().timeout.count() + kGrace,
                    [this](const Asking& late) { answer_alone(late); }),
      late_(shared.loop(), [this](std::string_view group, const auto& moves) { send_moves(group, moves); }),
      counter_resets_(shared.loop(), limits_,
                      [this](flow::LimitIndex counter, const std::string& group) { reset(counter, group); }),
      semaphores_(
          shared.loop(), limits_, events, [this](std::string_view group) { return std::string(key_of(group)); },
          [this](const Semaphores::Named& which, const std::string& told) { renew(which, told); }),
      look_again_(shared.loop(), [this] { look_again(); }),
      last_asked_(kLongAgo),
      last_touch_(kLongAgo),
      anonymous_(shared, name_, "pause-anonymous"),
      complained_(kLongAgo) {
  compare_kept_limits();
  if (may_ask_redis()) state_ = State::connected;
  if (alone()) semaphores_.redis_gone();
  if (alone()) divide_limits();
  semaphores_.set_hears(shared_.redis().hears());
  semaphores_.set_allowance([this](flow::LimitIndex semaphore) {
    const auto& config = std::get<SemaphoreConfig>(semaphores_.config(semaphore).kind);
    return permits_alone(config, shared_.config().when_down, parts_);
  });
}

SharedLimiter::~SharedLimiter() {
  if (!alone()) semaphores_.hand_back();
  self_.expire();
  owner_.unregister(name_, *this);
}

// ---- an ask ---------------------------------------------------------------------------------------------------------

bool SharedLimiter::ask(Time now, const flow::Ask& ask, Booking& booking) {
  if (ask.weight == 0 && !semaphores_.any()) return shadow_.all().ask(now, ask, booking);
  last_asked_ = now;
  if (state_ == State::connected) {
    if (semaphores_.any() && start_at_hand(now, ask, booking)) return true;
    Asking asking{.group = std::string(ask.group), .count = ask.count, .weight = ask.weight, .more = more_than(ask)};
    if (!allowed_here(now, asking, booking)) return true;
    const auto id = pending_asks_.add(now, std::move(asking));
    if (send(now, id)) return false;
    release(pending_asks_.take(id));
  }
  if (state_ == State::down && look_again_.running()) look_again_.start(now);  // return to Redis as soon as allowed
  go_by_rule(now, ask, booking);
  if (ask.weight > 0) wait_list_.answered(ask.group, key_of(ask.group), booking);
  return true;
}

/// False: Redis is down.
bool SharedLimiter::send(Time now, PendingAsks::Id id) {
  late_.tell_overdue();
  Asking& asking = pending_asks_.find(id);
  asking.former = false;
  asking.epoch = shadow_.all().epoch();
  permits_.clear();
  asking.claims = semaphores_.claim(asking.group, permits_);
  auto done = [self = self_.ref(), id](const Outcome& outcome, Time sent) {
    if (self) self->answered(id, outcome, sent);
  };
  if (send_ask(now, asking, now - last_touch_ >= kTouchAfter, permits_, std::move(done))) return true;
  semaphores_.failed(asking.group, asking.claims);
  return false;
}

bool SharedLimiter::send_ask(Time now, const Asking& asking, bool touch, std::span<const std::string> permits,
                             Call::Done done) {
  const bool keeps_to_part = shared_.config().when_down == WhenDown::share;
  const bool says_since = keeps_to_part && !has_met_ && !std::exchange(has_said_since_, true);
  const std::string_view since = !says_since ? "" : shadow_.has_unknown() ? "+" : "s";
  const std::string_view processes = touch ? shared_.key_to_be_there(now) : std::string_view();
  if (!processes.empty()) {
    done = [&shared = shared_, done = std::move(done)](const Outcome& outcome, Time sent) mutable {
      shared.heard_there(outcome);
      done(outcome, sent);
    };
  }
  call_.clear();
  script_args_.book(call_, {.generation = generation_,
                            .fresh_generation = shared_.fresh_generation(has_met_ ? 0 : latest_, since),
                            .alive = alive_,
                            .touch = touch,
                            .processes = processes,
                            .left = keeps_to_part,
                            .group = key_of(asking.group),
                            .count = asking.count,
                            .weight = asking.weight,
                            .more = asking.more,
                            .permits = permits,
                            .without = asking.without});
  if (touch) last_touch_ = now;
  return call(Script::book, std::move(done));
}

// ---- its answer -----------------------------------------------------------------------------------------------------

void SharedLimiter::answered(PendingAsks::Id id, const Outcome& outcome, Time sent) {
  if (!outcome && quarantine(pending_asks_.find(id), outcome.error())) return ask_without(id);
  const auto asking = pending_asks_.take(id);
  const bool understood = read(outcome, asking.count, asking.claims.size(), sent);
  if (understood && reply_.status == Status::ok) {
    generation_ = reply_.generation;
    take_permits(asking, sent);
    return asking.late ? take_all_back(asking) : apply_reply(asking);
  }
  const bool foreign = !outcome && outcome.error().kind == FailureKind::corrupt;
  if (foreign) complain(outcome.error().text);
  semaphores_.failed(asking.group, asking.claims, foreign);
  const bool connected = state_ == State::connected;
  if (!understood) {
    parts_ = sharers();
    divide_limits();
  } else if (connected && reply_.status == Status::closed) {
    wait_until_open();
  } else if (connected && reply_.generation != generation_) {
    generation_lost();
  } else if (connected && !asking.late) {  // generation was lost and found meanwhile
    return answer_later(asking);
  }
  if (!asking.late) answer_alone(asking);
}

bool SharedLimiter::read(const Outcome& outcome, std::size_t count, std::size_t semaphores, Time sent) {
  if (!worked(outcome)) return false;
  if (!read_book_reply(*outcome, count, reply_) ||
      (reply_.status == Status::ok && !Semaphores::plausible(reply_.permits, semaphores))) {
    complain("Redis answers something else than was asked for");
    refused();
    return false;
  }
  const Time now = shared_.loop().now();
  has_met_ |= reply_.status != Status::closed;
  has_said_since_ &= reply_.status != Status::closed;
  if (reply_.status == Status::ok) latest_ = std::max(latest_, reply_.now);
  clock_.learn(sent, now, reply_.now);
  shadow_.set_clock(static_cast<flow::Instant>(clock_.at_zero()));
  semaphores_.set_clock(clock_.at_zero(), clock_.usual_round_trip());
  if (reply_.alive > 0) {
    counted_at_ = now;
    compare_limits(now);
  }
  alive_ = reply_.alive > 0 ? reply_.alive : std::max(alive_, -reply_.alive);
  return true;
}

/// Messages come over a connection of their own and may overtake the answer that tells to wait for them. Then the lane
/// asks again at once, since that answer may have come too late.
void SharedLimiter::apply_reply(const Asking& asking) {
  apply_grants(asking);
  hear_standing(asking);
  if (asking.called && booking_.stop == Stop::turn && (booking_.ask_again != 0 || booking_.departures.empty())) {
    booking_.ask_again = shared_.loop().now();
  }
  if (reply_.limit == flow::kPause && reply_.not_before != 0) learn_pause(asking);
  if (state_ == State::connected) {
    if (shadow_.has_unknown()) replay(ScriptArgs::Replay::afterwards);
    shadow_.come_back(shared_.loop().now());
    if (asking.weight > 0) {
      wait_list_.answered(asking.group, key_of(asking.group), booking_);
      counter_resets_.answered(shared_.loop().now(), asking.group, booking_);
    }
  }
  note_left(asking);
  if (asking.former) invalidate_wait(asking);
  answer(asking.group);
}

void SharedLimiter::apply_grants(const Asking& asking) {
  booking_.clear();
  Time last = shadow_.recalled(asking.base);
  release(asking);
  for (const auto& [at, limit] : reply_.departures) {
    last = std::max(last, clock_.to_loop(at));
    if (!still_allowed_here(asking, last)) return decline(asking, at);
    flow::Departure& departure = booking_.departures.emplace_back(flow::Departure{.at = last,
                                                                                  .weight = asking.weight,
                                                                                  .limited_by = place_of(asking, limit),
                                                                                  .epoch = asking.epoch,
                                                                                  .in_redis = at});
    shadow_.book(asking.group, departure);
    if (last > clock_.to_loop(at) + flow::kOnTime) move_in_redis(asking.group, departure);
    recent_.add(reply_.now, asking.weight);
  }
  booking_.stop = reply_.stop.value_or(Stop::turn);
  booking_.scope = reply_.scope;
  booking_.limited_by = place_of(asking, reply_.limit);
  booking_.ask_again = reply_.ask_again == 0 ? 0 : clock_.to_loop(reply_.ask_again);
  booking_.not_before = reply_.not_before == 0 ? 0 : clock_.to_loop(reply_.not_before);
  ask_in_time();
}

/// Takes back in Redis what it has granted, since a limit kept here does not allow it. The lane may ask again at once.
void SharedLimiter::decline(const Asking& asking, std::int64_t at) {
  booking_.scope = Scope::group;
  booking_.ask_again = shared_.loop().now();
  if (asking.weight > 0 && !alone()) send_give_back(asking.group, at, asking.weight, asking.epoch);
  semaphores_.ended(asking.group);
}

/// The script does not know how far away this process is. Limits of the upstream may be asked a whole round trip ahead,
/// so that the answer is there in time; those of a group only half of one, so that the ask arrives in time.
void SharedLimiter::ask_in_time() {
  if (booking_.ask_again == 0 || booking_.ask_again >= booking_.not_before) return;
  const Time early = booking_.scope == Scope::upstream ? clock_.usual_round_trip() : clock_.usual_round_trip() / 2;
  booking_.ask_again = std::min(booking_.ask_again, booking_.not_before - early);
}

void SharedLimiter::hear_standing(const Asking& asking) {
  others_.reset();
  if (reply_.others >= 0) others_ = {.count = reply_.others, .had_less = reply_.had_less};
  whole_.set_clock(static_cast<flow::Instant>(clock_.at_zero()));
  for (const auto& [number, since, much] : reply_.standing) {
    const flow::LimitIndex limit = place_of(asking, number);
    if (limit >= 0) whole_.heard(limit, static_cast<flow::Instant>(since), much);
  }
}

void SharedLimiter::answer_alone(const Asking& asking) {
  release(asking);
  booking_.clear();
  go_by_rule(shared_.loop().now(), asking.ask(), booking_);
  if (asking.weight > 0) wait_list_.answered(asking.group, key_of(asking.group), booking_);
  answer(asking.group);
}

/// Passes booking_ on. If a permit kept in this process was freed meanwhile, waiting lanes may ask again.
void SharedLimiter::answer(const std::string& group) {
  events_.answer(group, booking_);
  if (std::exchange(permit_freed_, false)) wake_lanes();
}

/// By shares alone, processes that had left others some of their share would now take it back, and more would leave
/// than the limit allows. Instead, lanes wait until all processes have handed in what they remember, at most for a
/// second.
WhenDown SharedLimiter::rule() const {
  const WhenDown configured = shared_.config().when_down;
  if (shared_.starting()) return WhenDown::wait;
  return state_ == State::recovering && configured == WhenDown::share ? WhenDown::wait : configured;
}

/// The lane may ask again at once.
void SharedLimiter::answer_later(const Asking& asking) {
  release(asking);
  booking_.clear();
  booking_.scope = Scope::group;
  booking_.ask_again = shared_.loop().now();
  answer(asking.group);
}

/// The lane no longer waits for this answer.
void SharedLimiter::take_all_back(const Asking& asking) {
  if (asking.weight == 0) return;  // it took only permits, and these are spare already
  for (auto last = reply_.departures.rbegin(); last != reply_.departures.rend(); ++last) {
    send_give_back(asking.group, last->at, asking.weight, asking.epoch);
  }
}

bool SharedLimiter::worked(const Outcome& outcome) {
  if (outcome) return true;
  const FailureKind kind = outcome.error().kind;
  if (is_outage(kind)) return false;                       // an outage concerns all upstreams
  if (limit_to_quarantine(outcome.error())) return false;  // the next ask quarantines it, and reports that
  complain(outcome.error().text);
  if (kind != FailureKind::corrupt) refused();
  return false;
}

void SharedLimiter::complain(std::string_view why) {
  const Time now = shared_.loop().now();
  if (has_complained_ || now - complained_ < 60 * kSecond) return;
  complained_ = now;
  has_complained_ = true;
  shared_.notice(LogLevel::error, "the limits of " + name_ + " are not shared as they should be: " + std::string(why));
}

/// An answer that tells how many processes there are also tells whether their limits differ.
void SharedLimiter::compare_limits(Time now) {
  const auto theirs = reply_.others_limits;
  switch (agreement_.heard(now, theirs)) {
    case Agreement::News::none: return;
    case Agreement::News::agree:
      return shared_.notice(LogLevel::info, "all processes have the same limits of " + name_ + " again");
    case Agreement::News::differ: break;
  }
  shared_.notice(LogLevel::warn, "processes share the limits of " + name_ + " and differ in them: " +
                                     told_to_people(script_args_.told()) + "; " + told_to_people(theirs));
}

// ---- what else happens ----------------------------------------------------------------------------------------------

Time SharedLimiter::lead() const { return alone() ? flow::kHorizon : 2 * clock_.usual_round_trip() + kEdge; }

flow::LimitIndex SharedLimiter::forbids(int weight) const { return whole_.forbids(weight); }

/// Both this process's memory of its own departures and what Redis told last are lower bounds. While some limits are
/// quarantined, the memory has them divided, also for groups that share theirs; it is not used then.
Time SharedLimiter::ahead(Time now, std::string_view group, std::int64_t units, std::int64_t others) const {
  if (!alone() && !quarantine_.all().empty()) return std::max(now, wait_list_.not_before(key_of(group)));
  return std::max(shadow_.all().ahead(now, group, units, others), wait_list_.not_before(key_of(group)));
}

/// By what Redis told last of all processes. For limits of groups, only this process's own memory is known.
Time SharedLimiter::expected(Time now, std::string_view group, int weight, std::int64_t units,
                             std::int64_t others) const {
  if (alone()) return shadow_.all().expected(now, group, weight, units, others, {});
  const Time told = ahead(now, group, 0, 0);
  if (!quarantine_.all().empty()) return told;
  const auto all = others_.value_or(flow::OtherProcesses{.count = alive_ - 1});
  return std::max({told, whole_.expected(now, group, weight, units, others, all),
                   shadow_.all().expected(now, group, weight, units, others, all)});
}

bool SharedLimiter::landed(Time now, std::string_view group) {
  const bool at_hand = semaphores_.ended(group);
  const bool freed = shadow_.all().landed(now, group);
  return at_hand || (freed && (alone() || own_limits_));  // Redis itself tells whose reservation is due
}

void SharedLimiter::cancel_wait(Time, Scope scope, std::string_view group) {
  semaphores_.gave_up(group);
  const GroupKey key = key_of(group);
  if (!wait_list_.give_up(scope, key) || alone()) return;
  call_.clear();
  script_args_.cancel_wait(call_, generation_, key, scope);
  call(Script::cancel_wait);
}

void SharedLimiter::pause(Time now, std::string_view group, Time until) {
  shadow_.all().pause(now, group, until);
  learned_.extend(now, group, until);
  if (alone()) {
    untold_.extend(now, group, until);
  } else {
    send_pause(now, group, until);
  }
  paused_until_ = std::max(paused_until_, until);
}

bool SharedLimiter::forgettable(Time now) const {
  const bool agreed = quarantine_.all().empty() && !shadow_.has_unknown();
  return agreed && learned_.count(now) == 0 && anonymous_.none(now) && shadow_.all().forgettable(now);
}

/// "line", "line <group's hash>", "lost", "back", "gathered", "permits <word> <number> <key>", "paused <microseconds>"
void SharedLimiter::message(std::string_view words) {
  constexpr std::string_view kLine = "line", kPermits = "permits ";
  anonymous_.message(shared_.loop().now(), words);
  if (words.starts_with(kPermits)) return about_permits(words.substr(kPermits.size()));
  if (words.starts_with(kPaused)) return paused_elsewhere(words.substr(kPaused.size()));
  if (alone()) return;
  if (words == kLost) memory_lost();
  if (words == kBack && in_use(shared_.loop().now())) look(shared_.loop().now());
  if (words == kGathered) wake_lanes();
  if (words.starts_with(kLine)) called(words.substr(kLine.size()));
}

/// `group` is a space and a group's hash; empty: lanes of the whole upstream are called.
void SharedLimiter::called(std::string_view group) {
  const std::string_view key = group.substr(std::min<std::size_t>(group.size(), 1));
  pending_asks_.each(
      [&](Asking& asking) { asking.called |= key.empty() || std::string_view(key_of(asking.group)) == key; });
  if (key.empty()) return events_.retry(Scope::upstream, {});
  const std::string* waiting = wait_list_.group_of(key);
  if (!waiting) return;
  const std::string name = *waiting;  // wait_list_ changes meanwhile
  events_.retry(Scope::group, name);
}

void SharedLimiter::tick(Time now) {
  // If the head expired, the next would begin a young generation, whose semaphores grant nothing for half a lease.
  const bool wanted = in_use(now) || !quarantine_.all().empty() ||
                      (semaphores_.any() && last_touch_ > 0 && now - last_touch_ >= kHeadKept);
  const bool may_change = may_return() || (!alone() && !may_ask_redis());
  if (may_change && !look_again_.running()) look_again_.start(now);
  if (may_change || alone()) return;
  if (wanted && now - last_touch_ >= kTouchAfter) look(now);
  if (quarantine_.all().empty()) return;
  share_apart();  // among as many as there are by now
  for (const auto& one : quarantine_.all()) try_together(one);
}

bool SharedLimiter::in_use(Time now) const { return now - last_asked_ < kInUse || !wait_list_.empty(); }

// ---- small calls ----------------------------------------------------------------------------------------------------

bool SharedLimiter::call(Script script, Call::Done done) {
  return shared_.redis().call(static_cast<std::size_t>(script), call_.keys.all(), call_.arguments.all(),
                              std::move(done));
}

bool SharedLimiter::call(Script script) {
  return call(script, [self = self_.ref()](const Outcome& outcome, Time) {
    if (self) self->worked(outcome);
  });
}

void SharedLimiter::send_moves(std::string_view group, const LateReports::Moves& moves) {
  if (alone()) return;
  call_.clear();
  script_args_.report_late(call_, generation_, key_of(group), moves, quarantine_.of(group));
  call(Script::report_late);
}

void SharedLimiter::send_give_back(std::string_view group, std::int64_t at, int weight, flow::ConfigEpoch epoch) {
  call_.clear();
  script_args_.give_back(call_, generation_, key_of(group), at, weight, not_counting(group, epoch));
  call(Script::give_back);
}

void SharedLimiter::send_pause(Time now, std::string_view group, Time until) {
  if (until <= now) return;
  call_.clear();
  script_args_.pause(call_, key_of(group), until - now);
  call(Script::pause, [self = self_.ref(), name = std::string(group), until](const Outcome& outcome, Time) {
    if (!self || self->worked(outcome)) return;
    self->untold_.extend(self->shared_.loop().now(), name, until);
  });
  if (!semaphores_.any()) return;
  shared_.redis().publish_to_all(name_ + " " + std::string(kPaused) + " " + std::to_string(until - now));
}

/// A pause that Redis told, and that another process put there. The answer does not say whose pause it is: even one of
/// the whole upstream is noted for this group only.
void SharedLimiter::learn_pause(const Asking& asking) {
  const Time now = shared_.loop().now();
  shadow_.all().pause(now, asking.group, booking_.not_before);
  learned_.extend(now, asking.group, booking_.not_before);
  paused_until_ = std::max(paused_until_, booking_.not_before);
}

void SharedLimiter::reset(flow::LimitIndex counter, const std::string& group) {
  if (alone() || quarantine_.contains(counter, group)) return;
  const LimitConfig& limit = limits_[static_cast<std::size_t>(counter)];
  const auto& config = std::get<CounterConfig>(limit.kind);
  if (group.empty())
    counter_resets_.want(counter, {}, shared_.loop().now() + config.period.count());  // in case no answer comes
  call_.clear();
  script_args_.reset(call_, generation_, key_of(group), counter);
  call(Script::reset, [self = self_.ref(), limit, group](const Outcome& outcome, Time) {
    if (self) self->was_reset(limit, group, outcome);
  });
}

void SharedLimiter::was_reset(const LimitConfig& counter, const std::string& group, const Outcome& outcome) {
  if (!worked(outcome) || alone()) return;
  const Time now = shared_.loop().now();
  auto elements = outcome->elements();
  elements.next();  // the status
  elements.next();  // now
  const auto next = elements.next().integer();
  const bool needed = group.empty() ? in_use(now) : wait_list_.group_of(key_of(group)) != nullptr;
  const flow::LimitIndex place = shared_as(counter);
  if (next > 0 && needed && place != flow::kNoLimit) {
    counter_resets_.want(place, group, std::max(clock_.to_loop(next), now + kEdge));
  }
}

}  // namespace penstock::redis
