// SPDX-License-Identifier: Apache-2.0
// One upstream as hosts and people see it: its settings, connections, groups, routes and totals. Its requests wait in a
// queue, which is its own or that of its quota.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  using Queue = std::shared_ptr<UpstreamQueue>;
  /// `its_settings`: what holds for it, as effective_settings() has it.
  Upstream(const Services& services, std::string its_name, std::size_t its_entry, const UpstreamSettings& its_settings,
           Queue its_queue);

  /// In which its requests wait from now on. Those that came before a change may be in another one.
  UpstreamQueue& queue() { return *queue_; }
  const UpstreamQueue& queue() const { return *queue_; }
  const Queue& shared_queue() const { return queue_; }

  /// Applies new settings, the pool that the services have for them, and a queue.
  void change(const UpstreamSettings& its_settings, Queue its_queue);
  /// The file has it no longer. How groups are called may have changed.
  void retire() { groups_.change(services_, queue_->name, settings, groups_.body_terms()); }

  /// The group of a request, or kOtherGroups if the limiter has no room for another group. Only for upstreams with
  /// groups.
  /// `text`: its name in the body, if that has it.
  std::string group_of(const http::Target& target, const http::Fields& fields, std::string_view text) {
    return groups_.of(target, fields, text, queue_->limiter(), services_, queue_->name);
  }
  /// The same for a request that is only asked about: without its body, and without the notice that there is no room.
  std::string group_ahead(const http::Target& target, const http::Fields& fields) const {
    return groups_.ahead_of(target, fields, {}, queue_->limiter());
  }
  const std::optional<Grouping>& grouping() const { return groups_.grouping(); }
  /// What is read from bodies: costs, and names of groups. Null: nothing.
  const std::shared_ptr<const BodyTerms>& body_terms() const { return groups_.body_terms(); }
  /// Null: it has none. A change of the settings makes new ones.
  const std::shared_ptr<const Routes>& routes() const { return routes_; }

  /// No exchange is left.
  bool at_rest() const { return exchanges == 0; }
  /// A new upstream with a queue of its own would have the same limits and pauses.
  bool forgettable(flow::Time now) const { return at_rest() && queue_->forgettable(now); }
  flow::Time last_used() const { return queue_->last_used(); }
  UpstreamSnapshot snapshot(bool with_groups = true) const;

  /// The name that a limit or a route has in the configuration; `in_queue`: the one that it has in the queue.
  std::string_view own_name(std::string_view in_queue) const {
    return in_queue.starts_with(prefix_) ? in_queue.substr(prefix_.size()) : in_queue;
  }

  const std::string name;           ///< the entry's name, or host:port
  const std::size_t entry;          ///< as in Event
  UpstreamSettings settings;        ///< without limits in shadow mode, of which only people know
  UpstreamPools::Pool connections;  ///< the pool that all clients share
  std::size_t exchanges = 0;        ///< under way
  Totals totals;
  HandshakeTotals handshakes;
  LastMinuteCounts last_minute;
  RetryBudget retries;
  Reach reach;
  std::optional<flow::Time>
      told_of_costs;  ///< when an answer last told a cost that cannot be counted, and a notice did

 private:
  void show_own(std::vector<LimitSnapshot>& limits) const;

  const Services& services_;
  Queue queue_;
  std::string prefix_;  // of its routes, and of their limits, in its queue
  UpstreamGroups groups_;
  std::shared_ptr<const Routes> routes_;
};

}  // namespace penstock::proxy
