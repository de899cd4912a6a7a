// SPDX-License-Identifier: Apache-2.0
// See foresight.h.
#include "proxy/dispatch/foresight.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "flow/rehearsal.h"
#include "http/grammar.h"
#include "loop/expensive_work.h"
#include "proxy/exchange/queue_refusal.h"
#include "proxy/exchange/upstream_view.h"

namespace penstock::proxy {

namespace {
http::Refusal malformed(std::string details) { return {.why = http::Reason::malformed, .details = std::move(details)}; }

/// The request as a client would send it; for a https URL the one inside the CONNECT, if that is opened here.
struct Asked {
  http::RequestHead head;
  std::optional<http::Target> outside;
};

std::expected<http::RequestHead, http::Refusal> head_of(const AheadQuery& query) {
  if (!http::is_token(query.method)) return std::unexpected(malformed("the method is not one word such as GET"));
  http::RequestHead head;
  head.method = query.method;
  head.target = query.url;
  for (const Field& field : query.fields) {
    if (!http::is_token(field.name) || !http::is_field_value(field.value))
      return std::unexpected(malformed("a field has a character that it cannot have"));
    head.fields.add(field.name, field.value);
  }
  if (query.weight != 1) head.fields.add("Penstock-Weight", std::to_string(query.weight));
  return head;
}

std::expected<Asked, http::Refusal> asked(const Admission& admission, const AheadQuery& query) {
  auto head = head_of(query);
  if (!head) return std::unexpected(std::move(head.error()));
  if (query.url.starts_with('/')) {
    head->fields.add("Host", "127.0.0.1");
    return Asked{*std::move(head), std::nullopt};
  }
  const auto target = http::parse_target(query.method, query.url);
  if (!target) return std::unexpected(target.error());
  head->fields.add("Host", target->host_field());
  if (!target->secure() || target->tunnel) return Asked{*std::move(head), std::nullopt};
  http::RequestHead connect = *head;
  connect.method = "CONNECT";
  connect.target = target->authority();
  auto opening = admission.opening(connect, true);
  if (!opening) return Asked{std::move(connect), std::nullopt};
  head->target = target->resource;
  return Asked{*std::move(head), std::move(opening->outside)};
}

/// Where a request waits, and what it counts there.
struct Place {
  http::Target target;
  Upstream* upstream = nullptr;
  std::unique_ptr<Upstream> unkept;  ///< that upstream, where no request has gone yet
  RouteTerms route;
  flow::Load load;
  std::string group;
  std::optional<Duration> patience;  ///< as its Penstock-Max-Wait says

