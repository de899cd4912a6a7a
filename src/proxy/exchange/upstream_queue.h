// SPDX-License-Identifier: Apache-2.0
// The queue of one upstream, or of all upstreams that draw on one quota, and what decides when its requests leave: the
// scheduler with its limiter, pauses and timers. It carries out what its scheduler commands, one exchange after the
// other, by QueueEvents.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flow/scheduler.h"
#include "http/fields.h"
#include "loop/timer.h"
#include "penstock/config.h"
#include "penstock/snapshot.h"
#include "proxy/exchange/late_watch.h"
#include "proxy/exchange/limit_view.h"
#include "proxy/exchange/pausing.h"
#include "proxy/exchange/queue_shares.h"
#include "proxy/exchange/services.h"
#include "proxy/exchange/taken_departure.h"

namespace penstock::proxy {

class UpstreamQueue;

/// What a queue decides about its exchanges, which are named by their ids. Those that have ended are to be ignored.
class QueueEvents {
 public:
  /// It has a slot and a departure, and takes off; or it is sent once more.
  virtual void on_start(const flow::Commands::Start& command) = 0;
  /// Its ticket is dead.
  virtual void on_refuse(const flow::Commands::Refuse& command) = 0;
  /// A tunnel that rested has a slot again.
  virtual void on_resume(flow::RequestId id) = 0;
  /// A resting tunnel makes room for another. Its ticket is dead.
  virtual void on_close(flow::RequestId id) = 0;
  /// A pause of requests with the same credentials has begun: requests that wait at no gate are to be sorted.
  virtual void on_paused(UpstreamQueue& queue) = 0;
  /// So many attempts, of the lanes that LimiterEvents::cut() means, hold permits that are lost, and must be ended.
  virtual void on_permits_lost(const UpstreamQueue& queue, flow::Booking::Scope scope, flow::LaneKey lane,
                               std::size_t count) = 0;

 protected:
  ~QueueEvents() = default;
};

class UpstreamQueue final : public flow::LimiterEvents {
 public:
  /// `its_name`: how the limiter is called in every process.
  UpstreamQueue(const Services& services, std::string its_name, const UpstreamSettings& its_settings,
                QueueEvents& events);

  // The course of a request. What each of these makes the scheduler decide is carried out before it returns, or, if it
  // was called from QueueEvents of this queue, soon after.

  /// Sets `ticket` first, since the exchange may have ended when this returns.
  void arrive(flow::Time arrived, const flow::Arrival& arrival, flow::Ticket& ticket);
  void land(flow::Ticket ticket);
  /// The request leaves the queue. If the scheduler has refused it itself or never seen it, nothing happens.
  void cancel(flow::Ticket ticket);
  /// The request is to be sent once more.
  void requeue(flow::Ticket ticket);
  /// The request was refused, and waits again in its old place, until `deadline` at the latest.
  void send_back(flow::Ticket ticket, flow::Time deadline, const http::Fields& request, const std::string& group);
  /// Instead of carrying out this start: the request leaves the queue, and its departure is for another.
  void turn_back(flow::Ticket ticket, const flow::Departure& departure);
  /// A tunnel rests and gives up its slot; called again if it has rested again.
  void park(flow::Ticket ticket);
  /// A parked tunnel wants a slot again.
  void resume(flow::Ticket ticket);
  /// The client of this tunnel will ask nothing more.
  void mark_spare(flow::Ticket ticket);

