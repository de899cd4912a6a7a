// SPDX-License-Identifier: Apache-2.0
// See foresight.h.
#include "proxy/dispatch/foresight.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "flow/rehearsal.h"
#include "http/grammar.h"
#include "loop/expensive_work.h"
#include "proxy/exchange/queue_refusal.h"

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

/// A request of the route that has these limits waits in that lane.
flow::Arrival arrival_of(const Upstream& upstream, const http::RequestHead& head, const http::Target& target,
                         const RouteTerms& route, const std::string& group, int weight) {
  const bool may_rest = target.tunnel || (!head.upgrade.empty() && target.permit == http::Target::Permit::none);
  const Duration longest = route.max_wait ? *route.max_wait : upstream.settings.queue.max_wait;
  return {.weight = weight,
          .group = group,
          .route = route.holds ? route.limits : std::string_view(),
          .max_wait = longest.count(),
          .tunnel = may_rest};
}

Ahead told(const Upstream& upstream, const RouteTerms& route, const flow::Outlook& outlook, flow::Time now) {
  const UpstreamQueue& queue = upstream.queue();
  Ahead ahead{.upstream = upstream.name,
              .route = std::string(route.name),
              .wait = outlook.leaves ? std::optional(Duration(*outlook.leaves - now)) : std::nullopt,
              .limited_by = std::string(upstream.own_name(queue.limit_name(outlook.limited_by))),
              .pending = queue.scheduler().pending()};
  if (!outlook.refused) return ahead;
  const flow::Commands::Refuse refuse{.id = 0,
                                      .why = *outlook.refused,
                                      .waited = 0,
                                      .retry_after = outlook.leaves ? *outlook.leaves - now : 0,
                                      .limited_by = outlook.limited_by};
  ahead.refused = refusal_of(refuse, upstream, queue, now).details;
  return ahead;
}
}  // namespace

std::expected<Foresight, http::Refusal> foresee(const Services& services, const Admission& admission,
                                                Upstreams& upstreams, const AheadQuery& query) {
  const loop::ExpensiveWork work(services.loop);
  auto request = asked(admission, query);
  if (!request) return std::unexpected(std::move(request.error()));
  const http::RequestHead& head = request->head;
  http::Target target;
  const auto admitted = admission.judge(head, request->outside ? &*request->outside : nullptr, target, {});
  if (!admitted) return std::unexpected(admitted.error());
  Upstream* const known =
      admitted->entry > 0 ? &upstreams.find_or_make(target, admitted->entry) : upstreams.find(target.authority());
  const auto unkept = known ? nullptr : upstreams.make_unkept(target);
  Upstream& upstream = known ? *known : *unkept;
  UpstreamQueue& queue = upstream.queue();
  const auto routes = target.tunnel ? nullptr : upstream.routes();
  const RouteTerms route = routes ? routes->terms_of(head.method, target.path(), head.fields) : RouteTerms{};
  const int weight = std::max(admitted->hints.weight, route.weight);
  if (auto too_heavy = judge_weight(upstream, route, weight)) return std::unexpected(*std::move(too_heavy));
  if (auto unreachable = upstream.reach.judge()) return std::unexpected(*std::move(unreachable));
  const flow::Time now = services.loop.now();
  std::string group = upstream.grouping() ? upstream.group_of(target, head.fields) : std::string();
  if (queue.scheduler().gates().any() && !target.tunnel) group = queue.lane_of(head.fields, group);
  const flow::Arrival arrival = arrival_of(upstream, head, target, route, group, weight);
  const flow::LimitIndex forbidding = queue.scheduler().forecast().limiter().forbids(weight, arrival.route);
  if (forbidding != flow::kNoLimit) {
    const flow::Commands::Refuse refuse{
        .id = 0, .why = flow::Refused::too_heavy, .waited = 0, .retry_after = 0, .limited_by = forbidding};
    return std::unexpected(refusal_of(refuse, upstream, queue, now));
  }
  return Foresight{told(upstream, route, flow::rehearse(now, queue.scheduler(), arrival), now), queue.name};
}

}  // namespace penstock::proxy
