// SPDX-License-Identifier: Apache-2.0
// The upstreams as the proxy keeps them: one for each named entry (gone ones as long as they are needed), and one for
// each host:port that no entry names, made on first use and forgotten when idle. Only for the dispatcher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "http/target.h"
#include "loop/timer.h"
#include "proxy/destination.h"
#include "proxy/services.h"

namespace penstock::proxy {

class Destinations {
 public:
  Destinations(const Services& services, DestinationOwner& owner);

  /// The configuration is another one. Entries are known by their names: those that are gone serve who waits there, and
  /// are forgotten when idle. Each has commands to be carried out.
  void change(flow::Time now);

  /// That of the entry, as in Route, or of the target's host:port where it is 0. Nothing: too many of these at once.
  Destination* find_or_make(const http::Target& target, std::size_t entry);

  template <typename Each>
  void visit(Each each) const {
    for (const auto& destination : named_) each(*destination);
    for (const auto& destination : retired_) each(*destination);
    for (const auto& [authority, destination] : unmatched_) each(*destination);
  }

 private:
  std::unique_ptr<Destination> make(std::string name, std::size_t entry, const UpstreamSettings& settings);
  void make_missing();
  void sweep();

  const Services& services_;
  DestinationOwner& owner_;
  using Named = std::vector<std::unique_ptr<Destination>>;
  Named named_;                                                              // by their place in the configuration
  Named retired_;                                                            // their entries are gone
  std::unordered_map<std::string, std::unique_ptr<Destination>> unmatched_;  // by host:port
  loop::Timer sweeper_;
  std::int64_t swept_ = 0;
};

}  // namespace penstock::proxy
