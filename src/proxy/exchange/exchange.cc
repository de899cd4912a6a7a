// SPDX-License-Identifier: Apache-2.0
// See exchange.h.
#include "proxy/exchange/exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "proxy/exchange/upstream.h"

namespace penstock::proxy {

void BodyBuffer::append(std::string_view bytes) {
  if (dropped_ && taken_ > bytes_.size() / 2) {  // an upload that never drains must not keep what was already sent
    bytes_.erase(0, taken_);
    taken_ = 0;
  }
  bytes_.append(bytes);
  if (taken_ > 0 && bytes_.size() > most_kept_) dropped_ = true;
}

std::size_t BodyBuffer::take(char* room, std::size_t space) {
  const std::size_t moved = std::min(space, size());
  std::memcpy(room, bytes_.data() + taken_, moved);
  taken_ += moved;
  if (moved > 0 && bytes_.size() > most_kept_) dropped_ = true;
  if (dropped_ && 2 * taken_ >= bytes_.size()) bytes_.erase(0, std::exchange(taken_, 0));
  return moved;
}

void BodyBuffer::keep(std::size_t most) {
  most_kept_ = most;
  if (taken_ == 0 || bytes_.size() <= most) return;
  dropped_ = true;
  bytes_.erase(0, std::exchange(taken_, 0));
}

bool BodyBuffer::rewind() {
  if (!dropped_) taken_ = 0;
  return !dropped_;
}

Exchange::Exchange(ResponseSink& who, http::RequestHead&& what) : sink(who), head(std::move(what)) {}

Exchange::~Exchange() = default;

std::size_t Exchange::bytes() const {
  return sizeof(Exchange) + head.fields.bytes() + head.upgrade.size() + target.resource.size() + body.size();
}

void Exchange::leaves(std::int64_t now) {
  upstream->reach.connected();
  queue->left(ticket, departure, lane(), now);
}

void Exchange::leave_shares() {
  queue->shares.leave(share);
  if (!body.whole && !upstream->grouping()) queue->shares.uploads(share, sink.held());
}

bool Exchange::is_paused(std::int64_t now) const {
  const auto& gates = queue->scheduler().gates();
  return gates.any() && gates.until(queue->lane_of(head.fields, group)) > now;
}

void Exchange::take_place() {
  queue = &upstream->queue();
  taken_route.reset();
  const auto& routes = upstream->routes();
  if (!routes || target.tunnel) return;
  const RouteTerms terms = routes->terms_of(head.method, target.path(), head.fields);
  if (terms.name.empty()) return;
  taken_route = std::make_unique<const TakenRoute>(terms, routes);
  load.weight = std::max(load.weight, terms.weight);
}

const RouteTerms& Exchange::route() const {
  static constexpr RouteTerms none;
  return taken_route ? *taken_route : none;
}

bool Exchange::is_in(flow::Booking::Scope scope, flow::LaneKey lanes) const {
  if (scope == flow::Booking::Scope::upstream) return true;
  const bool in_route = lanes.route.empty() || route().limits == lanes.route;
  return in_route && (scope == flow::Booking::Scope::route || group == lanes.group);
}

const TimeoutConfig& Exchange::timeouts() const {
  return route().timeouts ? *route().timeouts : upstream->settings.timeouts;
}
const RetryConfig& Exchange::retry() const { return route().retry ? *route().retry : upstream->settings.retry; }
const Obey& Exchange::obey() const { return route().obey ? *route().obey : upstream->settings.obey; }
Duration Exchange::max_wait() const { return route().max_wait ? *route().max_wait : upstream->settings.queue.max_wait; }

bool Exchange::repeatable() const {
  const auto& method = head.method;
  const bool safe = method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "TRACE";
  return safe && !head.has_body() && !sendings.stale;
}

}  // namespace penstock::proxy
