// SPDX-License-Identifier: Apache-2.0
// One upstream in one process, as the proxy would have it: a hub with a connection of its own, a limiter, the
// scheduler, and requests that land as soon as they take off. Several of them on one loop are several processes to
// Redis.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flow/limit_remap.h"
#include "flow/probing.h"
#include "flow/rehearsal.h"
#include "flow/rehearsed_limiter.h"
#include "flow/scheduler.h"
#include "loop/resolver.h"
#include "loop/timer.h"
#include "redis/limits/limiter_hub.h"
#include "redis/limits/shared_limiter.h"
#include "support/redis_server.h"
#include "support/test_loop.h"

namespace penstock::redis {

inline LimitConfig pacer(double qps, int max_burst = 0) {
  return {.kind = PacerConfig{.qps = qps, .max_burst = max_burst}, .name = "pacer"};
}

/// Notes down every departure that is granted: requests take off a little later, by as much as the machine is busy. If
/// that is so late that it is reported, the departure is noted as it counts from then on.
class Recorder final : public flow::Limiter {
 public:
  explicit Recorder(std::unique_ptr<flow::Limiter> limiter) : limiter_(std::move(limiter)) {}

  bool ask(flow::Time now, const flow::Ask& ask, flow::Booking& booking) override {
    const bool at_once = limiter_->ask(now, ask, booking);
    if (at_once) note(booking);
    paused |= at_once && booking.limited_by == flow::kPause;
    return at_once;
  }
  flow::Time patience() const override { return limiter_->patience(); }
  flow::Time lead() const override { return limiter_->lead(); }
  flow::LimitIndex forbids(const flow::Load& load, std::string_view route) const override {
    return limiter_->forbids(load, route);
  }
  flow::Time ahead(flow::Time now, flow::LaneKey lane, std::int64_t units,
                   const flow::OtherUnits& others) const override {
    return limiter_->ahead(now, lane, units, others);
  }
  flow::Time expected(flow::Time now, flow::LaneKey lane, const flow::Load& load, std::int64_t units,
                      const flow::OtherUnits& others) const override {
    return limiter_->expected(now, lane, load, units, others);
  }
  std::unique_ptr<flow::RehearsedLimiter> rehearsal(flow::Time now,
                                                    std::span<const std::string_view> groups) const override {
    return limiter_->rehearsal(now, groups);
  }
  void give_back(flow::Time now, flow::LaneKey lane, const flow::Departure& departure) override {
    limiter_->give_back(now, lane, departure);
  }
  flow::Departure report_late(flow::LaneKey lane, flow::Departure departure, flow::Time at) override {
    const auto late = limiter_->report_late(lane, departure, at);
    const auto is_it = [&](const auto& one) { return one.at == departure.at && one.in_redis == departure.in_redis; };
    const auto latest_first = std::views::reverse(granted);  // a search from the first would take longer and longer
    if (const auto it = std::ranges::find_if(latest_first, is_it); it != latest_first.end()) *it = late;
    return late;
  }
  bool settle(flow::Time now, flow::LaneKey lane, const flow::Departure& departure, int cost) override {
    return limiter_->settle(now, lane, departure, cost);
  }
  bool landed(flow::Time now, flow::LaneKey lane) override { return limiter_->landed(now, lane); }
  int processes() const { return dynamic_cast<SharedLimiter&>(*limiter_).recovery().processes(); }
  /// Redis has told a lane that its group is paused.
  bool knows_pause(std::string_view group) const { return paused_groups.contains(std::string(group)); }
  bool in_use(flow::Time now) const { return dynamic_cast<SharedLimiter&>(*limiter_).recovery().in_use(now); }
  void cancel_wait(flow::Time now, flow::Booking::Scope scope, flow::LaneKey lane) override {
    limiter_->cancel_wait(now, scope, lane);
  }
  void pause(flow::Time now, std::string_view group, flow::Time until) override { limiter_->pause(now, group, until); }
  bool shorten_pauses(flow::Time now, flow::Time latest) override { return limiter_->shorten_pauses(now, latest); }
  flow::PauseSharing* pauses_shared() override { return limiter_->pauses_shared(); }
  flow::LimitReader* reader() override { return limiter_->reader(); }
  bool has_room_for(std::string_view group) const override { return limiter_->has_room_for(group); }
  bool forgettable(flow::Time now) const override { return limiter_->forgettable(now); }
  void change(flow::Time now, const std::vector<LimitConfig>& limits) override { limiter_->change(now, limits); }
  void count_existing(flow::Time now, flow::LaneKey lane, std::size_t departures) override {
    limiter_->count_existing(now, lane, departures);
  }

