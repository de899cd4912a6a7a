// SPDX-License-Identifier: Apache-2.0
// Judge, queue, start, end.
#include "proxy/dispatcher.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "http/credentials.h"
#include "http/forwarding.h"
#include "http/front.h"
#include "http/retry_after.h"
#include "proxy/flight.h"
#include "proxy/queue_refusal.h"
#include "proxy/tunnel.h"
#include "proxy/upgrade.h"

namespace penstock::proxy {

namespace {
constexpr std::size_t kBodyInFlight = 64 * 1024;
}  // namespace

Dispatcher::Dispatcher(Services services)
    : services_(std::move(services)),
      admission_(services_),
      destinations_(services_, *this),
      memory_(services_.config.caps),
      serial_((static_cast<std::uint64_t>(std::random_device{}()) << 32) | std::random_device{}()) {}

Dispatcher::~Dispatcher() = default;

// A request's way in.

std::optional<Admission::Opening> Dispatcher::opening(const http::RequestHead& head, bool steers) const {
  return draining_ || head.method != "CONNECT" ? std::nullopt : admission_.opening(head, steers);
}

Exchange* Dispatcher::accept(Requester& requester, http::RequestHead&& head, const http::Target* outside,
                             Admission::Tunnels tunnels) {
  auto made = std::make_unique<Exchange>(requester, std::move(head));
  Exchange& exchange = *made;
  exchange.arrived = services_.loop.now();
  exchange.body.whole = !exchange.head.has_body();
  exchange.name = next_name();
  exchange.user = requester.user();
  exchange.number = exchanges_.add(std::move(made));
  const bool steers = requester.steers();
  if (!steers && http::has_steering(exchange.head.fields)) ++steering_dropped_;
  const auto admitted =
      admission_.judge(exchange.head, outside, exchange.target, {.steers = steers, .tunnels = tunnels});
  if (!admitted) return refuse(exchange, admitted.error());
  exchange.weight = admitted->steering.weight;
  if (const auto why_not = find_place(exchange, admitted->entry)) return refuse(exchange, *why_not);
  return enter(exchange, admitted->steering);
}

/// One that starts at once takes no place in the queue, and none of the queue's memory. One for which there is no
/// memory may not wait: it is refused before another makes room for it.
Exchange* Dispatcher::enter(Exchange& exchange, const http::Steering& steering) {
  Destination& destination = *exchange.destination;
  const auto number = exchange.number;
  exchange.memory_full = memory_.full_for(exchange);
  const bool may_wait = exchange.memory_full == Exchange::MemoryFull::no;
  const bool in_need = may_wait && !destination.grouping && destination.heart.queue_full();
  const Exchange* const other = in_need ? destination.shares.in_place_of(exchange) : nullptr;
  moved_by(destination, [&](flow::Time, flow::Commands& commands) {
    std::optional<flow::Time> max_wait;
    if (steering.max_wait) max_wait = steering.max_wait->count();
    if (!may_wait) max_wait = 0;
    const flow::Newcomer newcomer{.id = exchange.number,
                                  .weight = exchange.weight,
                                  .group = exchange.group,
                                  .max_wait = max_wait,
                                  .tunnel = exchange.may_rest(),
                                  .anonymous = exchange.anonymous,
                                  .in_place_of = other ? other->ticket : flow::Ticket{}};
    exchange.ticket = destination.heart.arrive(exchange.arrived, newcomer, commands);
  });
  Exchange* const entered = exchanges_.find(number);
  if (!entered || entered->stage != Exchange::Stage::pending) return entered;
  if (!may_wait) {  // it waits for an answer of Redis
    const auto wait = destination.heart.retry_after(entered->arrived, entered->group, entered->weight);
    return refuse(*entered, refusal_of(entered->memory_full, wait));
  }
  memory_.charge(*entered, entered->bytes());
  if (!destination.grouping) destination.shares.waits(*entered);
  return entered;
}

std::optional<http::Refusal> Dispatcher::find_place(Exchange& exchange, std::size_t entry) {
  if (draining_) return refusal_of_draining();
  exchange.destination = &destinations_.find_or_make(exchange.target, entry);
  if (auto too_heavy = exchange.destination->judge_weight(exchange.weight)) return too_heavy;
  if (const auto& grouping = exchange.destination->grouping) {
    exchange.group = exchange.destination->group_of(exchange.target, exchange.head.fields);
    exchange.group_label = grouping->label(exchange.group);
  }
  exchange.anonymous = !exchange.target.tunnel && !http::has_credentials(exchange.head.fields);
  return std::nullopt;
}

Exchange* Dispatcher::refuse(Exchange& exchange, const http::Refusal& why_not) {
  const auto wording = http::wording(why_not.why);
  exchange.requester.answer_refusal(why_not);
  end(exchange, {.kind = EventKind::refused,
                 .outcome = Outcome::refused,
                 .status = why_not.status_code(),
                 .error = wording.token,
                 .detail = why_not.details,
                 .refusal = wording.kind});
  return nullptr;
}

// What the heart commands.

template <typename Call>
void Dispatcher::moved_by(Destination& destination, Call call) {
  destination.last_used = services_.loop.now();
  destination.count_late(destination.last_used);
  call(destination.last_used, destination.commands);
  if (!destination.being_served) carry_out(destination);
}

void Dispatcher::move(Destination& destination, const Change& change) { moved_by(destination, change); }

// The youngest first: they have done the least. What is booked and has not left holds a permit too, and cannot be cut:
// where more are lost than fly, the rest is cut in flight, when the booker next looks, a part of a lease later.
void Dispatcher::cut(Destination& destination, flow::Booking::Scope scope, std::string_view group, std::size_t count) {
  std::vector<std::pair<std::int64_t, ExchangeTable::Id>> flying;
  for (const auto number : exchanges_.ids()) {
    const Exchange& exchange = *exchanges_.find(number);
    const bool meant = exchange.destination == &destination && exchange.flight && !exchange.rests &&
                       (scope == flow::Booking::Scope::upstream || exchange.group == group);
    if (meant) flying.emplace_back(exchange.took_off, number);
  }
  std::sort(flying.rbegin(), flying.rend());
  flying.resize(std::min(count, flying.size()));
  const http::Refusal lost{.why = http::Why::lease_lost,
                           .details = destination.name + " lease_lost: its permit could not be renewed (redis)"};
  for (const auto& [took_off, number] : flying) {
    Exchange* exchange = exchanges_.find(number);
    if (exchange && exchange->flight) exchange->flight->break_off(lost);
  }
}

void Dispatcher::carry_out(Destination& destination) {
  destination.being_served = true;
  while (!destination.commands.empty()) {
    std::swap(destination.commands, destination.carrying);
    for (const auto& command : destination.carrying.start) start(command);
    for (const auto& command : destination.carrying.refuse) refuse_pending(command);
    for (const auto number : destination.carrying.resume) go_on(number);
    for (const auto number : destination.carrying.close) make_room(number);
    destination.carrying.clear();
  }
  destination.being_served = false;
  destination.sleep();
}

void Dispatcher::start(const flow::Commands::Start& command) {
  Exchange* exchange = exchanges_.find(command.id);
  if (!exchange) return;
  if (exchange->stage == Exchange::Stage::pending) {
    exchange->stage = Exchange::Stage::in_flight;
    exchange->took_off = services_.loop.now();
    exchange->waited = command.waited;
    exchange->limited_by = command.limited_by;
    take_slot(*exchange);
    auto& totals = exchange->destination->totals;
    ++totals.dispatched;
    if (exchange->target.tunnel && !exchange->destination->settings.limits.empty()) ++totals.tunnels_past_limits;
    emit(*exchange, {.kind = EventKind::dispatch, .outcome = Outcome::none});
  }
  exchange->departure = command.departure;
  exchange->leaving.emplace(exchange->destination->late, exchange->group, exchange->departure);
  exchange->destination->watch_late();
  exchange->flight = journey_for(*exchange);
  exchange->requester.body_wanted();
  exchange->flight->take_off();
}

/// It waits no more.
void Dispatcher::take_slot(Exchange& exchange) {
  memory_.charge(exchange, 0);
  auto& shares = exchange.destination->shares;
  shares.leave(exchange);
  if (!exchange.body.whole && !exchange.destination->grouping) shares.uploads(exchange);
}

std::unique_ptr<Journey> Dispatcher::journey_for(Exchange& exchange) {
  if (exchange.target.tunnel) return std::make_unique<Tunnel>(services_, *this, exchange, tunnels_);
  if (!exchange.head.upgrade.empty())
    return std::make_unique<Upgrade>(services_, *this, exchange, tunnels_, identities_);
  return std::make_unique<Flight>(services_, *this, exchange);
}

void Dispatcher::refuse_pending(const flow::Commands::Refuse& command) {
  Exchange* exchange = exchanges_.find(command.id);
  if (!exchange) return;
  exchange->waited = command.waited;
  exchange->limited_by = command.limited_by;
  exchange->ticket = {};  // the heart has forgotten it
  const auto now = services_.loop.now();
  // Without memory it was given no time to wait, so it is told of the memory.
  const bool for_want_of_memory = exchange->memory_full != Exchange::MemoryFull::no &&
                                  (command.why == flow::Refused::queue_full || command.why == flow::Refused::wait_over);
  if (for_want_of_memory) {
    const auto late = exchange->destination->lateness(command.limited_by, now);
    refuse(*exchange, refusal_of(exchange->memory_full, command.retry_after + late));
  } else {
    refuse(*exchange, refusal_of(command, *exchange->destination, now));
  }
}

void Dispatcher::heed(const Exchange& exchange, const http::ResponseHead& head) {
  Destination& destination = *exchange.destination;
  if (destination.settings.obey != Obey::retry_after) return;
  const auto pause = http::retry_after(head, services_.loop.wall());
  if (!pause || *pause <= Duration{0}) return;
  const auto now = services_.loop.now();
  const auto until = now + std::min(*pause, destination.settings.max_pause).count();
  destination.pause(now, exchange.group, until, exchange.anonymous ? Pausing::anonymous : Pausing::all);
}

/// What the hearts command speaks of the new limits: it is carried out when all exchanges do.
void Dispatcher::change() {
  const auto tables = admission_.change();
  identities_.forget();
  destinations_.change(services_.loop.now());
  for (const auto number : exchanges_.ids()) {
    Exchange& exchange = *exchanges_.find(number);
    if (http::has_front(exchange.target) && !exchange.tables) exchange.tables = tables;
    if (exchange.destination) exchange.destination->renumber(exchange.limited_by, exchange.departure);
    if (exchange.flight) exchange.flight->keep_time();
  }
  destinations_.visit([this](Destination& destination) {
    destination.renumbered();
    if (!destination.being_served) carry_out(destination);
  });
}

// The ends.

void Dispatcher::completed(Exchange& exchange) {
  const int status = exchange.flight->status();
  end(exchange, {.kind = EventKind::complete,
                 .outcome = status < 400 ? Outcome::success : Outcome::http_error,
                 .status = status});
}

void Dispatcher::failed(Exchange& exchange, http::Why why, std::string_view details, Outcome outcome) {
  const auto wording = http::wording(why);
  const bool answered = exchange.flight && exchange.flight->answered();
  end(exchange, {.kind = EventKind::error,
                 .outcome = outcome,
                 .status = answered ? exchange.flight->status() : wording.status,
                 .error = wording.token,
                 .detail = details});
}

void Dispatcher::stalled(Exchange& exchange, std::string_view details) {
  exchange.requester.answer_broken();
  end(exchange, {.kind = EventKind::error,
                 .outcome = Outcome::client_gone,
                 .status = exchange.flight->status(),
                 .detail = details});
}

void Dispatcher::reject(Exchange& exchange, const http::Refusal& why_not) {
  if (exchange.stage == Exchange::Stage::pending) {
    note_wait(exchange);
    refuse(exchange, why_not);
    return;
  }
  const bool answered = exchange.flight && exchange.flight->answered();
  if (answered) {
    exchange.requester.answer_broken();
  } else {
    exchange.requester.answer_refusal(why_not);
  }
  end(exchange, {.kind = EventKind::error,
                 .outcome = Outcome::client_gone,
                 .status = answered ? exchange.flight->status() : why_not.status_code(),
                 .error = http::wording(why_not.why).token,
                 .detail = why_not.details});
}

void Dispatcher::abandon(Exchange& exchange) {
  if (exchange.stage == Exchange::Stage::pending) {
    note_wait(exchange);
    return end(exchange, {.kind = EventKind::gone, .outcome = Outcome::client_gone_pending});
  }
  const int status = exchange.flight ? exchange.flight->status() : 0;
  end(exchange,
      {.kind = EventKind::error, .outcome = Outcome::client_gone, .status = status, .detail = "the client left"});
}

/// It was pending until now: for how long, and because of what.
void Dispatcher::note_wait(Exchange& exchange) const {
  exchange.waited = services_.loop.now() - exchange.arrived;
  exchange.limited_by = exchange.destination->heart.limited_by(exchange.arrived + exchange.waited, exchange.ticket);
}

void Dispatcher::again(Exchange& exchange) {
  Destination& destination = *exchange.destination;
  exchange.sent_again = true;
  exchange.leaving.reset();
  exchange.flight.reset();
  moved_by(destination,
           [&](flow::Time now, flow::Commands& commands) { destination.heart.again(now, exchange.ticket, commands); });
}

/// Every exchange ends here: told of first, then its slot is free, then whoever waited for the slot starts.
void Dispatcher::end(Exchange& exchange, const Ending& ending) {
  emit(exchange, ending);
  memory_.charge(exchange, 0);
  if (exchange.destination) exchange.destination->shares.leave(exchange);
  Destination* destination = exchange.destination;
  const auto ticket = exchange.ticket;
  const bool landing = exchange.flight != nullptr;
  exchanges_.remove(exchange.number);  // and with it the transfer
  if (destination) {
    count(destination->totals, ending.outcome);
    moved_by(*destination, [&](flow::Time now, flow::Commands& commands) {
      // The heart knows nothing of one that it has refused itself, or has never seen: such a ticket is dead.
      if (landing) return destination->heart.land(now, ticket, commands);
      destination->heart.leave(now, ticket, commands);
    });
  }
  if (draining_) when_drained();
}

void Dispatcher::count(Totals& totals, Outcome outcome) {
  switch (outcome) {
    case Outcome::none: break;
    case Outcome::success: ++totals.success; break;
    case Outcome::http_error: ++totals.http_error; break;
    case Outcome::upstream_error: ++totals.upstream_error; break;
    case Outcome::client_gone: ++totals.client_gone; break;
    case Outcome::client_gone_pending: ++totals.client_gone_pending; break;
    case Outcome::refused: ++totals.refused; break;
  }
}

// Bodies, both ways.

void Dispatcher::body_came(Exchange& exchange) {
  if (exchange.stage == Exchange::Stage::pending) {
    memory_.charge(exchange, exchange.bytes());
  } else if (exchange.body.whole && exchange.share != Exchange::Share::none) {
    exchange.destination->shares.leave(exchange);
  }
  if (exchange.flight) exchange.flight->body_came();
}

bool Dispatcher::wants_body(const Exchange& exchange) const {
  if (exchange.stage == Exchange::Stage::in_flight) return exchange.body.size() < kBodyInFlight;
  return !exchange.head.expect_continue && exchange.body.size() < services_.config.caps.pending_body_bytes &&
         memory_.has_room_for_bodies();
}

void Dispatcher::resume(Exchange& exchange) {
  if (exchange.flight) exchange.flight->resume();
}

// What is told.

Event Dispatcher::describe(const Exchange& exchange, EventKind kind) const {
  Event event{.kind = kind, .wall = services_.loop.wall(), .at = services_.loop.now()};
  event.id = exchange.id();
  event.user = exchange.user;
  event.method = exchange.head.method;
  event.host = exchange.target.host;
  event.path = exchange.target.path();
  event.tunnel = exchange.target.tunnel;
  event.upgrade = exchange.head.upgrade;
  event.weight = exchange.weight;
  if (const auto* destination = exchange.destination) {
    event.entry = destination->entry;
    event.upstream = destination->name;
    event.group = exchange.group_label;
    event.limited_by = destination->limit_name(exchange.limited_by);
    // The heart is told after the world is.
    const bool leaves = kind == EventKind::gone || (kind == EventKind::refused && exchange.ticket != flow::Ticket{});
    event.pending = destination->heart.pending() - (leaves ? 1 : 0);
    const bool lands = (kind == EventKind::complete || kind == EventKind::error) && !exchange.rests;
    event.in_flight = destination->heart.in_flight() - (lands ? 1 : 0);
    event.wait = Duration{exchange.waited};
  }
  if (exchange.took_off != 0 && kind != EventKind::dispatch) event.flight = Duration{event.at - exchange.took_off};
  if (exchange.flight) exchange.flight->describe(event);
  return event;
}

void Dispatcher::emit(const Exchange& exchange, const Ending& ending) {
  Event event = describe(exchange, ending.kind);
  event.outcome = ending.outcome;
  event.status = ending.status;
  event.error = ending.error;
  event.detail = ending.detail;
  event.refusal = ending.refusal;
  services_.events(event);
}

std::array<char, 11> Dispatcher::next_name() {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::array<char, 11> name;
  std::uint64_t rest = ++serial_;
  for (auto digit = name.rbegin(); digit != name.rend(); ++digit, rest >>= 6) *digit = kDigits[rest & 63];
  return name;
}

void Dispatcher::snapshot(Snapshot& into) const {
  into.draining = draining_;
  into.steering_dropped = steering_dropped_;
  into.pending_bytes = memory_.bytes();
  into.tunnels = tunnels_;
  const auto add = [&](const Destination& destination) {
    const auto& heart = destination.heart;
    into.upstreams.push_back({.name = destination.name,
                              .entry = destination.entry,
                              .pending = heart.pending(),
                              .in_flight = heart.in_flight(),
                              .max_concurrent = destination.settings.max_concurrent,
                              .busy_tunnels = heart.busy_tunnels(),
                              .resting_tunnels = heart.resting(),
                              .max_tunnels = tunnels_of(destination.settings),
                              .oldest_wait = Duration{heart.oldest_wait(services_.loop.now())},
                              .holds = destination.holds(services_.loop.now()),
                              .totals = destination.totals,
                              .handshakes = destination.handshakes});
  };
  destinations_.visit(add);
}

// Coming to rest.

void Dispatcher::drain(std::move_only_function<void()> when_empty) {
  draining_ = true;
  when_empty_ = std::move(when_empty);
  when_drained();
}

void Dispatcher::when_drained() {
  if (exchanges_.size() == 0 && when_empty_) std::exchange(when_empty_, nullptr)();
}

void Dispatcher::end_all() {
  draining_ = true;
  const auto stopped = refusal_of_draining();
  const auto all = exchanges_.ids();
  // Who waits goes first, lest a slot that becomes free starts them.
  for (const auto number : all) {
    Exchange* exchange = exchanges_.find(number);
    if (exchange && exchange->stage == Exchange::Stage::pending) reject(*exchange, stopped);
  }
  for (const auto number : all) {
    if (Exchange* exchange = exchanges_.find(number)) break_off(*exchange, stopped);
  }
}

void Dispatcher::break_off(Exchange& exchange, const http::Refusal& why) {
  if (exchange.flight) return exchange.flight->break_off(why);
  exchange.requester.answer_refusal(why);  // it waits to be sent again
  failed(exchange, why.why, why.details);
}

}  // namespace penstock::proxy
