// SPDX-License-Identifier: Apache-2.0
// One upstream as hosts and people see it: its settings, connections, groups, routes and totals. Its requests wait in its
// queue.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "flow/scheduler.h"
#include "http/fields.h"
#include "penstock/config.h"
#include "penstock/snapshot.h"
#include "proxy/exchange/last_minute.h"
#include "proxy/exchange/reach.h"
#include "proxy/exchange/retry_budget.h"
#include "proxy/exchange/services.h"
#include "proxy/exchange/upstream_groups.h"
#include "proxy/exchange/upstream_queue.h"
#include "proxy/route/routes.h"

namespace penstock::proxy {

class Upstream {
 public:
  Upstream(const Services& services, std::string its_name, std::size_t its_entry, const UpstreamSettings& its_settings,
           QueueEvents& events);

  UpstreamQueue& queue() { return *queue_; }
  const UpstreamQueue& queue() const { return *queue_; }

  /// Applies new settings, and the pool that the services have for them, here and in the queue: see
  /// UpstreamQueue::change().
  void change(flow::Time now, const UpstreamSettings& its_settings, bool is_gone = false);

  /// The group of a request, or kOtherGroups if the limiter has no room for another group. Only for upstreams with
  /// groups.
  std::string group_of(const http::Target& target, const http::Fields& fields) {
    return groups_.of(target, fields, queue_->limiter(), services_, name);
  }
  const std::optional<Grouping>& grouping() const { return groups_.grouping(); }
  /// Null: it has none. A change of the settings makes new ones.
  const std::shared_ptr<const Routes>& routes() const { return routes_; }

  /// No exchange is left, and nothing is to be carried out.
  bool at_rest() const { return queue_->at_rest(); }
  /// A new upstream would have the same limits and pauses.
  bool forgettable(flow::Time now) const { return queue_->forgettable(now); }
  flow::Time last_used() const { return queue_->last_used(); }
  UpstreamSnapshot snapshot(bool with_groups = true) const;

  /// A limit's name for people; empty: no limit.
  std::string_view limit_name(flow::LimitIndex index) const { return queue_->limit_name(index); }

  const std::string name;           ///< the entry's name, or host:port
  const std::size_t entry;          ///< as in Event
  UpstreamSettings settings;        ///< without limits in shadow mode, of which only people know
  UpstreamPools::Pool connections;  ///< the pool that all clients share
  Totals totals;
  HandshakeTotals handshakes;
  LastMinuteCounts last_minute;
  RetryBudget retries;
  Reach reach;

 private:
  const Services& services_;
  std::shared_ptr<UpstreamQueue> queue_;
  UpstreamGroups groups_;
  std::shared_ptr<const Routes> routes_;
};

}  // namespace penstock::proxy
