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
#include "proxy/exchange/services.h"
#include "proxy/exchange/upstream.h"

namespace penstock::proxy {

class Upstreams {
 public:
  Upstreams(const Services& services, UpstreamOwner& owner);

  /// The configuration is another one. Entries are known by their names: those that are gone serve who waits there, and
  /// are forgotten when idle. Each has commands to be carried out.
  void change(flow::Time now);

  /// That of the entry, as in Route, or of the target's host:port where it is 0; or one that many of these share, where
  /// too many are known.
  Upstream& find_or_make(const http::Target& target, std::size_t entry);

  template <typename Each>
  void visit(Each each) const {
    for (const auto& upstream : named_) each(*upstream);
    for (const auto& upstream : retired_) each(*upstream);
    for (const auto& [authority, upstream] : unmatched_) each(*upstream);
    if (others_) each(*others_);
  }

 private:
  std::unique_ptr<Upstream> make(std::string name, std::size_t entry, const UpstreamSettings& settings);
  void make_missing();
  Upstream& others();
  void sweep();

  const Services& services_;
  UpstreamOwner& owner_;
  using Named = std::vector<std::unique_ptr<Upstream>>;
  Named named_;                                                           // by their place in the configuration
  Named retired_;                                                         // their entries are gone
  std::unordered_map<std::string, std::unique_ptr<Upstream>> unmatched_;  // by host:port
  std::unique_ptr<Upstream> others_;                                      // of all that came when these were too many
  bool others_told_ = false;
  loop::Timer sweeper_;
  std::int64_t swept_ = 0;
};

}  // namespace penstock::proxy
