// SPDX-License-Identifier: Apache-2.0
// The access verdict in force, kept up with all that it depends on: the configuration, the endpoints that we listen
// at, the addresses of this machine, and the addresses behind the name of Redis. For the engine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "access/verdict.h"
#include "loop/resolver.h"
#include "penstock/config.h"
#include "penstock/event.h"

namespace penstock::app {

class LiveVerdict {
 public:
  /// `config` is the one in force, which may change in place: call change() then. `own`: the endpoints that were really
  /// bound. Looks around at once.
  LiveVerdict(loop::Resolver& resolver, const Config& config, std::vector<Endpoint> own, NoticeSink notices);
  LiveVerdict(const LiveVerdict&) = delete;
  LiveVerdict& operator=(const LiveVerdict&) = delete;

  /// Changes in place.
  const access::Verdict& verdict() const { return verdict_; }
  /// The configuration has changed. A Redis that it names no longer stays closed.
  void change();
  /// Learns the addresses of this machine, and asks where the name of Redis leads. To be called from time to time.
  void look_around();
  /// Allows no request there. What was closed before stays closed.
  void close(const std::vector<Endpoint>& of_redis);

 private:
  bool learn_addresses();
  void find_redis();
  void judge_anew();

  loop::Resolver& resolver_;
  const Config& config_;
  const std::vector<Endpoint> own_;
  const NoticeSink notices_;
  std::vector<Endpoint> closed_;   // endpoints of Redis, by name and by all addresses it has had
  std::vector<std::string> here_;  // addresses of this machine
  access::Verdict verdict_;
  std::vector<std::unique_ptr<loop::Resolver::Lookup>> redis_lookups_;  // under way, or answered
};

}  // namespace penstock::app
