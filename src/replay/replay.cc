// SPDX-License-Identifier: Apache-2.0
// See replay.h. Times are µs since 1970, so that windows begin where they did.
#include "replay/replay.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "flow/probing.h"

namespace penstock::replay {

namespace {

constexpr Time kNeverLater = std::numeric_limits<Time>::max();

flow::Settings scheduler_settings_of(const UpstreamSettings& settings) {
  return {.max_concurrent = settings.max_concurrent,
          .max_pending = settings.queue.max_pending,
          .max_wait = settings.queue.max_wait.count(),
          .max_tunnels = static_cast<std::size_t>(std::max(tunnels_of(settings), 1))};
}

Fate fate_of(flow::Refused why) {
  switch (why) {
    case flow::Refused::queue_full: return Fate::queue_full;
    case flow::Refused::wait_over: return Fate::wait_over;
    case flow::Refused::limited: return Fate::limit_refused;
    case flow::Refused::too_heavy: return Fate::limit_too_heavy;
    case flow::Refused::unavailable: break;
  }
  return Fate::limiter_down;
}

/// The route whose lane a request waits in: none, if no limit of its route holds it.
std::string_view lane_of(const UpstreamSettings& settings, std::string_view route) {
  const auto holds = [&](const LimitConfig& limit) {
    return limit.route == route && limit.mode != LimitConfig::Mode::shadow;
  };
  return std::ranges::any_of(settings.limits, holds) ? route : std::string_view();
}

}  // namespace

Replay::Replay(const RequestLog& log, const std::deque<Place>& places, std::span<const std::uint32_t> order,
               const UpstreamSettings& settings, Time flight)
    : log_(log),
      places_(places),
      order_(order),
      settings_(settings),
      flight_(flight),
      limiter_(limits_that_hold(settings.limits), flow::instant_at_zero(0, 0)),
      scheduler_(scheduler_settings_of(settings), limiter_) {}

/// Of what happens at the same time, landings come first, then what the scheduler has to do, then arrivals.
void Replay::run(std::span<Outcome> outcomes, Repeats& repeats) {
  outcomes_ = outcomes;
  repeats_ = &repeats;
  for (std::size_t next = 0;;) {
    while (next < order_.size() && !may_change(log_[order_[next]].fate)) {
      outcomes_[order_[next]] = log_[order_[next]].outcome();
      ++next;
    }
    const Time arrives = next < order_.size() ? log_[order_[next]].arrived : kNeverLater;
    const Time due = later_.empty() ? kNeverLater : later_.top().at;
    const Time wakes = wakes_at();
    const Time at = std::min({arrives, due, wakes});
    if (at == kNeverLater) return;
    now_ = std::max(now_, at);
    if (due <= now_) {
      const Later later = later_.top();
      later_.pop();
      play(later);
    } else if (wakes <= now_) {
      advanced_ = now_;
      scheduler_.advance(now_, commands_);
    } else {
      arrive(order_[next++]);
    }
    carry_out();
  }
}

/// The scheduler may want to be woken at a time that has come already: then a microsecond later, so that time goes on.
Time Replay::wakes_at() const {
  const auto wakes = scheduler_.wake_at();
  if (!wakes) return kNeverLater;
  return *wakes <= now_ && advanced_ == now_ ? now_ + 1 : *wakes;
}

std::string_view Replay::group_of(std::uint32_t request) {
  const std::uint64_t group = places_[request].group;
  if (group == 0) return {};
  group_.assign(reinterpret_cast<const char*>(&group), sizeof group);
  return limiter_.has_room_for(group_) ? std::string_view(group_) : "*:others";
}

std::string_view Replay::route_of(std::uint32_t request) const {
  const std::uint64_t route = places_[request].route;
  return route == 0 ? std::string_view() : lane_of(settings_, settings_.routes[route - 1].name);
}

void Replay::arrive(std::uint32_t request) {
  const LoggedRequest& logged = log_[request];
  if (logged.weight > settings_.max_weight && logged.weight > 1) {
    outcomes_[request] = {0, Fate::limit_too_heavy};
    return;
  }
  const std::uint32_t live = take_place(request);
  live_[live].ticket = scheduler_.arrive(now_,
                                         {.id = live,
                                          .weight = logged.weight,
                                          .group = group_of(request),
                                          .route = route_of(request),
                                          .tunnel = logged.tunnel},
                                         commands_);
  // The client of a request that left the queue would have left after as long a wait, but not sooner.
  if (logged.fate == Fate::gone) expect(now_ + logged.wait, live, false);
}

std::uint32_t Replay::take_place(std::uint32_t request) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(live_.size()));
    live_.emplace_back();
  }
  const std::uint32_t live = free_.back();
  free_.pop_back();
  live_[live] = {.request = request};
  return live;
}