  void note(const flow::Booking& booking) {
    for (const auto& departure : booking.departures) {
      booked.push_back(departure.at);
      granted.push_back(departure);
    }
  }
  /// For another that takes its place. Only the destructor may be called afterwards.
  std::unique_ptr<flow::Limiter> release() { return std::move(limiter_); }

  std::vector<flow::Time> booked;
  std::deque<flow::Departure> granted;
  bool paused = false;  ///< as it answered at once
  std::set<std::string> paused_groups;

 private:
  std::unique_ptr<flow::Limiter> limiter_;
};

struct TookOff {
  flow::Time at;
  flow::LimitIndex limited_by;
  std::string group;
  std::string route;
  flow::Time booked;
};

class LimiterFixture final : public flow::LimiterEvents {
 public:
  LimiterFixture(test::TestLoop& run, loop::Resolver& resolver, const RedisConfig& config,
                 std::vector<LimitConfig> limits)
      : loop_(run.loop),
        resolver_(resolver),
        limits_(std::move(limits)),
        hub_(connect(config)),
        limiter_(std::make_unique<Recorder>(hub_->make_limiter("github", limits_, *this))),
        heart_(kSettings, *limiter_),
        timer_(run.loop, [this] { advance(); }) {}

  static constexpr flow::Settings kSettings{.max_concurrent = 64, .max_pending = 100'000, .max_wait = 60'000'000};

  LimiterHub& hub() { return *hub_; }
  Recorder& limiter() { return *limiter_; }
  bool up() const { return hub_->up(); }
  bool degraded() const { return degraded_; }
  const std::vector<std::string>& notices() const { return notices_; }
  /// From the slowest call to its answer.
  flow::Time slowest_call() const { return slowest_call_; }

  /// What took off, in order; what was refused.
  const std::deque<TookOff>& took_off() const { return took_off_; }
  const std::vector<flow::Time>& booked() const { return limiter_->booked; }
  const std::deque<flow::Departure>& granted() const { return limiter_->granted; }
  const std::vector<flow::Commands::Refuse>& refused() const { return refused_; }
  std::size_t pending() const { return heart_.pending(); }
  /// After what time each answer of Redis wanted to be asked again.
  const std::deque<flow::Time>& told_to_ask_after() const { return told_to_ask_after_; }
  /// How many flights had to be ended, because their permits were lost.
  std::size_t cut() const { return cut_; }

  void arrive(int count = 1, flow::LaneKey lane = {}, const flow::Load& load = {}) {
    for (int i = 0; i < count; ++i) {
      lanes_.emplace_back(lane);
      tickets_.push_back({});
      tickets_.back() = heart_.arrive(
          loop_.now(),
          {.id = lanes_.size() - 1, .weight = load.weight, .group = lane.group, .route = lane.route, .cost = load.cost},
          commands_);
      carry_out();
    }
  }
  /// The n-th that arrived, from 0.
  void leave(std::size_t n) {
    heart_.cancel(loop_.now(), tickets_[n], commands_);
    carry_out();
  }
  /// Each that takes off is followed by another, for ever.
  void work_without_end(int workers, flow::LaneKey lane = {}) {
    endless_ = true;
    arrive(workers, lane);
  }
  void stop_working() { endless_ = false; }
  /// As a new configuration does.
  void change(std::vector<LimitConfig> limits, const flow::Settings& settings = kSettings) {
    limiter_->change(loop_.now(), limits);
    limits_have_changed(std::move(limits), settings);
  }
  /// To limits of which none is shared, and back.
  void change_to_own(std::vector<LimitConfig> limits) {
    replace(hub_->make_pausing_limiter("github", limits, *this));
    limits_have_changed(std::move(limits), kSettings);
  }
  void change_to_shared(std::vector<LimitConfig> limits) {
    replace(hub_->make_limiter("github", limits, *this));
    limits_have_changed(std::move(limits), kSettings);
  }
  /// As a reload that names another Redis. What was spent counts.
  void change_redis(const RedisConfig& config) {
    auto hub = connect(configs_.emplace_back(config));
    replace(hub->make_limiter("github", limits_, *this, limiter_->release()), true);
    hub_ = std::move(hub);
    limits_have_changed(limits_, kSettings);
  }
  /// When one would leave that came now.
  flow::Outlook ahead() const { return flow::rehearse(loop_.now(), heart_, {}); }
  /// From now on those that take off land when the test says so.
  void fly_on() { land_at_once_ = false; }
  void answered(std::size_t n) {
    heart_.answered(loop_.now(), tickets_[n], commands_);
    carry_out();
  }
  /// The request that took the n-th departure that was granted has cost so much.
  void settle(std::size_t n, int cost, flow::LaneKey lane = {}) {
    const flow::Departure departure = granted().at(n);
    if (limiter_->settle(loop_.now(), lane, departure, cost)) flow::units_came(heart_, loop_.now(), lane, commands_);
    carry_out();
  }
  /// As an answer that asks for a pause.
  void pause(flow::Time length, std::string_view group = {}) {
    const flow::Time now = loop_.now(), until = heart_.pause(now, group, length, length, {});
    limiter_->pause(now, group, until);
    carry_out();
  }
  /// All pauses, here and in other processes, as by `penstock resume`. False: none is known here.
  bool end_pauses() {
    const bool some = shorten_pauses_to(loop_.now());
    limiter_->pauses_shared()->tell_shortened(0);
    carry_out();
    return some;
  }
  std::vector<std::pair<std::string, flow::Time>> paused_scopes;  ///< told by other processes, with their ends
  void land(std::size_t n) {
    heart_.land(loop_.now(), tickets_[n], commands_);
    carry_out();
  }

 private:
  void answer(flow::LaneKey lane, const flow::Booking& booking) override {
    limiter_->note(booking);
    if (booking.limited_by == flow::kPause) limiter_->paused_groups.insert(std::string(lane.group));
    told_to_ask_after_.push_back(booking.ask_again - loop_.now());
    heart_.answer(loop_.now(), lane, booking, commands_);
    carry_out();
  }
  void heard(const flow::PauseNews& news) override {
    using What = flow::PauseNews::What;
    if (news.what == What::begun) return void(paused_scopes.emplace_back(news.group, news.until));
    if (news.what == What::shortened) {
      shorten_pauses_to(news.until);
    } else {
      heart_.hear(loop_.now(), news, commands_);
    }
    carry_out();
  }
  void retry(flow::Booking::Scope scope, flow::LaneKey lane) override {
    heart_.retry(loop_.now(), scope, lane, commands_);
    carry_out();
  }
  void cut(flow::Booking::Scope, flow::LaneKey, std::size_t count) override { cut_ += count; }
  bool shorten_pauses_to(flow::Time latest) {
    const bool of_limiter = limiter_->shorten_pauses(loop_.now(), latest);
    return heart_.shorten_pauses(loop_.now(), latest, commands_) || of_limiter;
  }
  void advance() {
    heart_.advance(loop_.now(), commands_);
    carry_out();
  }

  std::unique_ptr<LimiterHub> connect(const RedisConfig& config) {
    return std::make_unique<LimiterHub>(
        loop_, resolver_, config,
        HubWatch{.on_degraded = [this](bool degraded) { degraded_ = degraded; },
                 .on_round_trip = [this](Duration took) { slowest_call_ = std::max(slowest_call_, took.count()); }},
        [this](const Notice& notice) { notices_.push_back(notice.text); }, sockets(), who_);
  }
  void replace(std::unique_ptr<flow::Limiter> limiter, bool knows_departures = false) {
    auto next = std::make_unique<Recorder>(std::move(limiter));
    next->booked = limiter_->booked;
    next->granted = limiter_->granted;
    heart_.replace(*next, knows_departures);
    limiter_ = std::move(next);
  }
  void limits_have_changed(std::vector<LimitConfig> limits, const flow::Settings& settings) {
    const auto moved = flow::limit_remap(limits_, limits);
    limits_ = std::move(limits);
    heart_.change(loop_.now(), settings, moved, commands_);
    carry_out();
  }

  void carry_out() {
    if (std::exchange(carrying_out_, true)) return;
    while (!commands_.empty()) {
      const flow::Commands now = std::exchange(commands_, {});
      for (const auto& probe : now.probe) {
        flow::carry_out(probe, limiter_->pauses_shared(), loop_.now(), heart_, commands_);
      }
      refused_.insert(refused_.end(), now.refuse.begin(), now.refuse.end());
      for (const auto& start : now.start) take_off(start);
    }
    carrying_out_ = false;
    const auto next = heart_.wake_at();
    if (next) timer_.start(*next);
    if (!next) timer_.stop();
  }
  void take_off(const flow::Commands::Start& start) {
    const flow::LaneName lane = lanes_[start.id];
    took_off_.push_back({loop_.now(), start.limited_by, lane.group, lane.route, start.booked});
    if (land_at_once_) heart_.land(loop_.now(), tickets_[start.id], commands_);
    if (endless_) arrive(1, lane);
  }

  loop::Loop& loop_;
  loop::Resolver& resolver_;
  const std::string who_ = "desk" + std::to_string(sockets().draw());  // one process, whatever it is connected to
  std::vector<LimitConfig> limits_;
  std::deque<RedisConfig> configs_;  // of changes
  bool degraded_ = false;
  flow::Time slowest_call_ = 0;
  std::vector<std::string> notices_;
  std::unique_ptr<LimiterHub> hub_;
  std::unique_ptr<Recorder> limiter_;
  flow::Scheduler heart_;
  flow::Commands commands_;
  loop::Timer timer_;
  // Deques, as a vector that grows moves all that it holds: 15 ms under a sanitizer, which would count as the
  // limiter's.
  std::deque<flow::Ticket> tickets_;
  std::deque<flow::LaneName> lanes_;
  std::deque<TookOff> took_off_;
  std::vector<flow::Commands::Refuse> refused_;
  std::deque<flow::Time> told_to_ask_after_;
  std::size_t cut_ = 0;
  bool endless_ = false;
  bool land_at_once_ = true;
  bool carrying_out_ = false;
};

/// Desks at a real redis-server.
class SharedLimiterTest : public testing::Test {
 protected:
  SharedLimiterTest() { config_.timeout = 5s; }  // Redis is late only where a test says so

