// SPDX-License-Identifier: Apache-2.0
// An exchange's way through the dispatcher: judge, queue, start, end.
#include "proxy/dispatch/dispatcher.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "http/forwarding.h"
#include "http/gateway_rewrite.h"
#include "http/traceparent.h"
#include "proxy/dispatch/endings.h"
#include "proxy/dispatch/foresight.h"
#include "proxy/dispatch/queue_view.h"
#include "proxy/exchange/queue_refusal.h"

namespace penstock::proxy {

namespace {
constexpr std::size_t kBodyInFlight = 64 * 1024;

bool tells_id(const ProxyConfig& proxy, const http::Fields& request) {
  return proxy.request_id || http::wants_id(request);
}

/// Finds the exchange's upstream, queue and route, or why it may not wait there. foresee() judges in the same way.
std::optional<http::Refusal> find_place(Upstreams& upstreams, Exchange& exchange, std::size_t entry) {
  exchange.upstream = &upstreams.find_or_make(exchange.target, entry);
  ++exchange.upstream->exchanges;
  exchange.take_place();
  if (auto too_heavy = judge_weight(*exchange.upstream, exchange.route(), exchange.load.weight)) return too_heavy;
  return exchange.upstream->reach.judge();
}
}  // namespace

Dispatcher::Dispatcher(Services services)
    : services_(std::move(services)),
      admission_(services_),
      reporter_(services_),
      upstreams_(services_, *this),
      attempts_(services_, *this),
      memory_(services_.config.caps),
      resending_(services_, memory_),
      costs_(services_, memory_) {}

Dispatcher::~Dispatcher() = default;

// Entry of a request.

std::optional<Admission::Opening> Dispatcher::opening(const http::RequestHead& head, bool gives_hints) const {
  return draining_.under_way() || head.method != "CONNECT" ? std::nullopt : admission_.opening(head, gives_hints);
}

void Dispatcher::report_handshake(const HandshakeReport& what) {
  const auto entry = admission_.intercepting_entry(what.outside);
  reporter_.report_handshake(what, upstreams_.find_or_make(what.outside, entry));
}

std::optional<EventReporter::Name> Dispatcher::report_refused(const http::Refusal& refusal, const Stranger& from,
                                                              const http::Fields& request) {
  const auto id = reporter_.report_refused(refusal, from);
  return tells_id(services_.config.proxy, request) ? std::optional(id) : std::nullopt;
}

Exchange* Dispatcher::accept(ResponseSink& sink, http::RequestHead&& head, const http::Target* outside,
                             Admission::Tunnels tunnels) {
  auto made = std::make_unique<Exchange>(sink, std::move(head));
  Exchange& exchange = *made;
  exchange.arrived = services_.loop.now();
  exchange.body.whole = !exchange.head.has_body();
  exchange.name = reporter_.next_name();
  exchange.origin.user = sink.user();
  exchange.origin.client = sink.client_name();
  exchange.origin.trace = http::trace_id_of(exchange.head.fields);
  if (tells_id(services_.config.proxy, exchange.head.fields)) sink.tell_id(exchange.id());
  exchange.number = exchanges_.add(std::move(made));
  const bool gives_hints = sink.gives_hints();
  if (!gives_hints && http::has_hints(exchange.head.fields)) ++hints_dropped_;
  const auto admitted =
      admission_.judge(exchange.head, outside, exchange.target, {.gives_hints = gives_hints, .tunnels = tunnels});
  if (!admitted) return refuse(exchange, admitted.error());
  std::string().swap(exchange.head.target);  // all of it is in exchange.target now, and it may wait long
  if (exchange.may_rest()) exchange.origin.keep_client();
  exchange.load.weight = admitted->hints.weight;  // which a route may raise
  if (draining_.under_way()) return refuse(exchange, refusal_of_draining());
  if (const auto why_not = find_place(upstreams_, exchange, admitted->entry)) return refuse(exchange, *why_not);
  const auto enter_read = [this, number = exchange.number] {
    if (Exchange* const read = exchanges_.find(number)) enter(*read, read->load.cost->hints());
  };
  if (costs_.reads(exchange, admitted->hints, enter_read)) return &exchange;
  return enter(exchange, admitted->hints);
}

/// A request that starts at once takes no place in the queue and none of caps.pendingMemory. A request for which there
/// is no memory may not wait, and displaces no other request from a full queue.
Exchange* Dispatcher::enter(Exchange& exchange, const http::RequestHints& hints) {
  const Upstream& upstream = *exchange.upstream;
  UpstreamQueue& queue = *exchange.queue;
  const auto number = exchange.number;
  const auto now = services_.loop.now();
  costs_.enters(exchange);
  const HeldBytes& client = exchange.sink.held();
  memory_.judge(exchange.memory, client, exchange.bytes());
  const bool may_wait = exchange.memory.full() == PendingMemory::Full::no;
  const bool in_need =
      may_wait && !upstream.grouping() && queue.scheduler().pending() >= queue.settings.queue.max_pending;
  const flow::Ticket other = in_need ? queue.shares.in_place_of(client) : flow::Ticket{};
  const Duration longest = exchange.max_wait();
  const flow::Time may_stay = std::min(hints.max_wait.value_or(longest), longest).count();
  std::string lane;
  const bool sorted = queue.scheduler().gates().any() && !exchange.target.tunnel;
  if (sorted) lane = queue.lane_of(exchange.head.fields, exchange.group);
  const flow::Arrival arrival{.id = exchange.number,
                              .weight = exchange.load.weight,
                              .group = sorted ? lane : exchange.group,
                              .route = exchange.lane().route,
                              .max_wait = may_wait ? may_stay : 0,
                              .tunnel = exchange.may_rest(),
                              .in_place_of = other,
                              .cost = exchange.load.amount().cost};
  exchange.sendings.deadline = now + *arrival.max_wait;
  queue.arrive(now, arrival, exchange.ticket);
  Exchange* const entered = exchanges_.find(number);
  if (!entered || entered->stage != Exchange::Stage::pending) return entered;
  if (!may_wait) {  // still pending: the limiter waits for an answer of Redis
    const auto wait = queue.scheduler().retry_after(now, entered->lane(), entered->load.amount());
    return refuse(*entered, refusal_of(entered->memory.full(), wait));
  }
  memory_.charge(entered->memory, entered->sink.held(), entered->bytes());
  if (!upstream.grouping()) queue.shares.waits(entered->share, entered->sink.held(), entered->ticket);
  return entered;
}

std::expected<Foresight, http::Refusal> Dispatcher::ahead(const AheadQuery& query, Foresee what) {
  if (draining_.under_way()) return std::unexpected(refusal_of_draining());
  return foresee(services_, admission_, upstreams_, query, what);
}

Exchange* Dispatcher::refuse(Exchange& exchange, const http::Refusal& why_not) {
  const auto wording = http::wording(why_not.why);
  exchange.sink.answer_refusal(why_not);
  end(exchange, {.kind = EventKind::refused,
                 .outcome = Outcome::refused,
                 .status = why_not.status_code(),
                 .error = wording.token,
                 .detail = why_not.details,
                 .refusal = wording.kind});
  return nullptr;
}

// What an upstream decides.

// Aborts the youngest attempts first: they have done the least. A departure that is booked but not in flight holds a
// permit too, and cannot be cut. If more permits are lost than attempts are in flight, the limiter cuts the rest in
// flight at its next check, a part of a lease later.
void Dispatcher::on_permits_lost(const UpstreamQueue& queue, flow::Booking::Scope scope, flow::LaneKey lane,
                                 std::size_t count) {
  std::vector<std::pair<std::int64_t, ExchangeTable::Id>> flying;
  for (const auto number : exchanges_.ids()) {
    const Exchange& exchange = *exchanges_.find(number);
    const bool meant = exchange.queue == &queue && exchange.flight && !exchange.rests && exchange.is_in(scope, lane);
    if (meant) flying.emplace_back(exchange.took_off, number);
  }
  std::sort(flying.rbegin(), flying.rend());
  flying.resize(std::min(count, flying.size()));
  for (const auto& [took_off, number] : flying) {
    Exchange* exchange = exchanges_.find(number);
    if (!exchange || !exchange->flight) continue;
    const std::string details = exchange->upstream->name + " lease_lost: its permit could not be renewed (redis)";
    exchange->flight->abort({.why = http::Reason::lease_lost, .details = details});
  }
}

void Dispatcher::on_paused(UpstreamQueue& queue) {
  for (const auto number : queue.scheduler().waiting_at_no_gate()) {
    const Exchange* exchange = exchanges_.find(number);
    if (exchange && !exchange->target.tunnel) queue.sort(exchange->ticket, exchange->head.fields, exchange->group);
  }
}

void Dispatcher::on_start(const flow::Commands::Start& command) {
  Exchange* exchange = exchanges_.find(command.id);
  if (!exchange) return;
  // A request whose connection was dead already is sent once more at once: it kept its slot, and did not wait.
  const bool has_waited = exchange->stage == Exchange::Stage::pending || exchange->sendings.back_since != 0;
  if (const auto unreachable = has_waited ? exchange->upstream->reach.judge_start() : std::nullopt) {
    // Others that wait in the queue of the quota need not wait until its upstream can be reached.
    exchange->queue->turn_back(std::exchange(exchange->ticket, {}), command.departure);
    if (exchange->sendings.back_since != 0) {
      resending_.has_waited(*exchange, command.limited_by);
      return give_last_answer(*exchange, *unreachable);
    }
    exchange->waited = command.waited + exchange->load.waited_for_body();
    exchange->limited_by = command.limited_by;
    return void(refuse(*exchange, *unreachable));
  }
  WouldWait would_wait = exchange->queue->take(exchange->departure, exchange->lane(), exchange->route().limits,
                                               command.departure, exchange->max_wait());
  would_wait.limit = exchange->upstream->own_name(would_wait.limit);
  if (exchange->stage == Exchange::Stage::pending) {
    exchange->stage = Exchange::Stage::in_flight;
    exchange->took_off = services_.loop.now();
    exchange->waited = command.waited + exchange->load.waited_for_body();
    exchange->limited_by = command.limited_by;
    memory_.release(exchange->memory);
    exchange->leave_shares();
    auto& totals = exchange->upstream->totals;
    ++totals.dispatched;
    if (exchange->target.tunnel) ++totals.tunnels;
    if (exchange->target.tunnel && !exchange->upstream->settings.limits.empty()) ++totals.tunnels_past_limits;
    reporter_.report(*exchange, {.kind = EventKind::dispatch, .outcome = Outcome::none, .would_wait = would_wait});
    resending_.takes_off(*exchange);
  } else if (exchange->sendings.back_since != 0) {
    resending_.takes_off_again(*exchange, command.limited_by);
  }
  exchange->flight = attempts_.make(*exchange);
  exchange->sink.body_wanted();
  exchange->flight->take_off();
}

void Dispatcher::on_refuse(const flow::Commands::Refuse& command) {
  Exchange* exchange = exchanges_.find(command.id);
  if (!exchange) return;
  exchange->ticket = {};  // the scheduler has forgotten it
  const auto now = services_.loop.now();
  if (exchange->sendings.back_since != 0) {
    resending_.has_waited(*exchange, command.limited_by);
    return give_last_answer(*exchange, refusal_of(command, *exchange->upstream, *exchange->queue, now));
  }
  exchange->waited = command.waited + exchange->load.waited_for_body();
  exchange->limited_by = command.limited_by;
  // For want of memory the exchange was given no time to wait, so the refusal names the memory.
  const bool for_want_of_memory = exchange->memory.full() != PendingMemory::Full::no &&
                                  (command.why == flow::Refused::queue_full || command.why == flow::Refused::wait_over);
  if (for_want_of_memory) {
    const auto late = exchange->queue->lateness(command.limited_by, now);
    refuse(*exchange, refusal_of(exchange->memory.full(), command.retry_after + late));
  } else {
    refuse(*exchange, refusal_of(command, *exchange->upstream, *exchange->queue, now));
  }
}

void Dispatcher::on_resume(flow::RequestId id) {
  Exchange* exchange = exchanges_.find(id);
  if (!exchange) return;
  exchange->rests = false;
  exchange->flight->go_on();
}

void Dispatcher::on_close(flow::RequestId id) {
  Exchange* exchange = exchanges_.find(id);
  if (!exchange) return;
  exchange->ticket = {};  // the scheduler has forgotten it
  exchange->flight->make_room();
}

/// What the schedulers decide refers to the new limits: it is carried out once all exchanges are renumbered.
void Dispatcher::change() {
  const auto tables = admission_.change();
  attempts_.change();
  upstreams_.change(services_.loop.now());
  for (const auto number : exchanges_.ids()) {
    Exchange& exchange = *exchanges_.find(number);
    if (http::has_front(exchange.target) && !exchange.tables) exchange.tables = tables;
    Costs::changed(exchange);
    if (exchange.queue) exchange.queue->renumber(exchange.limited_by, exchange.departure);
    if (exchange.flight) exchange.flight->keep_time();
  }
  upstreams_.renumbered();
}

std::optional<bool> Dispatcher::end_pauses(std::string_view upstream) {
  UpstreamQueue* const known = upstreams_.find_queue(upstream);
  return known ? std::optional(known->end_pauses()) : std::nullopt;
}

// The end of an exchange.

void Dispatcher::completed(Exchange& exchange, const AttemptResult& result) {
  end(exchange, {.kind = EventKind::complete,
                 .outcome = result.status < 400 ? Outcome::success : Outcome::http_error,
                 .status = result.status,
                 .result = result});
}

void Dispatcher::failed(Exchange& exchange, const AttemptFailure& failure, const AttemptResult& result) {
  const auto wording = http::wording(failure.why);
  if (exchange.flight && !exchange.departure.has_left()) {
    const bool is_there = exchange.queue == &exchange.upstream->queue();  // a change may have given it another queue
    exchange.upstream->reach.failed(is_there ? exchange.ticket : flow::Ticket{}, exchange.took_off, failure.why);
  }
  if (exchange.sendings.answer && !result.answered())
    return end(exchange, last_answer(exchange, wording.token, failure.details));
  end(exchange, {.kind = EventKind::error,
                 .outcome = failure.outcome,
                 .status = result.answered() ? result.status : wording.status,
                 .error = wording.token,
                 .detail = failure.details,
                 .result = result});
}

void Dispatcher::stalled(Exchange& exchange, std::string_view details, const AttemptResult& result) {
  exchange.sink.answer_broken();
  end(exchange, {.kind = EventKind::error,
                 .outcome = Outcome::client_gone,
                 .status = result.status,
                 .detail = details,
                 .result = result});
}

void Dispatcher::reject(Exchange& exchange, const http::Refusal& why_not) {
  if (exchange.stage == Exchange::Stage::pending) {
    note_wait(resending_, exchange, services_.loop.now());
    refuse(exchange, why_not);
    return;
  }
  if (exchange.sendings.back_since != 0) note_wait(resending_, exchange, services_.loop.now());
  const auto result = done_so_far(exchange);
  if (result.answered()) {
    exchange.sink.answer_broken();
  } else {
    exchange.sink.answer_refusal(why_not);
  }
  end(exchange, {.kind = EventKind::error,
                 .outcome = Outcome::client_gone,
                 .status = result.answered() ? result.status : why_not.status_code(),
                 .error = http::wording(why_not.why).token,
                 .detail = why_not.details,
                 .result = result});
}

void Dispatcher::abandon(Exchange& exchange) {
  if (exchange.stage == Exchange::Stage::pending) {
    note_wait(resending_, exchange, services_.loop.now());
    return end(exchange, {.kind = EventKind::gone, .outcome = Outcome::client_gone_pending});
  }
  if (exchange.sendings.back_since != 0) note_wait(resending_, exchange, services_.loop.now());
  const auto result = done_so_far(exchange);
  if (exchange.flight && exchange.flight->ends_with_client()) return completed(exchange, result);
  end(exchange, {.kind = EventKind::error,
                 .outcome = Outcome::client_gone,
                 .status = result.status,
                 .detail = "the client left",
                 .result = result});
}

/// A request that keeps its slot may wait as long as a pause lasts. So while there is one, it waits like others.
void Dispatcher::requeue(Exchange& exchange) {
  UpstreamQueue& queue = *exchange.queue;
  exchange.sendings.stale = true;
  costs_.attempt_ends(exchange, Costs::Answer::nothing);
  exchange.departure.drop();
  exchange.flight.reset();
  if (!exchange.is_paused(services_.loop.now())) return queue.requeue(exchange.ticket);
  resending_.waits_again(exchange, Again::no);
  queue.send_back(exchange.ticket, exchange.sendings.deadline, exchange.head.fields, exchange.group);
}

bool Dispatcher::send_again(Exchange& exchange, Again why, std::unique_ptr<KeptAnswer>& answer) {
  if (!resending_.takes_back(exchange, why, answer)) return false;
  costs_.attempt_ends(exchange, Costs::Answer::in_part);
  exchange.departure.drop();
  exchange.flight.reset();
  exchange.queue->send_back(exchange.ticket, exchange.sendings.deadline, exchange.head.fields, exchange.group);
  return true;
}

/// For a request that will not be sent again. `otherwise`: what its client gets if its upstream has done nothing that
/// could be told.
void Dispatcher::give_last_answer(Exchange& exchange, const http::Refusal& otherwise) {
  const auto& sendings = exchange.sendings;
  if (sendings.answer) {
    sendings.answer->give(exchange.sink);
    return end(exchange, last_answer(exchange));
  }
  http::Refusal last = otherwise;
  const std::string& upstream = exchange.upstream->name;
  if (sendings.why == Again::refused) {
    last = {.why = http::Reason::response_incomplete, .details = upstream + ": its refusal broke off"};
  } else if (sendings.why == Again::failed) {
    last = {.why = http::Reason::connection_terminated,
            .details = upstream + ": the connection was closed before an answer came"};
  }
  last.attempts = sendings.attempts;
  exchange.sink.answer_refusal(last);
  failed(exchange, {.why = last.why, .details = last.details}, {});
}

/// Every exchange ends here: the event is emitted first, then its slot is freed, then a waiting request starts.
void Dispatcher::end(Exchange& exchange, const Ending& ending) {
  if (exchange.flight) exchange.flight->conclude();
  reporter_.report(exchange, ending);
  memory_.release(exchange.memory);
  costs_.attempt_ends(exchange, ending.kind == EventKind::complete ? Costs::Answer::whole : Costs::Answer::in_part);
  if (exchange.queue) exchange.queue->shares.leave(exchange.share);
  if (exchange.upstream) --exchange.upstream->exchanges;
  UpstreamQueue* queue = exchange.queue;
  const auto ticket = exchange.ticket;
  const bool landing = exchange.flight != nullptr;
  exchanges_.remove(exchange.number);  // destroys its attempt too
  if (queue) landing ? queue->land(ticket) : queue->cancel(ticket);
  draining_.left(exchanges_.size());
}

// Request and response bodies.

void Dispatcher::body_came(Exchange& exchange) {
  if (exchange.stage == Exchange::Stage::pending) {
    memory_.charge(exchange.memory, exchange.sink.held(), exchange.bytes());
    costs_.body_came(exchange);
  } else if (exchange.body.whole) {
    exchange.queue->shares.leave(exchange.share);
  }
  if (exchange.stage == Exchange::Stage::in_flight) resending_.body_came(exchange);
  if (exchange.flight) exchange.flight->body_came();
}

bool Dispatcher::wants_body(const Exchange& exchange) const {
  if (exchange.sendings.back_since != 0) return resending_.wants_body(exchange);
  if (exchange.stage == Exchange::Stage::in_flight) return exchange.body.size() < kBodyInFlight;
  return !exchange.head.expect_continue && exchange.body.size() < services_.config.caps.pending_body_bytes &&
         (exchange.load.reads_body() || memory_.has_room_for_bodies());  // see Costs::body_came()
}

void Dispatcher::resume(Exchange& exchange) {
  if (exchange.flight) exchange.flight->resume();
}

// Snapshots.

void Dispatcher::snapshot(Snapshot& into, const SnapshotExtent& extent) const {
  into.taken_at = services_.loop.wall();
  into.draining = draining_.under_way();
  into.hints_dropped = hints_dropped_;
  into.pending_bytes = memory_.bytes();
  into.tunnels = attempts_.tunnels().totals();
  const auto busiest = upstreams_.busiest(extent.upstreams);
  into.upstreams.reserve(busiest.size());
  for (const Upstream* one : busiest) into.upstreams.push_back(one->snapshot(extent.groups));
  count_own(busiest, exchanges_, services_.loop.now(), into.upstreams);
  into.upstreams_left_out = upstreams_.count() - busiest.size();
}

std::optional<UpstreamDetails> Dispatcher::details(std::string_view upstream) {
  const Upstream* const known = upstreams_.find(upstream);
  if (!known) return std::nullopt;
  return details_of(*known, exchanges_, reporter_, services_.loop.now());
}

// Draining and stopping.

void Dispatcher::drain(std::move_only_function<void()> when_empty) {
  draining_.begin(std::move(when_empty));
  draining_.left(exchanges_.size());
}

void Dispatcher::end_all() {
  draining_.begin();
  const auto stopped = refusal_of_draining();
  const auto all = exchanges_.ids();
  // What waits for a slot goes first, lest one that becomes free starts it.
  for (const auto number : all) {
    Exchange* exchange = exchanges_.find(number);
    if (!exchange) continue;
    if (exchange->stage == Exchange::Stage::pending) {
      reject(*exchange, stopped);
    } else if (exchange->sendings.back_since != 0) {
      note_wait(resending_, *exchange, services_.loop.now());
      give_last_answer(*exchange, stopped);
    }
  }
  for (const auto number : all) {
    Exchange* exchange = exchanges_.find(number);
    if (exchange) exchange->flight ? exchange->flight->abort(stopped) : give_last_answer(*exchange, stopped);
  }
}

}  // namespace penstock::proxy
