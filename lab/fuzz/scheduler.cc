// SPDX-License-Identifier: Apache-2.0
// The scheduler under calls that the input chooses: arrivals, landings, leavings, repetitions, pauses, answers that
// take their time, under limits of every kind. Beside it a model that knows only what must hold after every call.
#include <optional>
#include <span>

#include "flow/scheduler.h"
#include "fuzz/watched_limiter.h"

namespace penstock::flow {
namespace {

enum class State { waiting, flying, returned, resting, resuming, over };

struct Known {
  State state = State::waiting;
  std::size_t lane = 0;
  int weight = 1;
  Time arrived = 0, deadline = 0;
  Ticket ticket;
  bool tunnel = false, spare = false;
  bool may_be_probe = false;  // it arrived while it was asked who may probe
  Time rests_since = 0;
};

struct Line {
  std::vector<std::size_t> returned, waiting;
  bool empty() const { return returned.empty() && waiting.empty(); }
  std::vector<std::size_t>& first() { return returned.empty() ? waiting : returned; }
};

class Trial {
 public:
  explicit Trial(fuzz::Choices& choices)
      : choices_(choices),
        settings_(any_settings()),
        limits_(any_limits()),
        limiter_(limits_, choices.one_in(2)),
        upstream_(settings_, limiter_) {}