  /// Unless there is a generation: a young one grants no permit for half a lease.
  void begin_an_old_generation() { server_.run({"SET", "penstock:{github}:head", "2 1-old - 1 0 -", "NX"}); }
  std::unique_ptr<LimiterFixture> make(std::vector<LimitConfig> limits) {
    config_.port = server_.port();
    return std::make_unique<LimiterFixture>(run_, resolver_, config_, std::move(limits));
  }
  /// One that is connected.
  std::unique_ptr<LimiterFixture> desk(std::vector<LimitConfig> limits) {
    auto made = make(std::move(limits));
    EXPECT_TRUE(run_.run_until([&] { return made->up() && !made->degraded(); }));
    return made;
  }
  bool took_off(const LimiterFixture& desk, std::size_t count) {
    return run_.run_until([&] { return desk.took_off().size() >= count; });
  }
  /// So many desks have subscribed to what is told to all.
  bool all_listen(int desks) {
    return run_.run_until([&] {
      const auto listeners = server_.run({"PUBSUB", "NUMSUB", "penstock:to:all"});
      return listeners.items.size() == 2 && listeners.items[1].integer == desks;
    });
  }

  test::TestLoop run_;
  loop::Resolver resolver_{run_.loop, DnsConfig{}};
  RedisConfig config_;
  test::RedisServer server_;
};

/// The times for which any of them was granted a departure, in order.
template <typename... Desks>
std::vector<flow::Time> all_times(const Desks&... desks) {
  std::vector<flow::Time> times;
  (times.insert(times.end(), desks.booked().begin(), desks.booked().end()), ...);
  std::ranges::sort(times);
  return times;
}

/// By so much the times that these processes were granted may differ from those on Redis' clock. Each call tells where
/// that clock is, give or take half of what it took; 2 ms are for a process which is interrupted between two lines.
template <typename... Desks>
flow::Time clock_error(const Desks&... desks) {
  return 2'000 + std::max({desks.slowest_call()...});
}

/// The most of them in any stretch of that length.
inline std::size_t fullest(const std::vector<flow::Time>& times, flow::Time length) {
  std::size_t most = 0;
  for (std::size_t first = 0, last = 0; last < times.size(); ++last) {
    while (times[last] - times[first] >= length) ++first;
    most = std::max(most, last - first + 1);
  }
  return most;
}

}  // namespace penstock::redis
