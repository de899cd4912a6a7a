// SPDX-License-Identifier: Apache-2.0
// Passes events to the queue, and carries out the queue's commands.
#include "simulation/process.h"

#include <algorithm>
#include <utility>

#include "flow/limit_remap.h"
#include "flow/probing.h"
#include "flow/rehearsal.h"
#include "redis/limits/shared_limiter.h"

namespace penstock::simulation {

namespace {

constexpr Time kOffset = 1'000 * kSecond;  // the process' clock has run for a while
constexpr std::uint64_t kAsksForWait = 8;  // one of so many requests asks for the expected wait on arrival

Endpoint address_of(int node) {
  return {std::string(RedisSlots::kAddress), static_cast<std::uint16_t>(RedisSlots::kFirstPort + node)};
}

RedisConfig config_of(const Plan& plan) {
  RedisConfig config;
  for (int i = 0; i < plan.masters; ++i) config.cluster.push_back(address_of(i));
  if (plan.masters > 0) {
    config.host = config.cluster.front().address;
    config.port = config.cluster.front().port;
  } else {
    config.path = "/simulated";  // a host name would have to be looked up
  }
  config.prefix = kPrefix;
  config.timeout = plan.redis_timeout;
  config.when_down = plan.when_down;
  config.processes = plan.processes;
  return config;
}

const Member& of(const Plan& plan, int member) { return plan.members[static_cast<std::size_t>(member)]; }

}  // namespace

Process::Process(World& world, Hosts& hosts, loop::Resolver& resolver, const Plan& plan, int member, Journal& journal,
                 Outcomes& outcomes)
    : world_(world),
      plan_(plan),
      member_(member),
      journal_(journal),
      outcomes_(outcomes),
      machine_(world, journal.wall_at_begin + of(plan, member).wall_ahead, kOffset * (member + 1),
               of(plan, member).drift_ppm),
      network_(world, machine_, hosts, {of(plan, member).round_trip, of(plan, member).jitter},
               [this](bool is_presence) {
                 (is_presence ? journal_.presences : journal_.calls).push_back({world_.now(), member_});
               }),
      config_(config_of(plan)),
      hub_(
          machine_.loop(), resolver, config_, watch(),
          [this](const Notice& notice) { journal_.notices.push_back(notice.text); }, network_),
      limiter_(make_limiter()),
      heart_(of(plan, member).settings, *limiter_),
      late_(machine_.loop(), limiter_, plan.limits),
      repeats_(plan),
      wake_(machine_.loop(), [this] { move(&flow::Scheduler::advance); }) {
  const Time period = std::max(100 * kMillisecond, plan.length / 1'000);  // or a run of days would take long
  for (int i = 1; i < plan.masters; ++i) {
    beside_.push_back(std::make_unique<Beside>(machine_.loop(), hub_, upstream_beside(i, plan.masters), period));
  }
  machine_.happen([] {});
}

Process::~Process() { network_.vanish(); }

void Process::end() {
  machine_.happen([this] {
    wake_.stop();
    late_.change(machine_.now(), {});
    limiter_.reset();
    beside_.clear();
  });
}

std::unique_ptr<flow::Limiter> Process::make_limiter() {
  const Member& its = of(plan_, member_);
  const auto& limits = its.reloads > world_.now() ? its.former : plan_.limits;
  const bool some_shared = std::ranges::any_of(limits, &LimitConfig::shared);
  return some_shared ? hub_.make_limiter(kUpstream, limits, *this)
                     : hub_.make_pausing_limiter(kUpstream, limits, *this);
}

void Process::reload() {
  machine_.happen([this] {
    const Member& its = of(plan_, member_);
    const auto moved = flow::limit_remap(its.former, plan_.limits);
    limiter_->change(machine_.now(), plan_.limits);
    late_.change(machine_.now(), plan_.limits);
    move([&](flow::Scheduler& scheduler, Time now, flow::Commands& into) {
      scheduler.change(now, its.settings, moved, into);
    });
  });
}

redis::HubWatch Process::watch() {
  return {.on_up = [this](bool) { note_standing(); }, .on_degraded = [this](bool) { note_standing(); }};
}

bool Process::degraded() {
  auto* const shared = plan_.masters > 0 ? dynamic_cast<redis::SharedLimiter*>(limiter_.get()) : nullptr;
  return shared ? shared->recovery().degraded() : hub_.degraded();
}

void Process::note_standing() {
  said_degraded_ = degraded();
  journal_.standings.push_back({world_.now(), member_, hub_.up(), said_degraded_});
}

flow::LaneName Process::lane_of(std::uint64_t id) const {
  const Request& request = journal_.requests[id];
  const std::string group = request.group < 0 ? std::string() : "g" + std::to_string(request.group);
  return flow::LaneName(flow::LaneKey(group, request.routed ? kRoute : std::string_view()));
}

// ---- what happens ---------------------------------------------------------------------------------------------------

template <typename Call>
void Process::move(Call call) {
  late_.count(machine_.now());
  std::invoke(call, heart_, machine_.now(), commands_);
  if (plan_.masters > 0 && degraded() != said_degraded_) note_standing();
  if (!busy_) carry_out();
}

void Process::arrive(std::uint64_t id) {
  machine_.happen([this, id] {
    if (world_.now() < plan_.foretells || world_.now() >= plan_.foretells_until) return enter(id);
    const auto go_on = [this, id] { foretell(id), enter(id); };
    if (!hub_.look_ahead(std::string(kUpstream), go_on)) go_on();
  });
}

/// As the proxy does once other processes have told what waits in them. The request comes when that is known.
void Process::foretell(std::uint64_t id) {
  Request& request = journal_.requests[id];
  const flow::LaneName lane = lane_of(id);
  const Time now = machine_.now();
  const auto leaves =
      flow::rehearse(
          now, heart_,
          {.id = id, .weight = request.weight, .group = lane.group, .route = lane.route, .cost = request.estimate})
          .leaves;
  if (leaves) request.foretold = world_.now() - request.arrived + *leaves - now;
}

void Process::enter(std::uint64_t id) {
  Request& request = journal_.requests[id];
  const flow::LaneName lane = lane_of(id);
  const Time now = machine_.now(), max_wait = of(plan_, member_).demand.max_wait;
  const flow::Load load(request.weight, request.estimate);
  if (id % kAsksForWait == 0) request.told = heart_.retry_after(now, lane, load);
  flow::Arrival arrival{.id = id, .weight = load.weight, .group = lane.group, .route = lane.route, .cost = load.cost};
  if (max_wait > 0) arrival.max_wait = max_wait;
  move([&](flow::Scheduler& scheduler, Time at, flow::Commands& into) {
    tickets_[id] = scheduler.arrive(at, arrival, into);
  });
}

std::optional<Time> Process::last_leaves_in() const {
  const auto at = heart_.forecast().last_leaves(machine_.now());
  return at ? std::optional(*at - machine_.now()) : std::nullopt;
}

void Process::cancel(std::uint64_t id) {
  machine_.happen([this, id] {
    Request& request = journal_.requests[id];
    const auto found = tickets_.find(id);
    if (found == tickets_.end() || request.departed != kNotYet) return;
    request.end = Request::End::left;
    request.ended = world_.now();
    const flow::Ticket ticket = found->second;
    tickets_.erase(found);
    move([&](flow::Scheduler& scheduler, Time now, flow::Commands& into) { scheduler.cancel(now, ticket, into); });
  });
}

void Process::land(std::uint64_t id) {
  machine_.happen([this, id] { landed(id); });
}

void Process::turned_away(std::uint64_t id) {
  machine_.happen([this, id] {
    const auto found = departures_.find(id);
    if (found != departures_.end()) limiter_->refused(machine_.now(), lane_of(id), found->second);
  });
}

bool Process::sends_back(std::uint64_t id) {
  Request& request = journal_.requests[id];
  bool back = false;
  if (!plan_.refusing || !request.turned_away) return back;
  machine_.happen([this, id, &request, &back] {
    const auto found = tickets_.find(id);
    if (found == tickets_.end()) return;
    const flow::LaneName lane = lane_of(id);
    const Time now = machine_.now();
    if (plan_.refusing->pause > 0) {
      const Time until = heart_.pause(now, lane.group, plan_.refusing->pause, repeats_.longest_pause(), found->second);
      limiter_->pause(now, lane.group, until);
    }
    const Time deadline = now + request.arrived + of(plan_, member_).settings.max_wait - world_.now();
    back = repeats_.judge(now, machine_.wall(), request.attempts, deadline);
    if (!back) return;
    leaving_.erase(id);
    departures_.erase(id);
    std::erase(flying_, id);
    move([&](flow::Scheduler& scheduler, Time at, flow::Commands& into) {
      scheduler.send_back(at, found->second, deadline, lane.group, into);
    });
  });
  return back;
}

/// As the proxy does: what is spent pauses the upstream, and what it refuses is sent again.
void Process::told(std::uint64_t id, const QuotaWord& word) {
  machine_.happen([this, id, word] {
    const auto found = departures_.find(id);
    const auto ticket = tickets_.find(id);
    if (found == departures_.end() || ticket == tickets_.end()) return;
    const Time now = machine_.now();
    const flow::LaneName lane = lane_of(id);
    const auto windows = [](const LimitConfig& limit) {
      return std::holds_alternative<WindowConfig>(limit.kind) ||
             std::holds_alternative<SlidingWindowConfig>(limit.kind);
    };
    const auto limit = std::ranges::find_if(plan_.limits, windows) - plan_.limits.begin();
    if (plan_.quota.learned) {
      limiter_->learned(now, lane, found->second,
                        {static_cast<flow::LimitIndex>(limit), plan_.quota.units - word.remaining, now + word.resets});
    }
    if (word.remaining == 0 && word.resets > 0) {
      limiter_->pause(now, {}, heart_.pause(now, {}, word.resets, 5 * kMinute, ticket->second));
    }
    if (!word.refused) return;
    std::erase(flying_, id);
    leaving_.erase(id);
    move([&, ticket = ticket->second](flow::Scheduler& scheduler, Time at, flow::Commands& into) {
      scheduler.send_back(at, ticket, at + kHour, lane.group, into);
    });
  });
}

void Process::leave(std::uint64_t id) {
  machine_.happen([this, id] {
    const auto found = leaving_.find(id);
    if (found == leaving_.end()) return;
    found->second.taken.left(machine_.now(), *limiter_, found->second.lane);
    leaving_.erase(found);
  });
}

/// What it has cost is known.
void Process::settle(std::uint64_t id) {
  const auto found = departures_.find(id);
  if (found == departures_.end() || journal_.requests[id].cost == found->second.cost) return;
  const flow::LaneName lane = lane_of(id);
  if (!limiter_->settle(machine_.now(), lane, found->second, journal_.requests[id].cost)) return;
  move([&](flow::Scheduler& scheduler, Time now, flow::Commands& into) {
    flow::units_came(scheduler, now, lane, into);
  });
}

void Process::landed(std::uint64_t id) {
  settle(id);
  leaving_.erase(id);
  departures_.erase(id);
  const auto found = tickets_.find(id);
  if (found == tickets_.end()) return;
  const flow::Ticket ticket = found->second;
  tickets_.erase(found);
  std::erase(flying_, id);
  move([&](flow::Scheduler& scheduler, Time now, flow::Commands& into) {
    scheduler.answered(now, ticket, into);
    scheduler.land(now, ticket, into);
  });
}

void Process::pause(Time lasts) {
  machine_.happen([this, lasts] {
    journal_.pauses.push_back({.at = world_.now(), .member = member_, .until = world_.now() + lasts});
    limiter_->pause(machine_.now(), {}, machine_.now() + lasts);
  });
}

void Process::answer(flow::LaneKey lane, const flow::Booking& booking) {
  move([&](flow::Scheduler& scheduler, Time now, flow::Commands& into) { scheduler.answer(now, lane, booking, into); });
}

void Process::retry(flow::Booking::Scope scope, flow::LaneKey lane) {
  move([&](flow::Scheduler& scheduler, Time now, flow::Commands& into) { scheduler.retry(now, scope, lane, into); });
}

void Process::heard(const flow::PauseNews& news) {
  move([&](flow::Scheduler& scheduler, Time now, flow::Commands& into) { scheduler.hear(now, news, into); });
}

/// Cuts the youngest requests first, as the proxy does.
void Process::cut(flow::Booking::Scope scope, flow::LaneKey lane, std::size_t count) {
  const auto is_meant = [&](const flow::LaneName& its) {
    if (scope == flow::Booking::Scope::upstream) return true;
    if (scope == flow::Booking::Scope::route) return its.route == lane.route;
    return its.group == lane.group && (lane.route.empty() || its.route == lane.route);
  };
  std::vector<std::uint64_t> meant;
  for (auto id = flying_.rbegin(); id != flying_.rend() && meant.size() < count; ++id) {
    if (is_meant(lane_of(*id))) meant.push_back(*id);
  }
  for (const std::uint64_t id : meant) {
    outcomes_.cut(id);
    landed(id);
  }
}

// ---- what is done ---------------------------------------------------------------------------------------------------

/// As in the proxy, but for requests that leave at once.
void Process::take_off(std::uint64_t id, const flow::Departure& departure) {
  outcomes_.departed(id);
  if (plan_.may_refuse() || journal_.requests[id].estimate > 1) departures_[id] = departure;
  if (journal_.requests[id].left == world_.now()) return;
  Leaving& one = leaving_[id];
  one.lane = lane_of(id);
  late_.take(one.taken, one.lane, departure);
}

void Process::carry_out() {
  busy_ = true;
  while (!commands_.empty()) {
    std::swap(commands_, carrying_);
    for (const auto& start : carrying_.start) {
      Request& request = journal_.requests[start.id];
      request.departed = world_.now();
      request.booked = machine_.in_world(start.booked);
      request.limited_by = start.limited_by;
      request.without_redis = degraded();
      request.in_redis = start.departure.in_redis != 0;
      if (++request.attempts == 1) repeats_.came(machine_.now());
      journal_.departures.push_back(start.id);
      flying_.push_back(start.id);
      take_off(start.id, start.departure);
    }
    for (const auto& probe : carrying_.probe) {
      flow::carry_out(probe, limiter_->pauses_shared(), machine_.now(), heart_, commands_);
    }
    for (const auto& refuse : carrying_.refuse) {
      Request& request = journal_.requests[refuse.id];
      request.end = Request::End::refused;
      request.ended = world_.now();
      request.refused = refuse.why;
      request.limited_by = refuse.limited_by;
      tickets_.erase(refuse.id);
      outcomes_.refused(refuse.id);
    }
    carrying_.clear();
  }
  busy_ = false;
  const auto next = heart_.wake_at();
  if (next) {
    wake_.start(*next);
  } else {
    wake_.stop();
  }
}

}  // namespace penstock::simulation
