// SPDX-License-Identifier: Apache-2.0
// Sets the scene up with a limiter that grants what is granted already, and then plays it with a copy of the limits.
#include "flow/rehearsal.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/rehearsed_limiter.h"

namespace penstock::flow {

namespace {
constexpr Time kForEver = 365 * 86'400'000'000;
constexpr std::size_t kMostSteps = 2 * kMostRehearsedAsks;
constexpr RequestId kAsked = 0;  // the request that is asked about; others count from 1

/// What is set up is granted from what was booked already, and then nothing; afterwards the copy of the limits answers.
class StagedLimiter final : public Limiter {
 public:
  StagedLimiter(const Scene& scene, std::unique_ptr<RehearsedLimiter> copy)
      : gates_(scene.gates), copy_(std::move(copy)), one_by_one_(scene.one_by_one) {
    for (const Scene::Waiting& lane : scene.lanes) {
      if (lane.asks) asking_.insert(lane.key);
      if (!lane.told) continue;
      Scene::Told& told = told_.emplace(lane.key, *lane.told).first->second;
      told.again = std::min(told.again, copy_->called_at(told.by, told.not_before));
    }
  }

  /// The next asks are for a lane with these departures.
  void grant(std::span<const Departure> booked) { grants_ = Grants::booked, booked_ = booked; }
  void play() { grants_ = Grants::by_limits; }
  bool exhausted() const { return asks_ > kMostRehearsedAsks; }
  /// A permit was missing, which flights give back.
  bool lacked_permit() const { return lacked_permit_; }

  /// The answer to an ask that was not given at once; they come in the order of the asks.
  struct Answer {
    Time at;
    LaneName lane;
    Booking booking;
  };
  std::optional<Time> answers_at() const {
    return answers_.empty() ? std::nullopt : std::optional(answers_.front().at);
  }
  /// Needs one.
  Answer take_answer() {
    Answer answer = std::move(answers_.front());
    answers_.pop_front();
    return answer;
  }

  bool ask(Time now, const Ask& ask, Booking& booking) override {
    if (grants_ == Grants::by_limits) return ask_copy(now, ask, booking);
    while (grants_ == Grants::all && booking.departures.size() < ask.count) {
      booking.departures.push_back({.at = now, .weight = ask.weight, .cost = ask.cost});
    }
    for (; !booked_.empty() && booking.departures.size() < ask.count; booked_ = booked_.subspan(1)) {
      booking.departures.push_back(booked_.front());
    }
    booking.scope = Booking::Scope::group;
    booking.ask_again = booking.not_before = now + 1;
    return true;
  }
  Time patience() const override { return copy_->patience(); }
  /// What is booked already is asked for at once.
  Time lead() const override { return grants_ == Grants::by_limits ? copy_->lead() : kHorizon; }
  LimitIndex forbids(const Load& load, std::string_view route) const override { return copy_->forbids(load, route); }
  Time ahead(Time now, LaneKey, std::int64_t, const OtherUnits&) const override { return now; }
  void give_back(Time now, LaneKey lane, const Departure& departure) override {
    if (grants_ == Grants::by_limits) told_.clear();  // something may leave earlier
    copy_->give_back(now, lane, departure);
  }
  bool landed(Time now, LaneKey lane) override { return grants_ == Grants::by_limits && copy_->landed(now, lane); }
  void cancel_wait(Time, Booking::Scope, LaneKey) override {}
  void pause(Time, std::string_view, Time) override {}
  bool has_room_for(std::string_view) const override { return true; }
  bool forgettable(Time) const override { return false; }
  void change(Time, const std::vector<LimitConfig>&) override {}

 private:
  enum class Grants : std::uint8_t {
    all,        ///< the asks are for what flies
    booked,     ///< they are for a lane that waits, and has departures
    by_limits,  ///< the copy answers
  };

