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
      : copy_(std::move(copy)), one_by_one_(scene.one_by_one) {
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
      booking.departures.push_back({.at = now, .weight = ask.weight});
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
  LimitIndex forbids(int weight, std::string_view route) const override { return copy_->forbids(weight, route); }
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
    if (was_told(now, ask.lane(), booking) || rations_asks(now, ask.lane(), booking) || copy_->holds(now, ask, booking))
      return true;
    const Time takes = copy_->answers_after();
    Booking& into = takes == 0 ? booking : answers_.emplace_back(now + takes, LaneName(ask.lane())).booking;
    copy_->ask(now, ask, into);
    lacked_permit_ |= into.stop == Booking::Stop::permit;
    return takes == 0;
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
      for (const Scene::One& one : lane.returned) returned[i].push_back(add(lane.key, one.weight, kForEver));
      if (lane.flying.empty() && lane.returned.empty()) stand_ins.push_back(add(lane.key, 1, kForEver));
    }
    commands_.clear();
    for (const std::size_t i : scene_.turns) {
      const Scene::Waiting& lane = scene_.lanes[i];
      limiter_.grant(lane.booked);
      for (const Ticket ticket : returned[i]) scheduler_.requeue(now_, ticket, commands_);
      for (const Scene::One& one : lane.requests) add(lane.key, one.weight, std::max<Time>(1, one.moment - now_));
    }
    for (const Ticket ticket : stand_ins) scheduler_.cancel(now_, ticket, commands_);
    carry_out();
    limiter_.play();
    scheduler_.change(now_, settings(scene_.slots), {}, commands_);
    carry_out();
  }

  Ticket add(LaneKey lane, int weight, Time max_wait) {
    const RequestId id = tickets_.size() + 1;
    const Arrival arrival{.id = id, .weight = weight, .group = lane.group, .route = lane.route, .max_wait = max_wait};
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
      scheduler_.land(now_, landing.ticket, commands_);
    }
    return true;
  }

  void carry_out() {
    for (const auto& start : commands_.start) {
      if (start.id == kAsked) {
        decided_ = true;
        outlook_ = {.leaves = now_, .limited_by = start.limited_by, .refused = {}};
      } else {
        landings_.push({now_ + scene_.mean_flight, tickets_[start.id - 1]});
      }
    }
    for (const auto& refusal : commands_.refuse) {
      if (refusal.id != kAsked) continue;
      decided_ = true;
      outlook_ = {.leaves = now_ + refusal.retry_after, .limited_by = refusal.limited_by, .refused = refusal.why};
    }
    commands_.clear();
  }

  Time now_;
  const Scene& scene_;
  StagedLimiter limiter_;
  Scheduler scheduler_;
  Commands commands_;
  std::vector<Ticket> tickets_;  // of each request but the one that is asked about
  std::priority_queue<Landing, std::vector<Landing>, std::greater<>> landings_;
  std::size_t steps_ = 0;
  bool decided_ = false, by_flights_ = false;
  Outlook outlook_;
};

/// As Retry-After tells it.
Outlook estimated(Time now, const Scheduler& scheduler, const Arrival& arrival, Time opens) {
  const Time wait = scheduler.retry_after(now, arrival.lane(), arrival.weight, opens);
  return {.leaves = now + wait, .limited_by = kNoLimit, .refused = {}};
}

Outlook outlook_of(Time now, const Scheduler& scheduler, const Arrival& arrival, Time opens) {
  const Forecast& forecast = scheduler.forecast();
  const auto scene = forecast.scene(now, kMostRehearsed);
  if (!scene) return estimated(now, scheduler, arrival, opens);
  std::vector<std::string_view> groups{arrival.group};
  for (const Scene::Waiting& lane : scene->lanes) groups.push_back(lane.key.group);
  auto copy = forecast.limiter().rehearsal(now, groups);
  if (!copy) return estimated(now, scheduler, arrival, opens);
  const Time at_once = now + copy->answers_after();
  Rehearsal rehearsal(now, *scene, std::move(copy));
  Outlook outlook = rehearsal.run(arrival);
  if (!rehearsal.decided()) return estimated(now, scheduler, arrival, opens);
  if (rehearsal.by_flights() && !scene->knows_flight) outlook.leaves.reset();
  // A request that the first answer starts does not wait: it may come with `max_wait` 0.
  if (!outlook.refused && outlook.leaves && *outlook.leaves <= at_once) outlook = {.leaves = now};
  return outlook;
}
}  // namespace

Outlook rehearse(Time now, const Scheduler& scheduler, const Arrival& arrival) {
  const auto opens = scheduler.forecast().gates_open(now, arrival);
  if (!opens) return {};
  Outlook outlook = outlook_of(now, scheduler, arrival, *opens);
  if (outlook.refused || !outlook.leaves) return outlook;
  if (*opens > *outlook.leaves) outlook.leaves = *opens, outlook.limited_by = kPause;
  if (*outlook.leaves <= now) return outlook;
  if (!scheduler.forecast().has_place(arrival))
    outlook.refused = Refused::queue_full;
  else if (arrival.max_wait && *outlook.leaves > now + *arrival.max_wait)
    outlook.refused = Refused::wait_over;
  return outlook;
}

}  // namespace penstock::flow
