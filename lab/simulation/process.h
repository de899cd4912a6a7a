// SPDX-License-Identifier: Apache-2.0
// One simulated process: the real limiter over the real client of Redis, and the real queue of one upstream. What the
// proxy around them does is played here: flights take their time, and what is to be cut is cut.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "flow/scheduler.h"
#include "loop/resolver.h"
#include "loop/timer.h"
#include "redis/limits/limiter_hub.h"
#include "simulation/journal.h"
#include "simulation/machine.h"
#include "simulation/network.h"

namespace penstock::simulation {

inline constexpr const char* kUpstream = "api";
inline constexpr const char* kPrefix = "p";

/// Hears what becomes of requests, from inside the process' own calls: it must not call the process again.
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
  /// `plan`, `journal` and all others must outlive it.
  Process(World& world, Host& host, loop::Resolver& resolver, const Plan& plan, int member, Journal& journal,
          Outcomes& outcomes);
  ~Process();  ///< without a word, as when it is killed
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// It ends as it should, with its last words; nothing else may happen to it afterwards.
  void end();
  /// From now on it goes by the plan's limits.
  void reload();
  /// The request is in the journal.
  void arrive(std::uint64_t id);
  void cancel(std::uint64_t id);
  void land(std::uint64_t id);
  /// The upstream asked for a pause, by the answer to some request.
  void pause(Time lasts);

  Machine& machine() { return machine_; }
  Network& network() { return network_; }
  bool idle() const { return heart_.pending() == 0 && heart_.in_flight() == 0; }
  std::size_t pending() const { return heart_.pending(); }
  /// Those that fly, the latest last.
  const std::vector<std::uint64_t>& flying() const { return flying_; }

 private:
  void answer(std::string_view group, const flow::Booking& booking) override;
  void retry(flow::Booking::Scope scope, std::string_view group) override;
  void cut(flow::Booking::Scope scope, std::string_view group, std::size_t count) override;

  void landed(std::uint64_t id);
  template <typename Call>
  void move(Call call);
  void carry_out();
  void note_standing();
  redis::HubWatch watch();
  std::unique_ptr<flow::Limiter> make_limiter();
  std::string group_of(std::uint64_t id) const;

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
  loop::Timer wake_;
  flow::Commands commands_, carrying_;
  bool busy_ = false;  // carrying out
  std::map<std::uint64_t, flow::Ticket> tickets_;
  std::vector<std::uint64_t> flying_;
};

}  // namespace penstock::simulation