  bool ask_copy(Time now, const Ask& ask, Booking& booking) {
    ++asks_;
    if (is_paused(now, ask.group, booking) || was_told(now, ask.lane(), booking) ||
        rations_asks(now, ask.lane(), booking) || copy_->holds(now, ask, booking))
      return true;
    const Time takes = copy_->answers_after();
    Booking& into = takes == 0 ? booking : answers_.emplace_back(now + takes, LaneName(ask.lane())).booking;
    copy_->ask(now, ask, into);
    lacked_permit_ |= into.stop == Booking::Stop::permit;
    return takes == 0;
  }

  /// The gates of pauses come before the limiter, which may not know of them.
  bool is_paused(Time now, std::string_view group, Booking& booking) {
    const Time until = gates_.until(group);
    if (until <= now) return false;
    const bool is_of_all = gates_.until({}) == until;
    booking.scope = is_of_all ? Booking::Scope::upstream : Booking::Scope::group;
    if (is_of_all) one_by_one_.reset();
    booking.limited_by = kPause;
    booking.ask_again = booking.not_before = until;
    return true;
  }

  /// All are stopped for a moment, as they were before: then they ask one by one. Those that had asked by now go on.
  bool rations_asks(Time now, LaneKey lane, Booking& booking) {
    if (!one_by_one_ || asking_.erase(lane) > 0) return false;
    booking.scope = Booking::Scope::upstream;
    booking.limited_by = *std::exchange(one_by_one_, std::nullopt);
    booking.ask_again = booking.not_before = now + 1;
    return true;
  }

  /// What the lane was told before holds until then.
  bool was_told(Time now, LaneKey lane, Booking& booking) {
    const auto known = told_.find(lane);
    if (known == told_.end() || known->second.again <= now) return false;
    booking.scope = known->second.scope;
    if (booking.scope == Booking::Scope::upstream) one_by_one_.reset();  // this stops all, too
    booking.limited_by = known->second.by;
    booking.ask_again = known->second.again;
    booking.not_before = known->second.not_before;
    return true;
  }

  const Gates& gates_;
  std::unique_ptr<RehearsedLimiter> copy_;
  std::map<LaneKey, Scene::Told, LaneOrder> told_;
  std::set<LaneKey, LaneOrder> asking_;   // an ask of each was under way, and has not been put again
  std::optional<LimitIndex> one_by_one_;  // as in Scene, until all were stopped
  std::deque<Answer> answers_;
  Grants grants_ = Grants::all;
  std::span<const Departure> booked_;
  std::size_t asks_ = 0;
  bool lacked_permit_ = false;
};

class Rehearsal {
 public:
  Rehearsal(Time now, const Scene& scene, std::unique_ptr<RehearsedLimiter> copy)
      : now_(now),
        scene_(scene),
        limiter_(scene, std::move(copy)),
        scheduler_(settings(2 * kMostRehearsed), limiter_) {}

  Outlook run(const Arrival& asked) {
    set_up();
    Arrival arrival = asked;
    arrival.id = kAsked;
    arrival.max_wait = kForEver;
    arrival.tunnel = false;
    arrival.in_place_of = {};
    scheduler_.arrive(now_, arrival, commands_);
    carry_out();
    while (!decided_ && !limiter_.exhausted() && go_on()) carry_out();
    return outlook_;
  }
  /// The request was decided upon.
  bool decided() const { return decided_; }
  /// What was found rests on how long flights take.
  bool by_flights() const { return by_flights_ || limiter_.lacked_permit(); }

 private:
  struct Landing {
    Time at;
    Ticket ticket;
    bool operator>(const Landing& other) const { return at > other.at; }
  };

  static Settings settings(std::size_t slots) {
    return {.max_concurrent = static_cast<int>(slots),
            .max_pending = kMostRehearsed + 1,
            .max_wait = kForEver,
            .max_tunnels = kMostRehearsed + 1};
  }

