// SPDX-License-Identifier: Apache-2.0
// Asks and answers.
#include "redis/redis_booker.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "redis/limits_text.h"
#include "redis/share.h"

namespace penstock::redis {

using flow::Booking;
using flow::Time;
using Scope = Booking::Scope;
using Stop = Booking::Stop;
using Status = BookReply::Status;

namespace {

constexpr Time kSecond = 1'000'000;
constexpr Time kHeadKept = 3600 * kSecond;
constexpr Time kTouchAfter = kSecond / 2;  // the same for asks and the tick: who asks need not make a call for it
constexpr Time kGrace = 1'000;             // the connection itself is to find first that Redis is late
constexpr Time kLongAgo = std::numeric_limits<Time>::min() / 2;

}  // namespace

RedisBooker::RedisBooker(BookingOffice& office, std::string name, const std::vector<LimitConfig>& limits,
                         flow::BookerEvents& events)
    : office_(office),
      name_(std::move(name)),
      limits_(limits),
      events_(events),
      hash_(office.config().prefix, name_, office.config().secret),
      spelling_(office.config().prefix, name_, office.who(), limits_),
      standing_(Standing::down),
      counted_at_(kLongAgo),
      parts_(office.sharers(0)),
      whole_(limits_),
      shadow_(limits_, flow::instant_at_zero(office.loop().wall(), office.loop().now())),
      asks_(office.loop(), office.config().timeout.count() + kGrace,
            [this](const Asking& late) { answer_alone(late); }),
      late_(office.loop(), [this](std::string_view group, const auto& moves) { send_moves(group, moves); }),
      resets_(office.loop(), limits_,
              [this](flow::LimitIndex counter, const std::string& group) { reset(counter, group); }),
      semaphores_(
          office.loop(), limits_, events, [this](std::string_view group) { return std::string(key_of(group)); },
          [this](const Semaphores::Named& which, const std::string& told) { renew(which, told); }),
      look_again_(office.loop(), [this] { look_again(); }),
      last_asked_(kLongAgo),
      last_touch_(kLongAgo),
      anonymous_(office, name_, "pause-anonymous"),
      complained_(kLongAgo) {
  look_at_limits();
  if (may_ask_redis()) standing_ = Standing::together;
  if (alone()) semaphores_.redis_gone();
  if (alone()) divide_limits();
  semaphores_.set_hears(office_.redis().hears());
  semaphores_.set_allowance([this](flow::LimitIndex semaphore) {
    const auto& config = std::get<SemaphoreConfig>(semaphores_.config(semaphore).kind);
    return permits_alone(config, office_.config().when_down, parts_);
  });
}

RedisBooker::~RedisBooker() {
  if (!alone()) semaphores_.hand_back();
  self_.expire();
  office_.leave(name_, *this);
}

// ---- an ask ---------------------------------------------------------------------------------------------------------

bool RedisBooker::ask(Time now, const flow::Ask& ask, Booking& booking) {
  if (ask.weight == 0 && !semaphores_.any()) return shadow_.all().ask(now, ask, booking);
  last_asked_ = now;
  if (standing_ == Standing::together) {
    if (semaphores_.any() && start_at_hand(now, ask, booking)) return true;
    Asking asking{.group = std::string(ask.group), .count = ask.count, .weight = ask.weight, .more = more_than(ask)};
    if (!allowed_here(now, asking, booking)) return true;
    const auto id = asks_.add(now, std::move(asking));
    if (send(now, id)) return false;
    release(asks_.take(id));
  }
  if (standing_ == Standing::down && look_again_.running()) look_again_.start(now);  // it returns as soon as it may
  go_by_rule(now, ask, booking);
  if (ask.weight > 0) told_.answered(ask.group, key_of(ask.group), booking);
  return true;
}

/// False: Redis is down.
bool RedisBooker::send(Time now, Asks::Id id) {
  late_.tell_overdue();
  Asking& asking = asks_.find(id);
  asking.former = false;
  asking.era = shadow_.all().era();
  permits_.clear();
  asking.claims = semaphores_.claim(asking.group, permits_);
  auto done = [self = self_.ref(), id](const Outcome& outcome, Time sent) {
    if (self) self->answered(id, outcome, sent);
  };
  if (send_ask(now, asking, now - last_touch_ >= kTouchAfter, permits_, std::move(done))) return true;
  semaphores_.failed(asking.group, asking.claims);
  return false;
}

bool RedisBooker::send_ask(Time now, const Asking& asking, bool touch, std::span<const std::string> permits,
                           Call::Done done) {
  const bool keeps_to_part = office_.config().when_down == WhenDown::share;
  const bool says_since = keeps_to_part && !has_met_ && !std::exchange(has_said_since_, true);
  const std::string_view since = !says_since ? "" : shadow_.has_unknown() ? "+" : "s";
  call_.clear();
  spelling_.book(call_, {.generation = generation_,
                         .fresh_generation = office_.fresh_generation(has_met_ ? 0 : latest_, since),
                         .alive = alive_,
                         .touch = touch,
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

void RedisBooker::answered(Asks::Id id, const Outcome& outcome, Time sent) {
  if (!outcome && set_apart(asks_.find(id), outcome.error())) return ask_without(id);
  const auto asking = asks_.take(id);
  const bool understood = read(outcome, asking.count, asking.claims.size(), sent);
  if (understood && reply_.status == Status::ok) {
    generation_ = reply_.generation;
    take_permits(asking, sent);
    return asking.late ? take_all_back(asking) : deliver(asking);
  }
  const bool foreign = !outcome && outcome.error().kind == FailureKind::corrupt;
  if (foreign) complain(outcome.error().text);
  semaphores_.failed(asking.group, asking.claims, foreign);
  const bool together = standing_ == Standing::together;
  if (!understood) {
    parts_ = sharers();
    divide_limits();
  } else if (together && reply_.status == Status::closed) {
    wait_until_open();
  } else if (together && reply_.generation != generation_) {
    generation_lost();
  } else if (together && !asking.late) {  // lost and found meanwhile
    return answer_later(asking);
  }
  if (!asking.late) answer_alone(asking);
}

bool RedisBooker::read(const Outcome& outcome, std::size_t count, std::size_t semaphores, Time sent) {
  if (!worked(outcome)) return false;
  const bool is_answer = read_book_reply(*outcome, count, reply_);
  if (!is_answer || (reply_.status == Status::ok && !Semaphores::plausible(reply_.permits, semaphores))) {
    complain("Redis answers something else than was asked for");
    refused();
    return false;
  }
  const Time now = office_.loop().now();
  has_met_ |= reply_.status != Status::closed;
  has_said_since_ &= reply_.status != Status::closed;
  if (reply_.status == Status::ok) latest_ = std::max(latest_, reply_.now);
  clock_.learn(sent, now, reply_.now);
  shadow_.set_clock(static_cast<flow::Instant>(clock_.at_zero()));
  round_trip_ = round_trip_ == 0 ? now - sent : (7 * round_trip_ + now - sent) / 8;
  semaphores_.set_clock(clock_.at_zero(), round_trip_);
  if (reply_.alive > 0) {
    counted_at_ = now;
    compare_limits(now);
  }
  alive_ = reply_.alive > 0 ? reply_.alive : std::max(alive_, -reply_.alive);
  return true;
}

/// Messages come over a connection of their own, and may overtake the answer that tells to wait for them: then it asks
/// again at once, for that answer may have come too late by now.
void RedisBooker::deliver(const Asking& asking) {
  fill(asking);
  hear_standing(asking);
  if (asking.called && booking_.stop == Stop::turn && (booking_.ask_again != 0 || booking_.departures.empty())) {
    booking_.ask_again = office_.loop().now();
  }
  if (reply_.limit == flow::kHold && reply_.not_before != 0) learn_pause(asking);
  if (standing_ == Standing::together) {
    if (shadow_.has_unknown()) hand_in(Spelling::HandIn::afterwards);
    shadow_.come_back(office_.loop().now());
    if (asking.weight > 0) {
      told_.answered(asking.group, key_of(asking.group), booking_);
      resets_.answered(office_.loop().now(), asking.group, booking_);
    }
  }
  note_left(asking);
  if (asking.former) let_ask_anew(asking);
  answer(asking.group);
}

void RedisBooker::fill(const Asking& asking) {
  booking_.clear();
  Time last = shadow_.by_loop(asking.base);
  release(asking);
  for (const auto& [at, limit] : reply_.departures) {
    last = std::max(last, clock_.to_loop(at));
    flow::Departure& departure = booking_.departures.emplace_back(flow::Departure{
        .at = last, .weight = asking.weight, .limited_by = place_of(asking, limit), .era = asking.era, .in_redis = at});
    shadow_.book(asking.group, departure);
    if (last > clock_.to_loop(at) + flow::kOnTime) move_in_redis(asking.group, departure);
    recent_.add(last, asking.weight);
  }
  booking_.stop = reply_.stop.value_or(Stop::turn);
  booking_.scope = reply_.scope;
  booking_.limited_by = place_of(asking, reply_.limit);
  booking_.ask_again = reply_.ask_again == 0 ? 0 : clock_.to_loop(reply_.ask_again);
  booking_.not_before = reply_.not_before == 0 ? 0 : clock_.to_loop(reply_.not_before);
  ask_in_time();
}

/// The script does not know how far away this is. The limits of the upstream may be asked by a whole round trip ahead,
/// so that the answer is there in time; those of a group only so that the question arrives in time.
void RedisBooker::ask_in_time() {
  if (booking_.ask_again == 0 || booking_.ask_again >= booking_.not_before) return;
  const Time early = booking_.scope == Scope::upstream ? round_trip_ : round_trip_ / 2;
  booking_.ask_again = std::min(booking_.ask_again, booking_.not_before - early);
}

void RedisBooker::hear_standing(const Asking& asking) {
  others_.reset();
  if (reply_.others >= 0) others_ = {.count = reply_.others, .had_less = reply_.had_less};
  whole_.set_clock(static_cast<flow::Instant>(clock_.at_zero()));
  for (const auto& [number, since, much] : reply_.standing) {
    const flow::LimitIndex limit = place_of(asking, number);
    if (limit >= 0) whole_.heard(limit, static_cast<flow::Instant>(since), much);
  }
}

void RedisBooker::answer_alone(const Asking& asking) {
  release(asking);
  booking_.clear();
  go_by_rule(office_.loop().now(), asking.ask(), booking_);
  if (asking.weight > 0) told_.answered(asking.group, key_of(asking.group), booking_);
  answer(asking.group);
}

/// With booking_. Whom a permit waits for that has been set free meanwhile may ask again.
void RedisBooker::answer(const std::string& group) {
  events_.answer(group, booking_);
  if (std::exchange(permit_freed_, false)) wake_lanes();
}

/// By shares alone, those who had left others a part of theirs would now take it back, and more would leave than the
/// limit allows. Until all have handed in what they remember, for a second at most, lanes wait instead.
WhenDown RedisBooker::rule() const {
  const WhenDown configured = office_.config().when_down;
  if (office_.starting()) return WhenDown::hold;
  return standing_ == Standing::settling && configured == WhenDown::share ? WhenDown::hold : configured;
}

/// It may ask again at once.
void RedisBooker::answer_later(const Asking& asking) {
  release(asking);
  booking_.clear();
  booking_.scope = Scope::group;
  booking_.ask_again = office_.loop().now();
  answer(asking.group);
}

/// Nobody waits for this answer any more.
void RedisBooker::take_all_back(const Asking& asking) {
  if (asking.weight == 0) return;  // permits alone, and these are spare already
  for (auto last = reply_.departures.rbegin(); last != reply_.departures.rend(); ++last) {
    send_undo(asking.group, last->at, asking.weight, asking.era);
  }
}

bool RedisBooker::worked(const Outcome& outcome) {
  if (outcome) return true;
  const FailureKind kind = outcome.error().kind;
  if (is_outage(kind)) return false;                // of all upstreams
  if (to_set_apart(outcome.error())) return false;  // the next ask sets it apart, and says so
  complain(outcome.error().text);
  if (kind != FailureKind::corrupt) refused();
  return false;
}

void RedisBooker::complain(std::string_view why) {
  const Time now = office_.loop().now();
  if (has_complained_ || now - complained_ < 60 * kSecond) return;
  complained_ = now;
  has_complained_ = true;
  office_.notice(LogLevel::error, "the limits of " + name_ + " are not shared as they should be: " + std::string(why));
}

/// An answer that says how many there are says whether their limits differ.
void RedisBooker::compare_limits(Time now) {
  const auto theirs = reply_.others_limits;
  switch (agreement_.heard(now, theirs)) {
    case Agreement::News::none: return;
    case Agreement::News::agree:
      return office_.notice(LogLevel::info, "all processes have the same limits of " + name_ + " again");
    case Agreement::News::differ: break;
  }
  office_.notice(LogLevel::warn, "processes share the limits of " + name_ + " and differ in them: " +
                                     told_to_people(spelling_.told()) + "; " + told_to_people(theirs));
}

// ---- what else happens ----------------------------------------------------------------------------------------------

Time RedisBooker::lead() const { return alone() ? flow::kHorizon : 2 * round_trip_ + kEdge; }

flow::LimitIndex RedisBooker::forbids(int weight) const { return whole_.forbids(weight); }

/// What this process remembers of its own departures is a lower bound, and so is what Redis told last. While some
/// limits are apart the memory has them divided, for groups too that share theirs.
Time RedisBooker::ahead(Time now, std::string_view group, std::int64_t units, std::int64_t others) const {
  if (!alone() && !apart_.all().empty()) return std::max(now, told_.not_before(key_of(group)));
  return std::max(shadow_.all().ahead(now, group, units, others), told_.not_before(key_of(group)));
}

/// By what Redis told last of all processes. Of limits of groups only the own memory says something.
Time RedisBooker::expected(Time now, std::string_view group, int weight, std::int64_t units,
                           std::int64_t others) const {
  if (alone()) return shadow_.all().expected(now, group, weight, units, others, {});
  const Time told = ahead(now, group, 0, 0);
  if (!apart_.all().empty()) return told;
  const auto all = others_.value_or(flow::OtherProcesses{.count = alive_ - 1});
  return std::max({told, whole_.expected(now, group, weight, units, others, all),
                   shadow_.all().expected(now, group, weight, units, others, all)});
}

bool RedisBooker::landed(Time now, std::string_view group) {
  const bool at_hand = semaphores_.ended(group);
  const bool freed = shadow_.all().landed(now, group);
  return at_hand || (freed && (alone() || own_limits_));  // Redis itself tells whose turn it is
}

void RedisBooker::nobody_waits(Time, Scope scope, std::string_view group) {
  semaphores_.gave_up(group);
  const GroupKey key = key_of(group);
  if (!told_.give_up(scope, key) || alone()) return;
  call_.clear();
  spelling_.leave(call_, generation_, key, scope);
  call(Script::leave);
}

void RedisBooker::pause(Time now, std::string_view group, Time until) {
  shadow_.all().pause(now, group, until);
  learned_.extend(now, group, until);
  if (alone()) {
    untold_.extend(now, group, until);
  } else {
    send_pause(now, group, until);
  }
  paused_until_ = std::max(paused_until_, until);
}

bool RedisBooker::forgettable(Time now) const {
  const bool agreed = apart_.all().empty() && !shadow_.has_unknown();
  return agreed && learned_.count(now) == 0 && anonymous_.none(now) && shadow_.all().forgettable(now);
}

/// "line", "line <group's hash>", "lost", "back", "gathered", "permits <word> <number> <key>", "paused <microseconds>"
void RedisBooker::message(std::string_view words) {
  constexpr std::string_view kLine = "line", kPermits = "permits ";
  anonymous_.message(office_.loop().now(), words);
  if (words.starts_with(kPermits)) return about_permits(words.substr(kPermits.size()));
  if (words.starts_with(kPaused)) return paused_elsewhere(words.substr(kPaused.size()));
  if (alone()) return;
  if (words == kLost) memory_lost();
  if (words == kBack && in_use(office_.loop().now())) look(office_.loop().now());
  if (words == kGathered) wake_lanes();
  if (words.starts_with(kLine)) called(words.substr(kLine.size()));
}

/// Of the upstream, where no group is named behind a space.
void RedisBooker::called(std::string_view group) {
  const std::string_view key = group.substr(std::min<std::size_t>(group.size(), 1));
  asks_.each([&](Asking& asking) { asking.called |= key.empty() || std::string_view(key_of(asking.group)) == key; });
  if (key.empty()) return events_.may_ask(Scope::upstream, {});
  const std::string* waiting = told_.group_of(key);
  if (!waiting) return;
  const std::string name = *waiting;  // told_ changes meanwhile
  events_.may_ask(Scope::group, name);
}

void RedisBooker::tick(Time now) {
  // A head that expired would be a young generation, whose semaphores grant nothing for half a lease.
  const bool wanted =
      in_use(now) || !apart_.all().empty() || (semaphores_.any() && last_touch_ > 0 && now - last_touch_ >= kHeadKept);
  const bool may_change = may_return() || (!alone() && !may_ask_redis());
  if (may_change && !look_again_.running()) look_again_.start(now);
  if (may_change || alone()) return;
  if (wanted && now - last_touch_ >= kTouchAfter) look(now);
  if (apart_.all().empty()) return;
  share_apart();  // among as many as there are by now
  for (const auto& one : apart_.all()) try_together(one);
}

bool RedisBooker::in_use(Time now) const { return now - last_asked_ < kInUse || !told_.empty(); }

// ---- small calls ----------------------------------------------------------------------------------------------------

bool RedisBooker::call(Script script, Call::Done done) {
  return office_.redis().call(static_cast<std::size_t>(script), call_.keys.all(), call_.arguments.all(),
                              std::move(done));
}

bool RedisBooker::call(Script script) {
  return call(script, [self = self_.ref()](const Outcome& outcome, Time) {
    if (self) self->worked(outcome);
  });
}

void RedisBooker::send_moves(std::string_view group, const LateDepartures::Moves& moves) {
  if (alone()) return;
  call_.clear();
  spelling_.moved(call_, generation_, key_of(group), moves, apart_.of(group));
  call(Script::moved);
}

void RedisBooker::send_undo(std::string_view group, std::int64_t at, int weight, flow::Era era) {
  call_.clear();
  spelling_.undo(call_, generation_, key_of(group), at, weight, not_counting(group, era));
  call(Script::undo);
}

void RedisBooker::send_pause(Time now, std::string_view group, Time until) {
  if (until <= now) return;
  call_.clear();
  spelling_.pause(call_, key_of(group), until - now);
  call(Script::pause, [self = self_.ref(), name = std::string(group), until](const Outcome& outcome, Time) {
    if (!self || self->worked(outcome)) return;
    self->untold_.extend(self->office_.loop().now(), name, until);
  });
  if (!semaphores_.any()) return;
  office_.redis().publish_to_all(name_ + " " + std::string(kPaused) + " " + std::to_string(until - now));
}

/// From Redis, where another process told it. Whose pause it is the answer does not say: of the upstream's it is known
/// here for this group alone.
void RedisBooker::learn_pause(const Asking& asking) {
  const Time now = office_.loop().now();
  shadow_.all().pause(now, asking.group, booking_.not_before);
  learned_.extend(now, asking.group, booking_.not_before);
  paused_until_ = std::max(paused_until_, booking_.not_before);
}

void RedisBooker::reset(flow::LimitIndex counter, const std::string& group) {
  if (alone() || apart_.contains(counter, group)) return;
  const LimitConfig& limit = limits_[static_cast<std::size_t>(counter)];
  const auto& config = std::get<CounterConfig>(limit.kind);
  if (group.empty()) resets_.want(counter, {}, office_.loop().now() + config.period.count());  // should no answer come
  call_.clear();
  spelling_.reset(call_, generation_, key_of(group), counter);
  call(Script::reset, [self = self_.ref(), limit, group](const Outcome& outcome, Time) {
    if (self) self->was_reset(limit, group, outcome);
  });
}

void RedisBooker::was_reset(const LimitConfig& counter, const std::string& group, const Outcome& outcome) {
  if (!worked(outcome) || alone()) return;
  const Time now = office_.loop().now();
  auto elements = outcome->elements();
  elements.next();  // whether it was reset, and by us
  elements.next();  // when
  const auto next = elements.next().integer();
  const bool needed = group.empty() ? in_use(now) : told_.group_of(key_of(group)) != nullptr;
  const flow::LimitIndex place = shared_as(counter);
  if (next > 0 && needed && place != flow::kNoLimit) {
    resets_.want(place, group, std::max(clock_.to_loop(next), now + kEdge));
  }
}

}  // namespace penstock::redis
