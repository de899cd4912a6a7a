// SPDX-License-Identifier: Apache-2.0
// The limiter of one upstream whose limits all processes share: one script call for each ask, answered through
// LimiterEvents within the time-out, whatever happens to Redis. `whenDown` rules while Redis does not answer, or has
// lost its memory and waits for what the processes remember; it also rules a single limit whose value in Redis is
// foreign. shared_limiter.cc has asks and answers, small_calls.cc and permits_at_hand.cc the use of permits,
// quarantined_limits.cc asks without quarantined limits, recovery.cc how the limiter comes to agree with Redis again,
// reconfigure.cc changes of the limits. Made by limiter_hub.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/weak_self.h"
#include "flow/group_hash.h"
#include "flow/limiter.h"
#include "flow/pauses.h"
#include "loop/timer.h"
#include "penstock/limits.h"
#include "redis/limits/agreement.h"
#include "redis/limits/book_reply.h"
#include "redis/limits/clock_map.h"
#include "redis/limits/counter_resets.h"
#include "redis/limits/group_key.h"
#include "redis/limits/late_reports.h"
#include "redis/limits/limiter_owner.h"
#include "redis/limits/pending_asks.h"
#include "redis/limits/quarantine.h"
#include "redis/limits/recent.h"
#include "redis/limits/script_args.h"
#include "redis/limits/semaphores.h"
#include "redis/limits/shadow.h"
#include "redis/limits/shared_pauses.h"
#include "redis/limits/shared_redis.h"
#include "redis/limits/wait_list.h"

namespace penstock::redis {

class SharedLimiter final : public flow::Limiter {
 public:
  SharedLimiter(SharedRedis& shared, LimiterOwner& owner, std::string name, const std::vector<LimitConfig>& limits,
                flow::LimiterEvents& events);
  ~SharedLimiter() override;
  SharedLimiter(const SharedLimiter&) = delete;
  SharedLimiter& operator=(const SharedLimiter&) = delete;

  bool ask(flow::Time now, const flow::Ask& ask, flow::Booking& booking) override;
  flow::Time patience() const override { return shared_.config().timeout.count(); }
  flow::Time lead() const override;
  flow::LimitIndex forbids(int weight) const override;
  flow::Time ahead(flow::Time now, std::string_view group, std::int64_t units, std::int64_t others) const override;
  void give_back(flow::Time now, std::string_view group, const flow::Departure& departure) override;
  flow::Departure report_late(std::string_view group, flow::Departure departure, flow::Time at) override;
  bool landed(flow::Time now, std::string_view group) override;
  flow::Time expected(flow::Time now, std::string_view group, int weight, std::int64_t units,
                      std::int64_t others) const override;
  /// The processes that use the upstream, as far as known.
  int processes() const { return alone() ? 1 : alive_; }
  void cancel_wait(flow::Time now, flow::Booking::Scope scope, std::string_view group) override;
  void pause(flow::Time now, std::string_view group, flow::Time until) override;
  void pause_anonymous(flow::Time now, std::string_view group, flow::Time until) override {
    anonymous_.extend(now, group, until);
  }
  flow::Time anonymous_paused_until(std::string_view group) const override {
    return std::max(anonymous_.of_upstream(), anonymous_.of_group(group));
  }
  bool has_room_for(std::string_view group) const override {
    const bool room = anonymous_.groups() < flow::kMostGroups && shadow_.all().has_room_for(group);
    return room || anonymous_.of_group(group) > 0 || shadow_.all().knows(group);
  }
  /// What the limits have counted elsewhere is in Redis; this process's own departures are needed in case Redis loses
  /// it.
  bool forgettable(flow::Time now) const override;
  void change(flow::Time now, const std::vector<LimitConfig>& limits) override;
  void count_existing(flow::Time now, std::string_view group, std::size_t departures) override;