  /// First all that holds a slot, with as many slots as that needs, the lanes as they were served; then all that waits,
  /// in turns. A lane of which nothing flies has a stand-in meanwhile, so that it was served in its turn, too. The
  /// change to the true number of slots makes each lane ask.
  void set_up() {
    std::vector<std::vector<Ticket>> returned(scene_.lanes.size());
    std::vector<Ticket> stand_ins;
    for (std::size_t i = 0; i < scene_.lanes.size(); ++i) {
      const Scene::Waiting& lane = scene_.lanes[i];
      for (const Time took_off : lane.flying) {
        const Time lands = took_off + scene_.mean_flight;
        landings_.push({lands > now_ ? lands : now_ + scene_.mean_flight, add(lane.key, 1, kForEver)});
      }
      for (const Scene::One& one : lane.returned) returned[i].push_back(add(lane.key, one.load, kForEver));
      if (lane.flying.empty() && lane.returned.empty()) stand_ins.push_back(add(lane.key, 1, kForEver));
    }
    commands_.clear();
    for (const std::size_t i : scene_.turns) {
      const Scene::Waiting& lane = scene_.lanes[i];
      limiter_.grant(lane.booked);
      for (const Ticket ticket : returned[i]) scheduler_.requeue(now_, ticket, commands_);
      for (const Scene::One& one : lane.requests) add(lane.key, one.load, std::max<Time>(1, one.moment - now_));
    }
    for (const Ticket ticket : stand_ins) scheduler_.cancel(now_, ticket, commands_);
    carry_out();
    limiter_.play();
    scheduler_.change(now_, settings(scene_.slots), {}, commands_);
    carry_out();
  }

  Ticket add(LaneKey lane, const Load& load, Time max_wait) {
    const RequestId id = tickets_.size() + 1;
    const Arrival arrival{.id = id,
                          .weight = load.weight,
                          .group = lane.group,
                          .route = lane.route,
                          .max_wait = max_wait,
                          .cost = load.cost};
    return tickets_.emplace_back(scheduler_.arrive(now_, arrival, commands_));
  }

  /// To the next moment at which anything happens; false: nothing will.
  bool go_on() {
    // While an ask is under way the slots that it asks for are held, though it may be granted fewer.
    by_flights_ |= !limiter_.answers_at() && scheduler_.slots_held() >= scene_.slots;
    const Time wakes = scheduler_.wake_at().value_or(Gate::kNever),
               answers = limiter_.answers_at().value_or(Gate::kNever),
               lands = landings_.empty() ? Gate::kNever : landings_.top().at, next = std::min({wakes, answers, lands});
    if (++steps_ > kMostSteps || next == Gate::kNever) return false;
    now_ = std::max(now_, next);
    if (answers == next) {
      const StagedLimiter::Answer answer = limiter_.take_answer();
      scheduler_.answer(now_, answer.lane, answer.booking, commands_);
    } else if (wakes == next) {
      scheduler_.advance(now_, commands_);
    } else {
      const Landing landing = landings_.top();
      landings_.pop();
      scheduler_.answered(now_, landing.ticket, commands_);
      scheduler_.land(now_, landing.ticket, commands_);
    }
    return true;
  }

  /// After a pause this process is the one that may probe.
  void carry_out() {
    while (!commands_.empty()) {
      std::swap(commands_, carried_out_);
      carry_out_starts();
      for (const auto& probe : carried_out_.probe) {
        const bool asks = probe.what == Commands::Probe::What::ask;
        if (asks) scheduler_.hear(now_, {PauseNews::What::may_probe, probe.group, now_ + kProbeRight}, commands_);
      }
      carried_out_.clear();
    }
  }

  void carry_out_starts() {
    for (const auto& start : carried_out_.start) {
      if (start.id == kAsked) {
        decided_ = true;
        outlook_ = {.leaves = now_, .limited_by = start.limited_by, .refused = {}};
      } else {
        landings_.push({now_ + scene_.mean_flight, tickets_[start.id - 1]});
        scheduler_.left(now_, tickets_[start.id - 1]);
      }
    }
    for (const auto& refusal : carried_out_.refuse) {
      if (refusal.id != kAsked) continue;
      decided_ = true;
      outlook_ = {.leaves = now_ + refusal.retry_after, .limited_by = refusal.limited_by, .refused = refusal.why};
      if (refusal.why == Refused::unavailable) outlook_.leaves.reset();
    }
  }

