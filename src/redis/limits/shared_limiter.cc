// SPDX-License-Identifier: Apache-2.0
// An ask, its call, its reply.
#include "redis/limits/shared_limiter.h"

#include <utility>

#include "flow/limit_remap.h"

namespace penstock::redis {

using flow::Booking;
using flow::Time;
using Scope = Booking::Scope;
using Stop = Booking::Stop;
using Status = BookReply::Status;

namespace {

constexpr Time kLong = 1'000'000;  // until then those that wait need not ask again
constexpr Time kGrace = 1'000;     // so that the connection itself finds first that Redis is late

// Messages from scripts, beside those of other objects.
constexpr std::string_view kLine = "line";                         // " <key of the line>", or nothing, follows
constexpr std::string_view kBack = "back", kAllBack = "gathered";  // see away.lua

std::unique_ptr<Shadow> shadow_of(Handover& former, const std::vector<LimitConfig>& limits, const loop::Loop& loop) {
  if (!former.shadow)
    return std::make_unique<Shadow>(limits, flow::instant_at_zero(loop.wall(), loop.now()), std::move(former.memory));
  former.shadow->refer_to(loop.now(), limits);
  return std::move(former.shadow);
}

/// True: Redis does not know all that the former limiter granted, and is to be told before it is asked.
bool has_to_replay(const Handover& former, Shadow& shadow, Time now) {
  if (former.from != Handover::From::own_limits) return former.from == Handover::From::shared_limits;
  if (shadow.all().forgettable(now)) return false;
  shadow.all_is_unknown();
  return true;
}

/// Scripts know narrow limits alone, whether of a group or of a route. No limit is named where others of the line go
/// first.
bool stops_route(const std::vector<LimitConfig>& limits, const BookReply& reply, bool shares_line) {
  if (reply.scope != Scope::group || reply.limit == flow::kPause) return false;
  if (reply.limit < 0) return shares_line;
  return flow::scope_of(limits[static_cast<std::size_t>(reply.limit)]) == Scope::route;
}

/// What other lanes want of the same line.
std::int64_t units_besides(const ScriptArgs& args, const flow::Ask& ask) {
  if (args.holds_all()) return ask.others;
  return args.routes().share_line(ask.route) ? ask.of_route : 0;
}

/// The lane may stand in another line since the ask was sent, which the answer is not about.
void leave_former_line(UpstreamCalls& calls, const Asking& asking) {
  const bool is_same = asking.former_line == std::string_view(lines_of(calls, asking.lane()).line);
  if (!is_same && !asking.former_line.empty() && calls.connected()) calls.cancel_wait(asking.former_line);
}

void set_up(PermitLeases& leases, SharedRedis& shared, const Fallback& fallback) {
  leases.set_subscribed(shared.servers().subscribed());
  // The time in µs: no process is granted more than a permit in each.
  leases.set_first([&loop = shared.loop()] { return loop.now(); });
  leases.set_allowance([&fallback](flow::LimitIndex semaphore) { return fallback.permits_left(semaphore); });
}

}  // namespace

/// Members that are made of other members alone are made in the header.
SharedLimiter::SharedLimiter(SharedRedis& shared, LimiterOwner& owner, std::string name,
                             const std::vector<LimitConfig>& limits, flow::LimiterEvents& events, Handover former)
    : owner_(owner),
      events_(events),
      limits_(limits),
      calls_(shared, std::move(name), limits_, [this](const Failure& why) { recovery_.call_failed(why); }),
      shadow_(shadow_of(former, limits_, shared.loop())),
      pending_asks_(shared.loop(), shared.config().timeout.count() + kGrace,
                    [this](const Asking& late) { answers_.alone(late); }),
      semaphores_(
          shared.loop(), limits_, events, [this](std::string_view group) { return std::string(calls_.key_of(group)); },
          [this](const SemaphoreName& which, const std::string& told) { permit_calls_.renew(which, told); }),
      messages_(shared, calls_.upstream(), events),
      quarantine_(calls_, *shadow_, fleet_, limits_, [this](bool lanes_may_leave) {
        owner_.standing_changed();
        if (lanes_may_leave) wait_list_.wake(events_);
      }) {
  const bool takes_over = has_to_replay(former, *shadow_, shared.loop().now());
  recovery_.change(limits_);
  set_up(semaphores_.leases(), shared, fallback_);
  if (recovery_.may_ask_redis() && !takes_over) {
    calls_.set_standing(UpstreamCalls::Standing::connected);
    return;
  }
  semaphores_.leases().redis_gone();
  if (takes_over) recovery_.take_over(std::move(former.redis));
  fallback_.divide();
  if (takes_over) recovery_.redis_up();
}

SharedLimiter::~SharedLimiter() {
  if (calls_.connected() && shadow_) semaphores_.leases().hand_back();
  self_.expire();
  owner_.unregister(calls_.upstream(), *this);
}

// ---- an ask ---------------------------------------------------------------------------------------------------------

bool SharedLimiter::ask(Time now, const flow::Ask& ask, Booking& booking) {
  if (ask.weight == 0 && !semaphores_.any()) return shadow_->all().ask(now, ask, booking);
  if (ask.weight > 0 && messages_.answer(ask.group, booking)) return true;
  wait_list_.asked(now);
  if (calls_.connected()) {
    if (semaphores_.any() && !(ask.weight > 0 && pauses_.may_hold(now)) && grants_.at_hand(now, ask, booking))
      return true;
    Asking asking{.group = std::string(ask.group),
                  .route = std::string(ask.route),
                  .count = ask.count,
                  .weight = ask.weight,
                  .more = ask.more + units_besides(calls_.args(), ask),
                  .base = shadow_->remembered(now),
                  .cost = ask.cost};
    if (kept_.any() && !kept_.reserve(now, asking, booking)) return true;
    const auto id = pending_asks_.add(now, std::move(asking));
    if (send(now, id)) return false;
    kept_.release(pending_asks_.take(id));
  }
  recovery_.asked(now);
  answers_.alone(now, ask, booking);
  return true;
}

/// False: Redis is down.
bool SharedLimiter::send(Time now, PendingAsks::Id id) {
  reports_.tell_overdue();
  Asking& asking = pending_asks_.find(id);
  asking.former_places.reset();
  asking.epoch = shadow_->all().epoch();
  permits_.clear();
  asking.claims = semaphores_.claim(asking.lane(), permits_);
  asking.told = calls_.now();
  const UpstreamCalls::Book book{.alive = fleet_.alive(),
                                 .touch = touch_due(calls_, now),
                                 .has_unknown = shadow_->has_unknown(),
                                 .group = asking.group,
                                 .route = asking.route,
                                 .count = asking.count,
                                 .load = asking.load(),
                                 .more = asking.more,
                                 .permits = permits_,
                                 .without = asking.without};
  if (calls_.book(now, book, [self = self_.ref(), id](const Outcome& outcome, Time sent) {
        if (self) self->answered(id, outcome, sent);
      })) {
    return true;
  }
  semaphores_.failed(asking.lane(), asking.claims);
  return false;
}

// ---- its reply ------------------------------------------------------------------------------------------------------

void SharedLimiter::answered(PendingAsks::Id id, const Outcome& outcome, Time sent) {
  if (!outcome) {
    const Asking& failed = pending_asks_.find(id);
    if (quarantine_.met(failed.lane(), failed.without, outcome.error())) return ask_without(id);
  }
  const Asking asking = pending_asks_.take(id);
  const BookReply* const reply = read(outcome, asking.count, asking.claims.size(), sent);
  if (reply && reply->status == Status::ok) {
    calls_.memory().enter(reply->generation);
    reply_.name_limits(asking.former_places ? *asking.former_places : calls_.args().routes().places_of(asking.lane()));
    if (stops_route(limits_, reply_, calls_.args().routes().share_line(asking.route))) reply_.scope = Scope::route;
    grants_.take_permits(asking, reply_);
    return asking.late ? grants_.take_back(asking, reply_) : apply_reply(asking);
  }
  const bool foreign = !outcome && outcome.error().kind == FailureKind::corrupt;
  if (foreign) notices_.complain(outcome.error().text);
  semaphores_.failed(asking.lane(), asking.claims, foreign);
  if (!reply) {
    fallback_.count_sharers();
    fallback_.divide();
  } else if (calls_.connected() && !recovery_.heard_otherwise(*reply) && !asking.late) {
    kept_.release(asking);  // its generation was lost and found meanwhile: the lane may ask again at once
    Booking& booking = answers_.booking();
    booking.clear();
    booking.scope = Scope::group;
    booking.ask_again = calls_.now();
    return answers_.pass_on(asking.lane());
  }
  if (!asking.late) answers_.alone(asking);
}

/// Any reply of the booking script is handed to those that learn from each, whatever was asked.
const BookReply* SharedLimiter::read(const Outcome& outcome, std::size_t count, std::size_t semaphores, Time sent) {
  if (!calls_.worked(outcome)) return nullptr;
  const bool is_reply = read_book_reply(*outcome, count, reply_);
  if (!is_reply || (reply_.status == Status::ok && !Semaphores::plausible(reply_.permits, semaphores))) {
    notices_.complain("Redis answers something else than was asked for");
    recovery_.refused();
    return nullptr;
  }
  reply_.sent = sent;
  reply_.received = calls_.now();
  calls_.on_reply(reply_);
  shadow_->set_clock(static_cast<flow::Instant>(calls_.clock().at_zero()));
  semaphores_.leases().set_clock(calls_.clock().at_zero(), calls_.clock().usual_round_trip());
  fleet_.on_reply(reply_);
  notices_.on_reply(reply_);
  return &reply_;
}

/// Messages come over a connection of their own and may overtake the reply that tells to wait for them. Then the lane
/// asks again at once, since that reply may have come too late.
void SharedLimiter::apply_reply(const Asking& asking) {
  const Time now = calls_.now();
  Booking& booking = answers_.booking();
  grants_.book(asking, reply_, booking);
  fleet_.on_answer(reply_, calls_.clock());
  seen_.line().is_old();
  if (asking.called && booking.stop == Stop::turn && (booking.ask_again != 0 || booking.departures.empty())) {
    booking.ask_again = now;
  }
  if (reply_.limited_by() == flow::kPause && reply_.not_before != 0) {
    pauses_.learn(now, asking.group, booking.not_before);
  }
  if (calls_.connected()) {
    recovery_.tell_unknown();
    shadow_->come_back(now);
    if (asking.weight > 0) {
      wait_list_.answered(asking.lane(), lines_of(calls_, asking.lane()), booking);
      counter_resets_.answered(now, asking.lane(), booking);
    }
  }
  if (asking.former_places) {
    leave_former_line(calls_, asking);
    wait_list_.forget_times();
    Grants::forget_wait(asking, now, booking);
  } else {
    const auto departures = static_cast<std::int64_t>(reply_.departures.size());
    fallback_.note_left(
        reply_, asking.lane(),
        {.departures = departures, .units = departures * asking.weight, .cost = departures * asking.cost});
  }
  answers_.pass_on(asking.lane());
}

/// Sends the same ask once more without the quarantined limits, within its remaining time. Waiting lanes are woken,
/// since one of these limits may have told them to wait.
void SharedLimiter::ask_without(PendingAsks::Id id) {
  const Time now = calls_.now();
  Asking& asking = pending_asks_.find(id);
  Booking& booking = answers_.booking();
  semaphores_.failed(asking.lane(), asking.claims);
  booking.clear();
  if (asking.late) {
    pending_asks_.take(id);
  } else if (!calls_.connected()) {
    answers_.alone(pending_asks_.take(id));
  } else if (kept_.release(asking); !kept_.reserve(now, asking, booking)) {
    answers_.pass_on(pending_asks_.take(id).lane());
  } else if (!send(now, id)) {
    answers_.alone(pending_asks_.take(id));
  }
  wait_list_.wake(events_);
}

// ---- what else happens ----------------------------------------------------------------------------------------------

Time SharedLimiter::lead() const {
  return calls_.connected() ? 2 * calls_.clock().usual_round_trip() + kEdge : flow::kHorizon;
}

/// Both this process's memory of its own departures and what Redis told last are lower bounds. While some limits are
/// quarantined, the memory has them divided, also for groups that share theirs; it is not used then.
Time SharedLimiter::ahead(Time now, flow::LaneKey lane, std::int64_t units, const flow::OtherUnits& others) const {
  const Time told = wait_list_.not_before(lines_of(calls_, lane));
  if (calls_.connected() && !quarantine_.empty()) return std::max(now, told);
  return std::max(shadow_->all().ahead(now, lane, units, others), told);
}

/// By what Redis told last of all processes. For limits of groups, only this process's own memory is known.
Time SharedLimiter::expected(Time now, flow::LaneKey lane, const flow::Load& load, std::int64_t units,
                             const flow::OtherUnits& others) const {
  if (!calls_.connected()) return shadow_->all().expected(now, lane, load, units, others, {});
  const Time told = ahead(now, lane, 0, 0);
  if (!quarantine_.empty()) return told;
  return std::max({told, fleet_.expected(now, lane, load, units, others),
                   shadow_->all().expected(now, lane, load, units, others, fleet_.others())});
}

/// By this process's own memory, and what Redis told of all processes: when that was asked for, or else last. Where it
/// has told nothing yet, nothing is known. Without Redis, as asks are answered then.
std::unique_ptr<flow::RehearsedLimiter> SharedLimiter::rehearsal(Time now,
                                                                 std::span<const std::string_view> groups) const {
  if (!calls_.connected()) return fallback_.rehearsal(now, groups);
  auto copy = shadow_->all().rehearsal(now, groups);
  if (!quarantine_.empty()) return copy;
  const LineLook::Seen* const seen = seen_.line().seen(now);
  if (!seen && !fleet_.has_told()) return nullptr;
  copy->answer_as_redis(calls_.clock().usual_round_trip(), lead());
  seen ? copy->share_with(seen->line, now) : copy->share_with(fleet_.others(), now);
  copy->add(seen ? seen->limits->limits() : fleet_.whole(), seen != nullptr);
  // An estimate of Redis counts others in; where these are known, they are counted once.
  copy->hold_by([this, plays_others = copy->plays_others()](flow::LaneKey lane) {
    const WaitList::Told told = wait_list_.told(lines_of(calls_, lane));
    const bool is_counted = plays_others && told.scope == Scope::upstream;
    return flow::RehearsedLimiter::Told{is_counted ? 0 : told.not_before, flow::kNoLimit, told.scope};
  });
  return copy;
}

void SharedLimiter::give_back(Time now, flow::LaneKey lane, const flow::Departure& departure) {
  shadow_->give_back(now, lane, departure);
  semaphores_.ended(lane);
  if (!calls_.connected() || departure.in_redis <= 0) return;
  reports_.give_back(lane, departure.in_redis, departure.load(), departure.epoch);
}

flow::Departure SharedLimiter::report_late(flow::LaneKey lane, flow::Departure departure, Time at) {
  departure = shadow_->report_late(lane, departure, at);
  reports_.move(lane, departure);
  return departure;
}

/// Redis calls the lanes that wait for what it has back, also those of this process.
bool SharedLimiter::settle(Time now, flow::LaneKey lane, const flow::Departure& departure, int cost) {
  const bool was_less = shadow_->settle(now, lane, departure, cost);
  reports_.settle(lane, departure, cost);
  return was_less && (!calls_.connected() || kept_.own());
}

void SharedLimiter::refused(Time now, flow::LaneKey lane, const flow::Departure& departure) {
  shadow_->refused(now, lane, departure);
  reports_.refused(lane, departure);
}

/// A limit of this process learns here. A shared one learns in Redis alone, which has what all have sent.
void SharedLimiter::learned(Time now, flow::LaneKey lane, const flow::Departure& departure,
                            const flow::Report& report) {
  if (!limits_[static_cast<std::size_t>(report.limit)].shared) shadow_->learned(now, lane, departure, report);
  reports_.learned(lane, departure, report);
}

bool SharedLimiter::landed(Time now, flow::LaneKey lane) {
  const bool at_hand = semaphores_.ended(lane);
  const bool freed = shadow_->all().landed(now, lane);
  return at_hand || (freed && (!calls_.connected() || kept_.own()));  // Redis itself tells whose reservation is due
}

void SharedLimiter::cancel_wait(Time, Scope scope, flow::LaneKey lane) {
  semaphores_.gave_up(lane);
  const LaneLines lines = lines_of(calls_, lane);
  if (!wait_list_.give_up(scope, lines) || !calls_.connected()) return;
  calls_.cancel_wait(scope == Scope::upstream ? std::string_view() : std::string_view(lines.line));
}

void SharedLimiter::pause(Time now, std::string_view group, Time until) {
  pauses_.begin(now, group, until);
  messages_.tell_begun(group, until - now);
}

bool SharedLimiter::shorten_pauses(Time, Time latest) {
  wait_list_.forget_times();
  return pauses_.shorten(latest);
}

bool SharedLimiter::has_room_for(std::string_view group) const { return shadow_->all().has_room_for(group); }

bool SharedLimiter::forgettable(Time now) const {
  const bool agreed = quarantine_.empty() && !shadow_->has_unknown();
  return agreed && pauses_.none(now) && shadow_->all().forgettable(now);
}

/// Redis keeps states under the names of limits, and every call tells the parameters. So a call sent from now on is
/// about the new limits, and the reply to an earlier call is read by the numbers that limits had then.
void SharedLimiter::change(Time now, const std::vector<LimitConfig>& limits) {
  reports_.tell_now();
  const auto moved = flow::limit_remap(limits_, limits);
  pending_asks_.each([this](Asking& one) {
    if (!one.former_places) one.former_line = lines_of(calls_, one.lane()).line;
  });
  pending_asks_.change([this](flow::LaneKey lane) { return calls_.args().routes().places_of(lane); }, moved);
  const auto before = std::exchange(limits_, limits);
  calls_.change(limits_);
  for (const auto& line : wait_list_.leave_former([this](flow::LaneKey lane) { return lines_of(calls_, lane); })) {
    if (calls_.connected()) calls_.cancel_wait(line);
  }
  fleet_.change(limits_);
  quarantine_.change(moved);
  shadow_->change(now, quarantine_.by_part());
  reports_.change(before, moved, shadow_->all().epoch());
  seen_.change();
  kept_.change();
  recovery_.change(limits_);
  counter_resets_.change(before, moved);
  semaphores_.leases().change(limits_);
  wait_list_.forget_times();
  owner_.standing_changed();
}

void SharedLimiter::count_existing(Time now, flow::LaneKey lane, std::size_t departures) {
  shadow_->all().count_existing(now, lane, departures);
  semaphores_.count_existing(lane, departures);
}

void SharedLimiter::message(std::string_view words) {
  const Time now = calls_.now();
  messages_.message(words);
  const auto begins = [words](std::string_view word) { return words.starts_with(word); };
  if (begins(PermitCalls::kMessage)) return permit_calls_.message(words.substr(PermitCalls::kMessage.size()));
  if (begins(UpstreamPauses::kMessage)) return pauses_.message(words.substr(UpstreamPauses::kMessage.size()));
  if (!calls_.connected()) return;
  if (words == Recovery::kLost) recovery_.hear_memory_lost(now, forgettable(now));
  if (words == kBack && wait_list_.in_use(now)) recovery_.look(now);
  if (words == kAllBack) wait_list_.wake(events_);
  if (words == LineLook::kMessage) return seen_.line().report(events_);
  if (!begins(kLine)) return;
  const auto key = words.substr(std::min(words.size(), kLine.size() + 1));
  pending_asks_.called(
      [&](flow::LaneKey lane) { return key.empty() || std::string_view(lines_of(calls_, lane).line) == key; });
  wait_list_.call(key, events_);
}

/// Whatever was sent to this process meanwhile is lost: those that would wait for long ask again.
void SharedLimiter::set_subscribed(bool subscribed) {
  PermitLeases& leases = semaphores_.leases();
  const bool is_new = subscribed && !leases.pauses().subscribed();
  leases.set_subscribed(subscribed);
  if (is_new && calls_.connected()) wait_list_.call_later_than(calls_.now() + kLong, events_);
}

void SharedLimiter::left_redis() {
  counter_resets_.clear();
  semaphores_.leases().redis_gone();
  owner_.standing_changed();
  wait_list_.wake(events_);
}

void SharedLimiter::joined_redis() {
  shadow_->come_back(calls_.now());
  semaphores_.leases().redis_back();
  pauses_.tell_unsent();
  owner_.standing_changed();
  wait_list_.wake(events_);
}

}  // namespace penstock::redis
