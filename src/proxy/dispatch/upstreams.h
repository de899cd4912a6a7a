// SPDX-License-Identifier: Apache-2.0
// Owns the upstreams: one for each named entry (removed entries as long as they are needed), and one for each host:port
// that no entry names, made on first use and forgotten when it is idle and a new one would behave the same. Each has a
// queue of its own, or that of its quota. Only for the dispatcher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "http/target.h"
#include "loop/timer.h"
#include "proxy/exchange/services.h"
#include "proxy/exchange/upstream.h"

namespace penstock::proxy {

class Upstreams {
 public:
  Upstreams(const Services& services, QueueEvents& events);

  /// The configuration has changed. Entries are matched by name; removed ones serve the requests that wait there, and
  /// are forgotten when idle. So are queues. Afterwards UpstreamQueue::renumber() must be called for each exchange,
  /// then renumbered().
  void change(flow::Time now);
  void renumbered();

  /// The upstream of the entry (numbered as in Route), or, for entry 0, of the target's host:port; if too many of those
  /// are known, the one that all further ones share.
  Upstream& find_or_make(const http::Target& target, std::size_t entry);

  /// One for a host:port that no entry names and that find() does not know, as a request would have it made. It is the
  /// caller's.
  std::unique_ptr<Upstream> make_unkept(const http::Target& target) { return make_unmatched(target.authority()); }

  /// The upstream of that name, which for the entry "*" is a host:port; null: there is none now.
  Upstream* find(std::string_view name) const;
  /// The queue of the upstream of that name, or else of the quota; null: there is none now.
  UpstreamQueue* find_queue(std::string_view name) const;

  template <typename Each>
  void visit(Each each) const {
    for (const auto& upstream : named_) each(*upstream);
    for (const auto& upstream : retired_) each(*upstream);
    for (const auto& [authority, upstream] : unmatched_) each(*upstream);
    if (others_) each(*others_);
  }

  std::size_t count() const { return named_.size() + retired_.size() + unmatched_.size() + (others_ ? 1 : 0); }
  /// Those that have the most requests, then those that had one last, if there are more than `most`; in the order of
  /// visit(). Costs little for ten thousand.
  std::vector<const Upstream*> busiest(std::size_t most) const;

 private:
  std::unique_ptr<Upstream> make_unmatched(std::string name);
  void change_queues(flow::Time now);
  const Upstream::Queue& queue_of(const UpstreamConfig& upstream) const;
  void forget_queues();
  void make_missing();
  Upstream& others();
  void sweep();

  const Services& services_;
  QueueEvents& events_;
  using Named = std::vector<std::unique_ptr<Upstream>>;
  std::vector<Upstream::Queue> queues_;                                   // of entries and quotas, by their names
  Named named_;                                                           // in the order of the configuration
  Named retired_;                                                         // of entries removed from the configuration
  std::unordered_map<std::string, std::unique_ptr<Upstream>> unmatched_;  // by host:port
  std::unique_ptr<Upstream> others_;                                      // for host:ports beyond a full unmatched_
  bool others_told_ = false;
  loop::Timer sweeper_;
  std::int64_t swept_ = 0;
};

}  // namespace penstock::proxy