  Time now_;
  const Scene& scene_;
  StagedLimiter limiter_;
  Scheduler scheduler_;
  Commands commands_, carried_out_;
  std::vector<Ticket> tickets_;  // of each request but the one that is asked about
  std::priority_queue<Landing, std::vector<Landing>, std::greater<>> landings_;
  std::size_t steps_ = 0;
  bool decided_ = false, by_flights_ = false;
  Outlook outlook_;
};

/// By how much waits, and not by when each leaves.
Outlook estimated(Time now, const Scheduler& scheduler, const Arrival& arrival) {
  const Forecast& forecast = scheduler.forecast();
  const Estimates::Wait wait = scheduler.forecast().estimate(now, arrival.lane(), arrival.load());
  const bool by_slots = wait.for_slots > wait.for_limits;
  const Time longest = std::max(wait.for_slots, wait.for_limits);
  Outlook outlook{.leaves = now + longest};
  const bool awaits_permit = forecast.awaits_permit(arrival);
  if (longest > 0 || awaits_permit) outlook.limited_by = by_slots ? kSlots : forecast.stopped_by(now, arrival);
  if (awaits_permit || (by_slots && !forecast.knows_flight(now))) outlook.leaves.reset();
  return outlook;
}

Outlook outlook_of(Time now, const Scheduler& scheduler, const Arrival& arrival) {
  const Forecast& forecast = scheduler.forecast();
  std::vector<std::string_view> groups{arrival.group};
  const auto scene = forecast.scene(now, kMostRehearsed);
  if (scene) {
    for (const Scene::Waiting& lane : scene->lanes) groups.push_back(lane.key.group);
  }
  auto copy = forecast.limiter().rehearsal(now, groups);
  if (!copy) return {.limited_by = kRedis};
  if (!scene) return estimated(now, scheduler, arrival);
  const Time at_once = now + copy->answers_after();
  Rehearsal rehearsal(now, *scene, std::move(copy));
  Outlook outlook = rehearsal.run(arrival);
  if (scene->without_flights && rehearsal.by_flights()) return {.limited_by = forecast.stopped_by(now, arrival)};
  if (!rehearsal.decided()) outlook = estimated(now, scheduler, arrival);
  if (!rehearsal.decided() && outlook.leaves == now) outlook.leaves.reset();
  if (rehearsal.by_flights() && !scene->knows_flight) outlook.leaves.reset();
  // A request that the first answer starts does not wait: it may come with `max_wait` 0.
  if (!outlook.refused && outlook.leaves && *outlook.leaves <= at_once) outlook = {.leaves = now};
  return outlook;
}

/// Why it would not wait so long, or not at all. nullopt: it would.
std::optional<Refused> refusal_of(Time now, const Forecast& forecast, const Arrival& arrival,
                                  const std::optional<Time>& leaves) {
  if (leaves && *leaves <= now) return std::nullopt;
  if (!forecast.has_place(arrival)) return Refused::queue_full;
  if (!arrival.max_wait) return std::nullopt;
  const bool is_over = leaves ? *leaves > now + *arrival.max_wait : *arrival.max_wait <= 0;
  return is_over ? std::optional(Refused::wait_over) : std::nullopt;
}
}  // namespace

Outlook rehearse(Time now, const Scheduler& scheduler, const Arrival& arrival) {
  const Forecast& forecast = scheduler.forecast();
  Outlook outlook{.limited_by = kTunnels};
  if (!forecast.waits_outside(now, arrival)) {
    outlook = outlook_of(now, scheduler, arrival);
    const Time opens = forecast.gates_open(now, arrival);
    if (outlook.refused) return outlook;
    if (outlook.leaves && opens > *outlook.leaves) outlook.leaves = opens, outlook.limited_by = kPause;
  }
  outlook.refused = refusal_of(now, forecast, arrival, outlook.leaves);
  return outlook;
}

}  // namespace penstock::flow