  // Called by the shared.
  void redis_up();
  /// Redis is back; this limiter returns to it at that time, or when it is next used.
  void redis_up_at(flow::Time at) { look_again_.start(at); }
  bool may_return() const { return state_ == State::down && may_ask_redis(); }
  bool has_to_tell(flow::Time now) const;
  void redis_down();
  /// The first try to reach Redis has failed.
  void starts_alone() { wake_lanes(); }
  void message(std::string_view words);
  void hears(bool hears) { semaphores_.set_hears(hears); }
  void messages_gone();
  void tick(flow::Time now);  ///< each second
  bool alone() const { return state_ != State::connected; }
  /// Other processes have other limits, as last reported.
  bool limits_differ(flow::Time now) const { return agreement_.differs(now); }
  /// Some limit goes by `whenDown`.
  bool degraded() const { return alone() || !quarantine_.all().empty(); }
  bool in_use(flow::Time now) const;

 private:
  enum class State : std::uint8_t { connected, recovering, down };
  static constexpr flow::Time kInUse = 4'000'000;  // µs after the last ask
  // Asks and their answers.
  bool send(flow::Time now, PendingAsks::Id id);
  bool send_ask(flow::Time now, const Asking& asking, bool touch, std::span<const std::string> permits,
                Call::Done done);
  void answered(PendingAsks::Id id, const Outcome& outcome, flow::Time sent);
  bool read(const Outcome& outcome, std::size_t count, std::size_t semaphores, flow::Time sent);
  void apply_reply(const Asking& asking);
  void called(std::string_view group);
  void answer(const std::string& group);
  void take_permits(const Asking& asking, flow::Time sent);
  bool start_at_hand(flow::Time now, const flow::Ask& ask, flow::Booking& booking);
  void go_by_rule(flow::Time now, const flow::Ask& ask, flow::Booking& booking);
  void grant_alone(flow::Time now, const flow::Ask& ask, flow::Booking& booking);
  void stop_for_permit(flow::LimitIndex semaphore, flow::Booking& booking) const;
  std::int64_t more_than(const flow::Ask& ask) const { return ask.more + (shares_limit_of_all_ ? ask.others : 0); }
  void apply_grants(const Asking& asking);
  void decline(const Asking& asking, std::int64_t at);
  void note_left(const Asking& asking);
  void ask_in_time();
  void hear_standing(const Asking& asking);
  void answer_alone(const Asking& asking);
  WhenDown rule() const;
  void answer_later(const Asking& asking);
  void take_all_back(const Asking& asking);
  bool worked(const Outcome& outcome);
  bool may_ask_redis() const;
  bool hears_looks() const { return state_ != State::down || (refused_ && may_ask_redis()); }
  void refused();
  void complain(std::string_view why);
  void compare_limits(flow::Time now);

  // Quarantine.
  std::optional<std::pair<flow::LimitIndex, std::string_view>> limit_to_quarantine(const Failure& why) const;
  bool quarantine(const Asking& asking, const Failure& why);
  void ask_without(PendingAsks::Id id);
  void release(const Asking& asking);
  bool allowed_here(flow::Time now, Asking& asking, flow::Booking& booking);
  bool kept_here(const Asking& asking, flow::LimitIndex limit) const;
  bool still_allowed_here(const Asking& asking, flow::Time& at);
  void try_together(const Quarantine::Part& one);
  void replay_quarantined(const Quarantine::Part& one, std::string_view state, std::function<void()> taken);
  void leave_quarantine(const Quarantine::Part& one);
  void share_apart();
  std::string named(const Quarantine::Part& one) const;
  flow::Booking::Scope scope_of(flow::LimitIndex limit) const;

  // Changes of the limits.
  void compare_kept_limits();
  void rename_in_asks(std::span<const flow::LimitIndex> moved);
  void note_since_when_shared(const std::vector<LimitConfig>& before, std::span<const flow::LimitIndex> moved);
  flow::LimitIndex place_of(const Asking& asking, std::int64_t number) const;
  void invalidate_wait(const Asking& asking);
  flow::LimitIndex shared_as(const LimitConfig& limit) const;
  std::vector<flow::LimitIndex> not_counting(std::string_view group, flow::ConfigEpoch epoch) const;

