// SPDX-License-Identifier: Apache-2.0
// One simulated process: the real limiter over the real Redis client, and the real queue of one upstream. This class
// plays the part of the proxy around them: flights take their time, and requests to be cut are cut.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flow/scheduler.h"
#include "loop/resolver.h"
#include "loop/timer.h"
#include "proxy/exchange/late_watch.h"
#include "proxy/exchange/taken_departure.h"
#include "redis/limits/limiter_hub.h"
#include "simulation/beside.h"
#include "simulation/journal.h"
#include "simulation/machine.h"
#include "simulation/network.h"
#include "simulation/quota_origin.h"
#include "simulation/redis_site.h"
#include "simulation/repeats.h"

namespace penstock::simulation {

/// Hears the outcome of requests, called from inside the process' own calls: it must not call the process again.
class Outcomes {
 public:
  virtual void departed(std::uint64_t id) = 0;
  virtual void refused(std::uint64_t id) = 0;
  virtual void cut(std::uint64_t id) = 0;

 protected:
  ~Outcomes() = default;
};

class Process final : flow::LimiterEvents {
 public:
  /// The journal and all other references must outlive it.
  Process(World& world, Hosts& hosts, loop::Resolver& resolver, const Plan& plan, int member, Journal& journal,
          Outcomes& outcomes);
  ~Process();  ///< without last words, as when it is killed
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Ends the process properly, with its last words to Redis; no other call may follow.
  void end();
  /// From now on the process uses the plan's limits.
  void reload();
  /// The journal already has the request.
  void arrive(std::uint64_t id);
  void cancel(std::uint64_t id);
  /// The connection of a request that took off is there.
  void leave(std::uint64_t id);
  void land(std::uint64_t id);
  /// The upstream refused it; it lands next.
  void turned_away(std::uint64_t id);
  /// An answer has come. True: it was a refusal, and the request waits to be sent again. Only of a process that runs.
  bool sends_back(std::uint64_t id);
  /// Its answer tells of the upstream's quota. If it refuses, the request waits to be sent again; if not, it lands
  /// next.
  void told(std::uint64_t id, const QuotaWord& word);
  /// The upstream asked for a pause in the answer to some request.
  void pause(Time lasts);

  Machine& machine() { return machine_; }
  Network& network() { return network_; }
  bool idle() const { return heart_.pending() == 0 && heart_.in_flight() == 0; }
  std::size_t pending() const { return heart_.pending(); }
  /// In how long the last request leaves that waits here, as people are told.
  std::optional<Time> last_leaves_in() const;
  /// The requests in flight, the latest last.
  const std::vector<std::uint64_t>& flying() const { return flying_; }

 private:
  void answer(flow::LaneKey lane, const flow::Booking& booking) override;
  void retry(flow::Booking::Scope scope, flow::LaneKey lane) override;
  void heard(const flow::PauseNews& news) override;
  void cut(flow::Booking::Scope scope, flow::LaneKey lane, std::size_t count) override;
  flow::WaitingUnits units_waiting() const override { return heart_.forecast().units_waiting(machine_.now()); }

  void foretell(std::uint64_t id);
  void enter(std::uint64_t id);

  void take_off(std::uint64_t id, const flow::Departure& departure);
  void settle(std::uint64_t id);
  void landed(std::uint64_t id);
  template <typename Call>
  void move(Call call);
  void carry_out();
  /// Whether this upstream goes by `whenDown`; others beside it do not matter.
  bool degraded();
  void note_standing();
  redis::HubWatch watch();
  std::unique_ptr<flow::Limiter> make_limiter();
  flow::LaneName lane_of(std::uint64_t id) const;

  World& world_;
  const Plan& plan_;
  const int member_;
  Journal& journal_;
  Outcomes& outcomes_;
  Machine machine_;
  Network network_;
  const RedisConfig config_;
  redis::LimiterHub hub_;
  std::unique_ptr<flow::Limiter> limiter_;
  flow::Scheduler heart_;
  proxy::LateWatch late_;
  std::vector<std::unique_ptr<Beside>> beside_;
  struct Leaving {
    flow::LaneName lane;
    proxy::TakenDeparture taken;
  };
  std::map<std::uint64_t, Leaving> leaving_;             // requests that took off and have no connection yet
  std::map<std::uint64_t, flow::Departure> departures_;  // of requests in flight that may be refused or have a cost
  Repeats repeats_;
  loop::Timer wake_;
  flow::Commands commands_, carrying_;
  bool busy_ = false;  // carry_out() is running
  bool said_degraded_ = false;
  std::map<std::uint64_t, flow::Ticket> tickets_;
  std::vector<std::uint64_t> flying_;
};

}  // namespace penstock::simulation