  void run() {
    for (int steps = 0; steps < 400 && choices_.any(); ++steps) step();
    for (int steps = 0; steps < 4'000 && !finished(); ++steps) finish_one();
    must(finished() && idle(upstream_), "everybody is served or refused in the end");
    for (const auto& limit : limits_) check_kept(limit);
  }

 private:
  static constexpr std::size_t kMostSlots = 4;
  Settings any_settings() {
    constexpr std::array<std::size_t, 4> kPending{0, 1, 8, 1000};
    constexpr std::array<Time, 4> kWaits{0, 20'000, 1'000'000, 30'000'000};
    constexpr std::array<std::size_t, 4> kTunnels{1, 2, 4, 1000};
    return {static_cast<int>(1 + choices_.below(4)), kPending[choices_.below(4)], kWaits[choices_.below(4)],
            kTunnels[choices_.below(4)]};
  }
  std::vector<LimitConfig> any_limits() {
    std::vector<LimitConfig> limits;
    for (unsigned n = choices_.below(4); n > 0; --n) limits.push_back(any_limit(choices_));
    for (std::size_t i = 0; i < limits.size(); ++i) limits[i].name = std::to_string(i);
    return limits;
  }

  // ---- what happens ----

  void step() {
    switch (choices_.below(19)) {
      case 0:
      case 1:
      case 2:
      case 3: return arrive();
      case 4:
      case 5: return on_one_of(State::flying, &Trial::land);
      case 6: return on_one_of(static_cast<State>(choices_.below(5)), &Trial::cancel);
      case 7: return on_one_of(State::flying, &Trial::requeue);
      case 8: return pause();
      case 17: return on_one_of(State::flying, &Trial::send_back);
      case 18: return shorten_pauses();
      case 9: return answer_all(), advance();
      case 10: return change();
      case 11: return on_one_of(State::flying, &Trial::park);
      case 12: return on_one_of(State::resting, &Trial::resume);
      case 13: return on_one_of(static_cast<State>(choices_.below(5)), &Trial::mark_spare);
      default: return pass_time();
    }
  }

  void arrive() {
    constexpr std::array<Time, 6> kWaits{0, 500, 60'000, 3'600'000'000, -1, -1};
    const unsigned how = choices_.byte();
    const Time wait = kWaits[how % 6];
    const auto max_wait = wait < 0 ? std::nullopt : std::optional(wait);
    const bool with_route = has_routes_ && how / 108 == 1;
    const std::size_t id = known_.size(), lane = how / 6 % 3 + (with_route ? kGroups.size() : 0);
    const int weight = how % 4 == 0 ? static_cast<int>(1 + how / 18 % 3) : 1;
    const Time patience = std::min(settings_.max_wait, max_wait.value_or(settings_.max_wait));
    const bool tunnel = how / 54 % 2 == 0;
    const Time deadline = now_ + std::max(patience, limiter_.patience());
    known_.push_back({State::waiting, lane, weight, now_, deadline, {}, tunnel});
    lines_[lane].waiting.push_back(id);
    const LaneKey key = kLanes[lane];
    const Arrival arrival{
        .id = id, .weight = weight, .group = key.group, .route = key.route, .max_wait = max_wait, .tunnel = tunnel};
    const Ticket ticket = upstream_.arrive(now_, arrival, commands_);
    known_[id].ticket = ticket;
    const bool asks =
        std::ranges::find(commands_.probe, Commands::Probe::What::ask, &Commands::Probe::what) != commands_.probe.end();
    if (asks) known_[id].deadline = std::max(deadline, now_ + limiter_.patience() + Gate::kRightIsAnsweredIn);
    known_[id].may_be_probe = asks;
    check();
  }
  void land(std::size_t id) {
    if (choices_.one_in(2)) upstream_.answered(now_, known_[id].ticket, commands_), check();
    known_[id].state = State::over;
    upstream_.land(now_, known_[id].ticket, commands_);
    check();
  }
  void cancel(std::size_t id) {
    if (known_[id].state == State::waiting || known_[id].state == State::returned) forget(id);
    known_[id].state = State::over;
    upstream_.cancel(now_, known_[id].ticket, commands_);
    check();
    upstream_.cancel(now_, known_[id].ticket, commands_);  // a dead ticket
    upstream_.park(now_, known_[id].ticket, commands_);
    upstream_.resume(now_, known_[id].ticket, commands_);
    must(commands_.empty(), "a dead ticket moves nothing");
    check();
  }
  /// Refused, perhaps with a pause.
  void send_back(std::size_t id) {
    Known& one = known_[id];
    if (one.tunnel) return land(id);
    const unsigned how = choices_.byte();
    const auto length = how % 3 == 0 ? std::nullopt : std::optional<Time>(1'000 * (how / 3));
    const std::string_view group = kLanes[one.lane].group;
    if (how % 5 > 0) upstream_.pause(now_, group, length, 10'000'000, one.ticket);
    one.state = State::waiting;
    auto& line = lines_[one.lane].waiting;
    const auto later = [&](std::size_t other) { return other > id; };
    line.insert(std::ranges::find_if(line, later), id);
    upstream_.send_back(now_, one.ticket, one.deadline, group, commands_);
    most_pending_ = std::max(most_pending_, upstream_.pending());  // it has been accepted, however full the queue is
    check();
  }
  void requeue(std::size_t id) {
    known_[id].state = State::returned;
    lines_[known_[id].lane].returned.push_back(id);
    upstream_.requeue(now_, known_[id].ticket, commands_);
    check();
  }
  void park(std::size_t id) {
    if (!known_[id].tunnel) return;
    known_[id].state = State::resting;
    known_[id].rests_since = now_;
    upstream_.park(now_, known_[id].ticket, commands_);
    check();
  }
  void mark_spare(std::size_t id) {
    known_[id].spare = known_[id].tunnel;
    upstream_.mark_spare(now_, known_[id].ticket, commands_);
    check();
  }
  void resume(std::size_t id) {
    known_[id].state = State::resuming;
    upstream_.resume(now_, known_[id].ticket, commands_);
    check();
  }
  void pause() {
    const unsigned how = choices_.byte();
    const Time until = now_ + 1'000 * (how / 3);
    limiter_.pause(now_, kGroups[how % 3], until);
  }

  void shorten_pauses() {
    const Time latest = now_ + 1'000 * (choices_.byte() / 3);
    limiter_.shorten_pauses(now_, latest);
    upstream_.shorten_pauses(now_, latest, commands_);
    for (const auto group : kGroups) must(upstream_.gates().until(group) <= latest, "no pause is longer");
    check();
  }

  /// Of the settings alone: the limits begin anew with what they have counted.
  void change() {
    constexpr std::array<LimitIndex, 3> kSame{0, 1, 2};
    most_slots_ = std::max(most_slots_, slots());
    most_open_ = std::max(most_open_, settings_.max_tunnels);
    most_pending_ = std::max({most_pending_, settings_.max_pending, upstream_.pending()});
    settings_ = any_settings();
    limiter_.change(now_, limits_);
    upstream_.change(now_, settings_, std::span(kSame).first(limits_.size()), commands_);
    for (const auto& refusal : commands_.refuse)
      must(refusal.why != Refused::queue_full, "nobody is thrown out for it");
    check();
  }

  void on_one_of(State state, void (Trial::*act)(std::size_t)) {
    const std::size_t from = known_.empty() ? 0 : choices_.byte() % known_.size();
    for (std::size_t i = 0; i < known_.size(); ++i) {
      const std::size_t id = (from + i) % known_.size();
      if (known_[id].state == state) return (this->*act)(id);
    }
  }

  /// Sometimes everything at its time, sometimes late for what was due meanwhile.
  void pass_time() {
    constexpr std::array<Time, 8> kSteps{1, 100, 1'000, 5'000, 20'000, 50'000, 300'000, 2'000'000};
    const unsigned how = choices_.byte();
    const Time end = now_ + kSteps[how % 8];
    for (int i = 0; how / 8 % 3 > 0 && i < 500; ++i) {
      const auto wake = upstream_.wake_at();
      if (!wake || *wake > end) break;
      now_ = *wake;
      advance();
    }
    now_ = std::max(now_, end);
    if (how / 24 % 2) answer_all();
    advance();
  }
  void advance() {
    upstream_.advance(now_, commands_);
    check(true);
  }
  void answer_all() {
    for (auto& lane : limiter_.lanes) {
      if (lane.asking.count == 0) continue;
      const Ask ask = std::exchange(lane.asking, Ask{.count = 0});
      Booking answer;
      limiter_.answer(now_, ask, answer);
      upstream_.answer(now_, ask.lane(), answer, commands_);
      check();
    }
  }

  bool finished() const {
    return !limiter_.somebody_asks() && std::ranges::all_of(known_, [](auto& one) { return one.state == State::over; });
  }
  void finish_one() {
    answer_all();
    on_one_of(State::flying, &Trial::land);
    on_one_of(State::resting, &Trial::land);
    if (const auto wake = upstream_.wake_at()) now_ = std::max(now_, *wake);
    advance();
  }

  // ---- what must hold ----

  void check(bool settled = false) {
    for (const auto& refusal : commands_.refuse) check_refusal(refusal);
    for (const auto& start : commands_.start) check_start(start);
    for (const auto id : commands_.resume) {
      must(known_[id].state == State::resuming, "who goes on has rested, and wants to");
      known_[id].state = State::flying;
    }
    for (const auto id : commands_.close) {
      must(known_[id].state == State::resting, "only who rests makes room");
      must(known_[id].spare || now_ - known_[id].rests_since >= 30'000'000, "and not before it has rested long");
      known_[id].state = State::over;
    }
    for (const auto& probe : commands_.probe) {
      if (probe.what == Commands::Probe::What::ask) asked_.push_back(probe.group);
    }
    commands_.clear();
    check_counts();
    for (std::size_t i = 0; i < kLanes.size(); ++i) check_lane(i);
    must(!settled || upstream_.wake_at().value_or(now_ + 1) > now_, "it wakes for what is ahead");
    for (const std::string& group : std::exchange(asked_, {})) {
      const bool may = !choices_.any() || !choices_.one_in(4);
      const auto what = may ? PauseNews::What::may_probe : PauseNews::What::may_not_probe;
      upstream_.hear(now_, {what, group, now_ + (may ? kProbeRight : 20'000)}, commands_);
      check();
    }
  }
  void check_refusal(const Commands::Refuse& refusal) {
    Known& one = known_[refusal.id];
    must(one.state == State::waiting, "who is refused waits");
    if (refusal.why == Refused::queue_full) check_newest(refusal.id);
    forget(refusal.id);
    one.state = State::over;
    must(refusal.waited == now_ - one.arrived, "it is said how long it waited");
    must(refusal.retry_after >= 1'000 && refusal.retry_after <= flow::kLongestRetry, "it is said when to come again");
  }
  /// But for tunnels, which may join their line late, and requests let in beyond a full queue, which go first.
  void check_newest(std::size_t id) const {
    const auto& line = lines_[known_[id].lane].waiting;
    if (limiter_.patience() > 0 || known_[id].tunnel) return;
    const auto behind = std::ranges::find(line, id) + 1;
    const auto may_stay = [&](auto other) {
      return known_[other].tunnel || known_[other].arrived == known_[id].arrived;
    };
    must(std::all_of(behind, line.end(), may_stay), "of a full queue the newest goes");
  }
  void check_start(const Commands::Start& start) {
    Known& one = known_[start.id];
    Line& line = lines_[one.lane];
    must(!line.empty(), "who starts is in a lane");
    // Tunnels may have to wait for others to end, and those that are none go by.
    const auto goes_by = [&](std::size_t id) { return known_[id].tunnel != one.tunnel; };
    const auto first = std::ranges::find_if(line.first(), [&](auto id) { return id == start.id || !goes_by(id); });
    must(first != line.first().end() && *first == start.id, "first come, first served");
    must(one.state == State::returned || now_ <= one.deadline, "nobody takes off after its deadline");
    must(start.departure.at <= now_ && start.departure.weight >= one.weight, "nor before its departure, nor with less");
    line.first().erase(first);
    one.state = State::flying;
    if (!choices_.any() || choices_.one_in(2)) upstream_.left(now_, one.ticket);
    WatchedLimiter::take(limiter_.lanes[one.lane], start.departure);
    auto booked = start.departure;  // what limits promise is by when they had it leave
    booked.at = start.booked;
    taken_[one.lane].push_back(booked);
  }
  void check_counts() {
    std::size_t pending = 0, in_flight = 0, resting = 0, open = 0, may_open = 0;
    std::size_t excess = 0;  // that wait to hear whether they are the probe
    for (const Known& one : known_) {
      pending += one.state == State::waiting;
      excess += one.state == State::waiting && one.may_be_probe;
      in_flight += one.state == State::flying || one.state == State::returned;
      resting += one.state == State::resting || one.state == State::resuming;
      open += one.tunnel && one.state != State::waiting && one.state != State::over;
      may_open += one.tunnel && one.state != State::over;
    }
    must(upstream_.tunnels().resting == resting, "it counts who rests");
    most_open_ = std::max(std::min(most_open_, may_open), settings_.max_tunnels);
    must(open <= most_open_, "no more tunnels are open than may be");
    must(upstream_.pending() == pending && upstream_.in_flight() == in_flight, "it counts who waits and who flies");
    most_pending_ = std::max(std::min(most_pending_, pending), settings_.max_pending);
    must(pending <= most_pending_ + excess || limiter_.somebody_asks(), "no more wait than may");
    must(pending <= most_pending_ + kMostSlots * kMostSlots, "but for those who hear at once whether they start");
    const std::size_t held = upstream_.slots_held();
    most_slots_ = std::max(std::min(most_slots_, held), slots());
    must(held >= in_flight && held <= most_slots_, "no more fly than may");
  }
  std::size_t slots() const { return static_cast<std::size_t>(settings_.max_concurrent); }
  /// How many permits are left to that lane; negative: there are too many.
  int permits_left(LaneKey lane) const {
    int left = 1'000'000;
    for (const auto& limit : limits_) {
      const auto* semaphore = std::get_if<SemaphoreConfig>(&limit.kind);
      const bool is_for_it = semaphore && governs(limit, lane.route);
      if (is_for_it) left = std::min(left, semaphore->capacity - holders(limit, lane.group));
    }
    return left;
  }
  int holders(const LimitConfig& semaphore, std::string_view group) const {
    const auto counts_it = [&](std::size_t lane) { return counts(semaphore, kLanes[lane], group); };
    std::size_t holders = 0;
    for (const Known& one : known_) holders += one.state == State::flying && counts_it(one.lane);
    for (std::size_t i = 0; i < kLanes.size(); ++i) holders += counts_it(i) ? limiter_.lanes[i].outstanding.size() : 0;
    return static_cast<int>(holders);
  }
  void check_lane(std::size_t i) const {
    const Line& line = lines_[i];
    const auto& lane = limiter_.lanes[i];
    const int permits = permits_left(kLanes[i]);
    must(permits >= 0, "no more hold permits than there are");
    must(lane.outstanding.size() <= line.returned.size() + line.waiting.size(), "departures are for somebody");
    const bool paused = upstream_.gates().has({}) || upstream_.gates().has(kLanes[i].group);
    const bool served =
        paused || !lane.outstanding.empty() || limiter_.somebody_asks() || limiter_.made_wait(now_, kLanes[i]);
    const bool can_go = upstream_.slots_held() < slots() && permits > 0;
    const auto may_stay = [&](std::size_t id) { return known_[id].tunnel; };
    const bool nobody = line.returned.empty() && std::ranges::all_of(line.waiting, may_stay);
    must(nobody || served || !can_go, "who waits, waits for something");
    const bool rested =
        std::ranges::any_of(known_, [&](const Known& one) { return one.state == State::resuming && one.lane == i; });
    must(!rested || limiter_.somebody_asks() || !can_go, "who has rested waits for a slot or a permit");
  }
  void check_kept(const LimitConfig& limit) const {
    for (const auto group : kGroups) {  // a limit of all groups is looked at once for each
      std::vector<Departure> taken;
      for (std::size_t i = 0; i < kLanes.size(); ++i) {
        if (counts(limit, kLanes[i], group)) taken.insert(taken.end(), taken_[i].begin(), taken_[i].end());
      }
      std::ranges::stable_sort(taken, {}, &Departure::at);
      std::visit(Promise{taken}, limit.kind);
    }
  }
  void forget(std::size_t id) {
    auto& line = lines_[known_[id].lane];
    std::erase(known_[id].state == State::returned ? line.returned : line.waiting, id);
  }

  fuzz::Choices& choices_;
  Settings settings_;
  const std::vector<LimitConfig> limits_;
  const bool has_routes_ = std::ranges::any_of(limits_, [](auto& limit) { return !limit.route.empty(); });
  WatchedLimiter limiter_;
  std::vector<std::string> asked_;                 // groups for which it is asked who may probe
  std::size_t most_slots_ = 0, most_pending_ = 0;  // held, or pending, when these were lowered, and still over them
  std::size_t most_open_ = 0;                      // tunnels, likewise, with those in their lanes that may still open
  Scheduler upstream_;
  Commands commands_;
  Time now_ = 1'000'000'000;
  std::vector<Known> known_;
  std::array<Line, kLanes.size()> lines_;
  std::array<std::vector<Departure>, kLanes.size()> taken_;
};

}  // namespace
}  // namespace penstock::flow

void penstock::fuzz::try_input(std::string_view input) {
  Choices choices(input);
  flow::Trial(choices).run();
}
