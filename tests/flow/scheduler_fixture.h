// SPDX-License-Identifier: Apache-2.0
// An upstream with a clock that the test winds, requests that are called by numbers, and a limiter that answers by
// hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "flow/limits.h"
#include "flow/scheduler.h"

namespace penstock::flow {

inline constexpr Time kMs = 1'000;
inline constexpr Time kSecond = 1'000'000;
inline constexpr Time kMinute = 60 * kSecond;

using Ids = std::vector<RequestId>;

/// `GROUP`, or `GROUP@ROUTE` if it has a route.
inline std::string text_of(LaneKey lane) {
  return std::string(lane.group) + (lane.route.empty() ? "" : "@" + std::string(lane.route));
}

/// Answers nothing by itself; keeps what it was asked and what came back.
class SlowLimiter final : public Limiter {
 public:
  struct Asked {
    std::string group;
    std::size_t count;
    int weight = 1;
    std::string route = {};
    bool operator==(const Asked&) const = default;
  };
  struct Beyond {  // an ask
    std::int64_t more, others;
    bool operator==(const Beyond&) const = default;
  };
  bool ask(Time, const Ask& ask, Booking&) override {
    asks.push_back({std::string(ask.group), ask.count, ask.weight, std::string(ask.route)});
    beyond.push_back({ask.more, ask.others});
    return false;
  }
  Time patience() const override { return its_patience; }
  Time lead() const override { return its_lead; }
  LimitIndex forbids(const Load& load, std::string_view) const override {
    return load.weight > heaviest ? 7 : kNoLimit;
  }
  Time ahead(Time now, LaneKey, std::int64_t units, const OtherUnits& others) const override {
    return now + (units + others.all) * pace;
  }
  void give_back(Time, LaneKey, const Departure& departure) override {
    given_back.push_back(departure.at);
    era_given_back = departure.epoch;
  }
  bool landed(Time, LaneKey) override { return frees_permits; }
  void cancel_wait(Time, Booking::Scope scope, LaneKey lane) override { gave_up.emplace_back(scope, text_of(lane)); }
  void pause(Time, std::string_view, Time) override {}
  bool has_room_for(std::string_view) const override { return true; }
  bool forgettable(Time) const override { return true; }
  void change(Time, const std::vector<LimitConfig>&) override {}
  void count_existing(Time, LaneKey lane, std::size_t departures) override {
    adopted.emplace_back(text_of(lane), departures);
  }

  std::vector<Asked> asks;
  std::vector<Beyond> beyond;
  std::vector<std::pair<std::string, std::size_t>> adopted;
  std::vector<Time> given_back;
  ConfigEpoch era_given_back = 0;
  std::vector<std::pair<Booking::Scope, std::string>> gave_up;
  Time its_patience = 0;
  Time its_lead = kHorizon;
  Time pace = 0;
  int heaviest = 1'000;
  bool frees_permits = false;
};

/// An answer of a limiter: this scope has a turn, and asks again at that time.
inline Booking turn(Booking::Scope scope, Time ask_again, LimitIndex by = kNoLimit) {
  return {
      .stop = Booking::Stop::turn, .scope = scope, .limited_by = by, .ask_again = ask_again, .not_before = ask_again};
}

/// Each call returns the requests that it started; refusals collect in `refused`.
class SchedulerFixture {
 public:
  explicit SchedulerFixture(Settings settings, std::vector<std::unique_ptr<Limit>> limits = {})
      : plain_(std::move(limits)), upstream(settings, plain_) {}
  SchedulerFixture(Settings settings, Limiter& limiter) : plain_({}), upstream(settings, limiter) {}

