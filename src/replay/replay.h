// SPDX-License-Identifier: Apache-2.0
// Plays the requests of one upstream once more, in virtual time, with settings of its own: the scheduler and the limits
// are those of the proxy. Pure: the same log and settings always come to the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flow/local_limiter.h"
#include "flow/scheduler.h"
#include "penstock/config.h"
#include "replay/request_log.h"

namespace penstock::replay {

/// One sending of a request.
struct Sending {
  std::uint32_t request = 0;
  Time at = 0;  ///< when it took off
};

/// Of all upstreams, those of each in the order of time.
struct Repeats {
  std::deque<Sending> played;  ///< sendings after the first one of a request
  std::size_t most = 0;        ///< more are not played: each line of a log may claim a thousand
  std::uint64_t left_out = 0;
};

class Replay {
 public:
  /// `order`: the requests of this upstream by arrival, as numbers of `log`; `places`: of all requests. `flight` is
  /// taken where the log has none. All but `settings` must outlive this.
  Replay(const RequestLog& log, const std::deque<Place>& places, std::span<const std::uint32_t> order,
         const UpstreamSettings& settings, Time flight);

  /// Plays all of them. Writes what becomes of each into `outcomes`, at its number.
  void run(std::span<Outcome> outcomes, Repeats& repeats);

 private:
  /// A request that waits or is in flight; its place is its RequestId.
  struct Live {
    std::uint32_t request = 0;
    int sent = 0;
    flow::Ticket ticket;
  };
  struct Later {
    Time at;
    std::uint64_t turn;  // of those at the same time
    std::uint32_t live;
    flow::Ticket ticket;  // names the request, since places are reused
    bool lands;           // or its client leaves
    bool operator>(const Later& other) const { return at != other.at ? at > other.at : turn > other.turn; }
  };

  Time wakes_at() const;
  void arrive(std::uint32_t request);
  std::uint32_t take_place(std::uint32_t request);
  void release(std::uint32_t live);
  void play(const Later& later);
  void land(const Later& later);
  void carry_out();
  void start(const flow::Commands::Start& command);
  void refuse(const flow::Commands::Refuse& command);
  void expect(Time at, std::uint32_t live, bool lands);
  bool is_sent_again(const Live& live, Time deadline);
  std::string_view group_of(std::uint32_t request);
  std::string_view route_of(std::uint32_t request) const;

  const RequestLog& log_;
  const std::deque<Place>& places_;
  const std::span<const std::uint32_t> order_;
  const UpstreamSettings settings_;
  const Time flight_;
  flow::LocalLimiter limiter_;
  flow::Scheduler scheduler_;
  flow::Commands commands_, carried_out_;
  std::span<Outcome> outcomes_;
  Repeats* repeats_ = nullptr;
  std::vector<Live> live_;
  std::vector<std::uint32_t> free_;
  std::priority_queue<Later, std::vector<Later>, std::greater<>> later_;
  std::uint64_t turn_ = 0;
  Time now_ = 0;
  Time advanced_ = -1;  // when the scheduler was last told the time alone
  std::string group_;
};

}  // namespace penstock::replay
