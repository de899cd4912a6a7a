// SPDX-License-Identifier: Apache-2.0
// The way between one simulated process and Redis. Each connection keeps its order, and each direction takes its time.
// Connections can be lost, and the process can be cut off: then bytes wait on the way, as TCP sends them again, and new
// connections are not answered.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "redis/wire/network.h"
#include "simulation/journal.h"
#include "simulation/machine.h"
#include "simulation/redis_server.h"
#include "simulation/world.h"

namespace penstock::simulation {

/// A Redis as the network reaches it; it may stall.
struct Host {
  RedisServer& server;
  Time stalls_until = 0;
};
/// By number: the nodes of a cluster, or a master and its replica.
struct Hosts {
  std::deque<Host> all;
  std::size_t leads = 0;  ///< the one that is found where no node is named: the master, as sentinels tell
};

class Network final : public redis::Network {
 public:
  struct Delay {
    Time round_trip = 0;  ///< the mean
    double jitter = 0;    ///< each direction differs by up to this fraction of half the round trip
  };

  /// `on_call` is called for each script call, and told whether the process only says with it that it is there.
  Network(World& world, Machine& machine, Hosts& hosts, Delay delay, std::function<void(bool is_presence)> on_call);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// all: both connections are reset; messages: only the one for messages, the newer of the two; calls: only the one
  /// for calls.
  enum class Which : std::uint8_t { all, messages, calls };
  void lose(Which which);
  /// The next reply that comes before `end` is cut in half, and then its connection is reset.
  void tear_until(Time end) { tears_until_ = end; }
  /// Messages are late, come twice, or not at all.
  void disturb_messages(Fault::Kind how, Time until) { disturbed_ = {how, until}; }
  void cut_off_until(Time end) { cut_off_until_ = std::max(cut_off_until_, end); }

  class Line;  ///< defined in network.cc, as is End, the process' end of a line
  class End;
  /// The process is gone: its ends of the connections are closed.
  void vanish();

 private:
  std::unique_ptr<loop::Stream> dial(loop::Loop& loop, const Endpoint& there, const std::string& host,
                                     loop::StreamEvents& events) override;
  std::unique_ptr<loop::Stream> dial_path(loop::Loop& loop, const std::string& path,
                                          loop::StreamEvents& events) override;
  std::uint64_t draw() override { return random_.draw(); }

  std::unique_ptr<loop::Stream> dial(Host& host, loop::StreamEvents& events);
  void count_calls(std::string_view bytes);
  /// When bytes sent now arrive at the other end.
  Time arrival();

  World& world_;
  Machine& machine_;
  Hosts& hosts_;
  const Delay delay_;
  const std::function<void(bool)> on_call_;
  Random random_;
  Time cut_off_until_ = 0;
  Time tears_until_ = 0;
  struct {
    Fault::Kind how;
    Time until;
  } disturbed_{Fault::Kind::messages_late, 0};
  std::vector<std::weak_ptr<Line>> lines_;
};

}  // namespace penstock::simulation