  Ids arrive(const Arrival& arrival) {
    tickets_[arrival.id] = upstream.arrive(now, arrival, commands_);
    return started();
  }
  Ids arrive(RequestId id, std::string_view group = {}, std::optional<Time> max_wait = {}) {
    return arrive({.id = id, .group = group, .max_wait = max_wait});
  }
  /// Several at once.
  Ids arrive_all(std::initializer_list<RequestId> ids, std::string_view group = {}) {
    Ids all;
    for (const RequestId id : ids) {
      for (const RequestId other : arrive(id, group)) all.push_back(other);
    }
    return all;
  }
  Ids cancel(RequestId id) { return upstream.cancel(now, tickets_.at(id), commands_), started(); }
  /// The start of the request is not carried out.
  Ids turn_back(RequestId id) {
    return upstream.cancel(now, tickets_.at(id), commands_, &departures.at(id)), started();
  }
  Ids land(RequestId id) { return upstream.land(now, tickets_.at(id), commands_), started(); }
  Ids park(RequestId id) { return upstream.park(now, tickets_.at(id), commands_), started(); }
  Ids mark_spare(RequestId id) { return upstream.mark_spare(now, tickets_.at(id), commands_), started(); }
  Ids resume(RequestId id) { return upstream.resume(now, tickets_.at(id), commands_), started(); }
  Ids requeue(RequestId id) { return upstream.requeue(now, tickets_.at(id), commands_), started(); }
  Ids send_back(RequestId id, Time deadline, std::string_view group = {}) {
    return upstream.send_back(now, tickets_.at(id), deadline, group, commands_), started();
  }
  void sent(RequestId id) { upstream.left(now, tickets_.at(id)); }
  Ids answered(RequestId id) { return upstream.answered(now, tickets_.at(id), commands_), started(); }
  void await_judgement(RequestId id) { upstream.gates().await_judgement(now, {}, tickets_.at(id).index); }
  /// As Scheduler::pause(), by the answer to that request.
  Time pause(RequestId id, std::optional<Time> length, std::string_view group = {}) {
    return upstream.pause(now, group, length, 300 * kSecond, tickets_.at(id));
  }
  /// The usual one, of this process alone.
  Time pause_alone(RequestId id) { return upstream.pause(now, {}, {}, 300 * kSecond, tickets_.at(id), true); }
  Ids may_probe(bool may, Time until, std::string_view group = {}) {
    const auto what = may ? PauseNews::What::may_probe : PauseNews::What::may_not_probe;
    return upstream.hear(now, {what, group, until}, commands_), started();
  }
  Ids opened(std::string_view group = {}) {
    return upstream.hear(now, {PauseNews::What::opened, group}, commands_), started();
  }
  Ids hear(const PauseNews& news) { return upstream.hear(now, news, commands_), started(); }
  Ids shorten(Time latest) { return upstream.shorten_pauses(now, latest, commands_), started(); }
  Ids move(RequestId id, std::string_view group) {
    return upstream.move(now, tickets_.at(id), group, commands_), started();
  }
  Ids answer(const Booking& booking, LaneKey lane = {}) {
    upstream.answer(now, lane, booking, commands_);
    return started();
  }
  /// Told to ask again, the lane waits on its own.
  Ids answer(const std::vector<Time>& departures, std::optional<Time> ask_again = {}, std::string_view group = {}) {
    Booking booking{.scope = Booking::Scope::group};
    for (const Time at : departures) booking.departures.push_back({.at = at});
    booking.ask_again = booking.not_before = ask_again.value_or(0);
    return answer(booking, LaneKey(group));
  }
  Ids retry(Booking::Scope scope, LaneKey lane = {}) {
    upstream.retry(now, scope, lane, commands_);
    return started();
  }
  Ids change(const Settings& settings, std::span<const LimitIndex> moved = {}) {
    upstream.change(now, settings, moved, commands_);
    return started();
  }
  Ids advance_to(Time at) {
    now = at;
    upstream.advance(now, commands_);
    return started();
  }
  Ticket ticket(RequestId id) const { return tickets_.at(id); }

 private:
  Ids started() {
    Ids ids;
    for (const auto& start : commands_.start)
      ids.push_back(start.id), waited[start.id] = start.waited, limited[start.id] = start.limited_by,
                               departures[start.id] = start.departure;
    for (const RequestId id : commands_.resume) resumed.push_back(id);
    for (const RequestId id : commands_.close) closed.push_back(id);
    probes.insert(probes.end(), commands_.probe.begin(), commands_.probe.end());
    for (const auto& refusal : commands_.refuse) refused.push_back(refusal.id), refusals[refusal.id] = refusal;
    commands_.clear();
    return ids;
  }

  PlainLimiter plain_;
  Commands commands_;
  std::map<RequestId, Ticket> tickets_;

 public:
  Time now = 1'000 * kSecond;
  Scheduler upstream;
  Ids refused, resumed, closed;
  std::vector<Commands::Probe> probes;
  std::map<RequestId, Commands::Refuse> refusals;
  std::map<RequestId, Time> waited;
  std::map<RequestId, LimitIndex> limited;
  std::map<RequestId, Departure> departures;
};

using testing::ElementsAre;
using testing::IsEmpty;

}  // namespace penstock::flow
