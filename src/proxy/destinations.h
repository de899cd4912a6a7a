// SPDX-License-Identifier: Apache-2.0
// The upstreams as the proxy keeps them: one for each named entry (gone ones as long as they are needed), and one for
// each host:port that no entry names, made on first use and forgotten when idle and when that changes nothing. Only for
// the dispatcher.
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

  /// That of the entry, as in Route, or of the target's host:port where it is 0; or one that many of these share, where
  /// too many are known.
  Destination& find_or_make(const http::Target& target, std::size_t entry);

  template <typename Each>
  void visit(Each each) const {
    for (const auto& destination : named_) each(*destination);
    for (const auto& destination : retired_) each(*destination);
    for (const auto& [authority, destination] : unmatched_) each(*destination);
    if (others_) each(*others_);
  }

 private:
  std::unique_ptr<Destination> make(std::string name, std::size_t entry, const UpstreamSettings& settings);
  void make_missing();
  Destination& others();
  void sweep();

  const Services& services_;
  DestinationOwner& owner_;
  using Named = std::vector<std::unique_ptr<Destination>>;
  Named named_;                                                              // by their place in the configuration
  Named retired_;                                                            // their entries are gone
  std::unordered_map<std::string, std::unique_ptr<Destination>> unmatched_;  // by host:port
  std::unique_ptr<Destination> others_;  // of all that came when these were too many
  bool others_told_ = false;
  loop::Timer sweeper_;
  std::int64_t swept_ = 0;
};

}  // namespace penstock::proxy