  /// A request of `lane` takes off with this departure, and counts in the limits of that route, if any. Returns for how
  /// long limits in shadow mode would have held it, which may wait so long at most.
  WouldWait take(TakenDeparture& taken, flow::LaneKey lane, std::string_view route, const flow::Departure& departure,
                 Duration max_wait) {
    late_.take(taken, lane, departure);
    return limits_.departed(flow::LaneKey(lane.group, route), departure.load(), max_wait);
  }
  /// Its bytes have left.
  void left(flow::Ticket ticket, TakenDeparture& taken, flow::LaneKey lane, flow::Time now) {
    taken.left(now, *limiter_, lane);
    if (scheduler_.gates().any()) scheduler_.left(now, ticket);
  }
  /// What the request that took this departure has cost is known.
  void settle(flow::LaneKey lane, const flow::Departure& departure, int cost);
  /// The final head of the answer to a request in flight has come. Also called from inside libcurl: what this decides
  /// is carried out soon after.
  void observe(const Pausing::Answer& answer);
  /// The lane in which a request of the group waits.
  std::string lane_of(const http::Fields& request, const std::string& group) const {
    return pausing_.lane_of(request, group);
  }
  /// A waiting request goes to that lane, if it is in another. Carried out soon after.
  void sort(flow::Ticket ticket, const http::Fields& request, const std::string& group);

  /// Ends all its pauses, here and in other processes. False: this process knows of none.
  bool end_pauses();
  /// This process alone lets nothing leave for a while, twice as long with each call in a row and at most `longest`,
  /// for what became of that request. See Scheduler::pause().
  void stop_alone(flow::Ticket ticket, Duration longest);

  /// Applies new settings. Afterwards call renumber() for each of its exchanges, then renumbered().
  /// `is_gone`: the file has it no longer, and these are its own; its limiter may have to go through another Redis.
  void change(flow::Time now, const UpstreamSettings& its_settings, bool is_gone = false);
  /// Adapts limit numbers and epoch to the last change, which may have renumbered the limits.
  void renumber(flow::LimitIndex& limited_by, TakenDeparture& departure) const;
  /// Later exchanges have the new numbers. Carries out what the change has decided.
  void renumbered();

  const flow::Scheduler& scheduler() const { return scheduler_; }
  const flow::Limiter& limiter() const { return *limiter_; }
  /// No exchange is left, and nothing is to be carried out.
  bool at_rest() const { return flow::idle(scheduler_) && !carrying_out_; }
  /// A new queue would have the same limits and pauses.
  bool forgettable(flow::Time now) const {
    return at_rest() && limiter_->forgettable(now) && !scheduler_.gates().any_closed(now) && limits_.forgettable(now);
  }
  flow::Time last_used() const { return last_used_; }
  /// Sets all that is about requests that wait and limits, but for the names of groups, which are as the limiter has
  /// them.
  void show(UpstreamSnapshot& into, bool with_groups) const;

  /// By how much the limit's times may move because requests have departed and not left yet, in microseconds.
  flow::Time lateness(flow::LimitIndex limit, flow::Time now) const;

  // For the limiter.
  void answer(flow::LaneKey lane, const flow::Booking& booking) override;
  void retry(flow::Booking::Scope scope, flow::LaneKey lane) override;
  void heard(const flow::PauseNews& news) override;
  void cut(flow::Booking::Scope scope, flow::LaneKey lane, std::size_t count) override;
  flow::WaitingUnits units_waiting() const override;

  const std::string name;     ///< the quota's or the entry's, or host:port
  UpstreamSettings settings;  ///< without limits in shadow mode, of which only people know
  QueueShares shares;         ///< used if there are no groups
  bool is_of_quota = false;   ///< requests of several upstreams may wait in it

 private:
  template <typename Call>
  void apply(Call call);
  void carry_out();
  void change_limiter(flow::Time now, LimitView::Limits its_limits, bool fits);

  const Services& services_;
  QueueEvents& events_;
  LimitView limits_;  // has the settings' limits; the limiter refers to this copy
  std::unique_ptr<flow::Limiter> limiter_;
  flow::Scheduler scheduler_;
  Pausing pausing_;
  LateWatch late_;
  flow::Commands commands_, carried_out_;
  bool carrying_out_ = false;
  flow::Time last_used_ = 0;
  struct LastChange {
    std::vector<flow::LimitIndex> moved;  // limit remap; empty: none moved
    bool other_limiter = false;           // it replaced the limiter
  };
  LastChange last_change_;
  loop::Timer wake_;
};

}  // namespace penstock::proxy