  const UpstreamQueue& queue() const { return upstream->queue(); }
  /// What the scheduler of its queue would be told of it.
  flow::Arrival arrival(const http::RequestHead& head) const {
    const Duration longest = route.max_wait ? *route.max_wait : upstream->settings.queue.max_wait;
    return {.weight = load.weight,
            .group = group,
            .route = route.holds ? route.limits : std::string_view(),
            .max_wait = std::min(patience.value_or(longest), longest).count(),
            .tunnel = may_rest(head),
            .cost = load.cost};
  }
  bool is_permit() const { return target.permit != http::Target::Permit::none; }
  bool may_rest(const http::RequestHead& head) const {
    return target.tunnel || (!head.upgrade.empty() && !is_permit());
  }
};

/// 1 where the upstream reads no costs, or not of such a request: see Costs::reads().
int cost_of(const Place& place, const http::RequestHead& head, int asked) {
  const auto& terms = place.upstream->body_terms();
  const bool is_read = terms && !place.may_rest(head) && !place.is_permit();
  return is_read ? std::clamp(asked, 1, std::max(1, terms->most)) : 1;
}

/// As Dispatcher::accept() finds it.
std::expected<Place, http::Refusal> place_of(const Admission& admission, Upstreams& upstreams, const Asked& request,
                                             int cost) {
  const http::RequestHead& head = request.head;
  Place place;
  const auto admitted = admission.judge(head, request.outside ? &*request.outside : nullptr, place.target, {});
  if (!admitted) return std::unexpected(admitted.error());
  place.upstream = admitted->entry > 0 ? &upstreams.find_or_make(place.target, admitted->entry)
                                       : upstreams.find(place.target.authority());
  if (!place.upstream) place.upstream = (place.unkept = upstreams.make_unkept(place.target)).get();
  Upstream& upstream = *place.upstream;
  const auto routes = place.target.tunnel ? nullptr : upstream.routes();
  if (routes) place.route = routes->terms_of(head.method, place.target.path(), head.fields);
  place.load = flow::Load(std::max(admitted->hints.weight, place.route.weight), cost_of(place, head, cost));
  place.patience = admitted->hints.max_wait;
  if (auto too_heavy = judge_weight(upstream, place.route, place.load.weight))
    return std::unexpected(*std::move(too_heavy));
  if (auto unreachable = upstream.reach.judge()) return std::unexpected(*std::move(unreachable));
  if (upstream.grouping()) place.group = upstream.group_ahead(place.target, head.fields);
  if (place.queue().scheduler().gates().any() && !place.target.tunnel)
    place.group = upstream.queue().lane_of(head.fields, place.group);
  return place;
}

/// The refusal of a request that a limit never admits.
std::optional<http::Refusal> judge_limits(const Place& place, const flow::Arrival& arrival, flow::Time now) {
  const UpstreamQueue& queue = place.queue();
  const flow::LimitIndex forbidding = queue.scheduler().forecast().limiter().forbids(place.load, arrival.route);
  if (forbidding == flow::kNoLimit) return std::nullopt;
  const flow::Commands::Refuse refuse{
      .id = 0, .why = flow::Refused::too_heavy, .waited = 0, .retry_after = 0, .limited_by = forbidding};
  return refusal_of(refuse, *place.upstream, queue, now);
}

Ahead told(const Place& place, const flow::Outlook& outlook, flow::Time now) {
  const Upstream& upstream = *place.upstream;
  const UpstreamQueue& queue = upstream.queue();
  Ahead ahead{.upstream = upstream.name,
              .route = std::string(place.route.name),
              .permit = place.is_permit(),
              .wait = outlook.leaves ? std::optional(Duration(*outlook.leaves - now)) : std::nullopt,
              .limited_by = std::string(upstream.own_name(name_of_limit(queue.settings, outlook.limited_by))),
              .pending = queue.scheduler().pending()};
  if (!outlook.refused) return ahead;
  const flow::LaneKey lane(place.group, place.route.holds ? place.route.limits : std::string_view());
  const flow::Time retry_after =
      outlook.leaves ? *outlook.leaves - now : queue.scheduler().retry_after(now, lane, place.load);
  const flow::Commands::Refuse refuse{
      .id = 0, .why = *outlook.refused, .waited = 0, .retry_after = retry_after, .limited_by = outlook.limited_by};
  ahead.refused = refusal_of(refuse, upstream, queue, now).details;
  return ahead;
}
}  // namespace

std::expected<Foresight, http::Refusal> foresee(const Services& services, const Admission& admission,
                                                Upstreams& upstreams, const AheadQuery& query, Foresee what) {
  const loop::ExpensiveWork work(services.loop);
  const auto request = asked(admission, query);
  if (!request) return std::unexpected(request.error());
  const auto place = place_of(admission, upstreams, *request, query.cost);
  if (!place) return std::unexpected(place.error());
  const flow::Time now = services.loop.now();
  const flow::Arrival arrival = place->arrival(request->head);
  if (auto forbidden = judge_limits(*place, arrival, now)) return std::unexpected(*std::move(forbidden));
  if (what == Foresee::limiter) return Foresight{{}, place->queue().name};
  const flow::Outlook outlook = flow::rehearse(now, place->queue().scheduler(), arrival);
  return Foresight{told(*place, outlook, now), place->queue().name};
}

}  // namespace penstock::proxy