  // Recovery.
  void replay(ScriptArgs::Replay what);
  std::string lately();
  struct Telling;
  void part_replayed(Telling& telling, const Outcome& outcome);
  void replayed(const Telling& telling);
  void look(flow::Time now);
  void look_again();
  void look_answered(const Outcome& outcome, std::size_t semaphores, flow::Time sent);
  void look_failed(const Failure& why);
  void generation_lost();
  void memory_lost();
  static constexpr std::string_view kLost = "lost";                          // told to all processes
  static constexpr std::string_view kPaused = "paused";                      // likewise
  static constexpr std::string_view kBack = "back", kGathered = "gathered";  // from the scripts, see away.lua
  void wait_until_open();
  void go_alone(State standing);
  void divide_limits();
  int sharers() const;
  void join();
  void wake_lanes();

  // Small calls.
  bool call(Script script, Call::Done done);
  bool call(Script script);
  void send_moves(std::string_view group, const LateReports::Moves& moves);
  void move_in_redis(std::string_view group, flow::Departure& departure);
  void send_give_back(std::string_view group, std::int64_t at, int weight, flow::ConfigEpoch epoch);
  void send_pause(flow::Time now, std::string_view group, flow::Time until);
  void learn_pause(const Asking& asking);
  void some_lane_pauses(flow::Time length);
  void renew(const Semaphores::Named& which, const std::string& told);
  void about_permits(std::string_view words);
  void paused_elsewhere(std::string_view words);
  void reset(flow::LimitIndex counter, const std::string& group);
  void was_reset(const LimitConfig& counter, const std::string& group, const Outcome& outcome);

  GroupKey key_of(std::string_view group) const { return {hash_, group}; }

  SharedRedis& shared_;
  LimiterOwner& owner_;
  const std::string name_;
  std::vector<LimitConfig> limits_;
  flow::LimiterEvents& events_;
  const flow::GroupHash hash_;
  ScriptArgs script_args_;
  bool own_limits_;                              // some limits are not shared
  bool own_semaphore_;                           // one of these is a semaphore
  bool shares_limit_of_all_;                     // a shared limit, not a semaphore, holds lanes of every group
  bool needs_messages_;                          // a semaphore or a counter is shared
  bool looks_back_;                              // a shared limit counts by the times of departures
  bool looks_back_on_groups_;                    // such a limit is per group
  std::vector<flow::ConfigEpoch> shared_since_;  // of each limit: earlier departures do not count in it in Redis
  std::uint64_t changes_ = 0;                    // count of changes of the limits
  base::WeakSelf<SharedLimiter> self_{this};

  State state_;
  bool refused_ = false;        // down because Redis did not answer as it should, until a look succeeds
  std::string generation_;      // empty: not known
  std::string booked_in_;       // generation of the bookings, until all is handed in to the next
  std::int64_t latest_ = 0;     // latest script time that an answer told, which Redis keeps
  bool has_met_ = true;         // the current server has heard of `latest_`
  bool has_said_since_ = true;  // and that this process was away
  int alive_ = 1;
  flow::Time counted_at_;  // when Redis last told how many
  int parts_ = 1;          // into which limits are divided while this process is alone
  ClockMap clock_;
  flow::LocalLimiter whole_;                    // the limits' states as Redis told last; nothing is booked here
  std::optional<flow::OtherProcesses> others_;  // other processes that wait for these limits, likewise
  Shadow shadow_;
  Recent recent_;                                  // units granted, by the script time at which Redis knew of them
  std::int64_t alone_units_ = 0, told_units_ = 0;  // units granted alone: not told yet; being told
  Quarantine quarantine_;
  PendingAsks pending_asks_;
  LateReports late_;
  CounterResets counter_resets_;
  Semaphores semaphores_;
  loop::Timer look_again_;

  flow::Time last_asked_;
  flow::Time last_touch_;
  WaitList wait_list_;
  flow::Pauses untold_;   // pauses of which Redis knows nothing, by group
  flow::Pauses learned_;  // all pauses known to this process: Redis may forget them
  SharedPauses anonymous_;
  Agreement agreement_;
  flow::Time complained_;
  bool has_complained_ = false;                     // a complaint whose end was not reported yet
  flow::Time paused_until_ = 0;                     // some lane is paused, as others said: Redis is to be asked
  std::int64_t reserved_ = 0, reserved_units_ = 0;  // kept for asks under way
  bool permit_freed_ = false;

  // Reused, to save allocations.
  ScriptCall call_;
  std::vector<std::string> permits_;
  BookReply reply_;
  flow::Booking booking_;
};

}  // namespace penstock::redis