void Replay::release(std::uint32_t live) {
  live_[live].ticket = {};
  free_.push_back(live);
}

void Replay::expect(Time at, std::uint32_t live, bool lands) {
  later_.push({at, turn_++, live, live_[live].ticket, lands});
}

void Replay::play(const Later& later) {
  if (live_[later.live].ticket != later.ticket || later.ticket == flow::Ticket{}) return;
  if (later.lands) return land(later);
  if (live_[later.live].sent > 0) return;  // it is in flight already
  outcomes_[live_[later.live].request] = {log_[live_[later.live].request].wait, Fate::gone};
  scheduler_.cancel(now_, later.ticket, commands_);
  release(later.live);
}

bool Replay::is_sent_again(const Live& live, Time deadline) {
  const auto& retry = settings_.retry;
  const bool off = !retry.refusals && retry.failures == RetryConfig::Failures::off;
  const int most = off ? 1 : std::min<int>(log_[live.request].attempts, retry.attempts);
  if (live.sent >= most || now_ >= deadline) return false;
  const bool has_room = repeats_->played.size() < repeats_->most;
  repeats_->left_out += has_room ? 0 : static_cast<std::uint64_t>(most - live.sent);
  return has_room;
}

/// A request that was sent several times is so here, and each sending needs a departure of its own.
void Replay::land(const Later& later) {
  const Live& live = live_[later.live];
  const LoggedRequest& logged = log_[live.request];
  const Time deadline = logged.arrived + settings_.queue.max_wait.count();
  if (is_sent_again(live, deadline)) {
    const std::uint32_t request = live.request;
    return scheduler_.send_back(now_, later.ticket, deadline, group_of(request), commands_);
  }
  scheduler_.land(now_, later.ticket, commands_);
  release(later.live);
}

void Replay::carry_out() {
  while (!commands_.empty()) {
    std::swap(commands_, carried_out_);
    for (const auto& command : carried_out_.start) start(command);
    for (const auto& command : carried_out_.refuse) refuse(command);
    for (const auto& probe : carried_out_.probe) flow::carry_out(probe, nullptr, now_, scheduler_, commands_);
    carried_out_.clear();
  }
}

void Replay::start(const flow::Commands::Start& command) {
  const auto place = static_cast<std::uint32_t>(command.id);
  Live& live = live_[place];
  const LoggedRequest& logged = log_[live.request];
  if (live.sent++ == 0) {
    outcomes_[live.request] = {command.waited, Fate::sent};
  } else {
    repeats_->played.push_back({live.request, now_});
  }
  expect(now_ + (logged.flight == LoggedRequest::kUnknown ? flight_ : logged.flight), place, true);
}

/// One that has been sent already, and waited in vain to be sent again, keeps what it got.
void Replay::refuse(const flow::Commands::Refuse& command) {
  const auto place = static_cast<std::uint32_t>(command.id);
  const Live& live = live_[place];
  if (live.sent == 0) outcomes_[live.request] = {command.waited, fate_of(command.why)};
  release(place);
}

}  // namespace penstock::replay
