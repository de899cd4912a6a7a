// SPDX-License-Identifier: Apache-2.0
// The upstreams as the proxy keeps them: one for each named entry, and one for each host:port that no entry names, made
// on first use and forgotten when idle. Only for the dispatcher.
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

  /// That of the entry, or of the target's host:port where the entry is 0. Nothing: too many of these at once.
  Destination* find_or_make(const http::Target& target, std::size_t entry);

  template <typename Each>
  void visit(Each each) const {
    for (const auto& destination : named_) each(*destination);
    for (const auto& [authority, destination] : unmatched_) each(*destination);
  }

 private:
  std::unique_ptr<Destination> make(std::string name, std::size_t entry, const UpstreamSettings& settings);
  void sweep();

  const Services& services_;
  DestinationOwner& owner_;
  std::vector<std::unique_ptr<Destination>> named_;                          // by entry - 1
  std::unordered_map<std::string, std::unique_ptr<Destination>> unmatched_;  // by host:port
  loop::Timer sweeper_;
  std::int64_t swept_ = 0;
};

}  // namespace penstock::proxy
