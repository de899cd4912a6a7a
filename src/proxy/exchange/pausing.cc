// SPDX-License-Identifier: Apache-2.0
// See pausing.h.
#include "proxy/exchange/pausing.h"

#include <algorithm>
#include <optional>

#include "http/credentials.h"

namespace penstock::proxy {

namespace {
constexpr std::size_t kMostScopes = 1024;  // beyond that a pause is the upstream's

flow::GroupHash hash_of(const Services& services, std::string_view upstream) {
  const auto& redis = services.config.redis;
  return redis ? flow::GroupHash(redis->prefix, upstream, redis->secret) : flow::GroupHash("", upstream);
}
}  // namespace

Pausing::Pausing(const Services& services, std::string_view upstream, const UpstreamSettings& settings,
                 flow::Scheduler& scheduler, const std::unique_ptr<flow::Limiter>& limiter)
    : services_(services),
      settings_(settings),
      scheduler_(scheduler),
      limiter_(limiter),
      hash_(hash_of(services, upstream)) {}

http::RateLimitWord Pausing::word_of(const http::ResponseHead& head) const {
  if (settings_.obey == Obey::off || !http::may_refuse(head.status)) return {};
  const auto wall = services_.loop.wall();
  return settings_.obey == Obey::retry_after ? http::read_retry_after(head, wall) : http::read_rate_limit(head, wall);
}

/// A 503 without a time is a failure of the request that drew it: others may well be served.
Pausing::Found Pausing::observe(const Answer& answer, flow::Commands& commands) {
  const auto word = word_of(answer.head);
  if (word.refused && (word.pause || answer.head.status != 503)) return pause(word, answer);
  if (!scheduler_.awaits_answer(answer.ticket)) return Found::nothing;
  scheduler_.answered(services_.loop.now(), answer.ticket, commands);
  return Found::something;
}

Pausing::Found Pausing::pause(const http::RateLimitWord& word, const Answer& answer) {
  if (word.pause && *word.pause <= Duration{0}) return Found::nothing;
  const flow::Time now = services_.loop.now(), most = settings_.max_pause.count();
  const auto length = word.pause ? std::optional(word.pause->count()) : std::nullopt;
  if (const std::string scope = scope_of(answer.request); !scope.empty()) {
    const bool known = scheduler_.is_paused(scope);
    const flow::Time until = scheduler_.pause(now, scope, length, most, answer.ticket);
    if (auto* others = limiter_->pauses_shared()) others->tell(scope, until - now);
    pauses_.extend(now, scope, until);
    return known ? Found::something : Found::paused_scope;
  }
  const flow::Time until = scheduler_.pause(now, answer.group, length, most, answer.ticket);
  limiter_->pause(now, answer.group, until);
  pauses_.extend(now, answer.group, until);
  return Found::something;
}

bool Pausing::learn(std::string_view scope, flow::Time until) {
  const bool known = scheduler_.is_paused(scope);
  if (!by_credentials() || (!known && scheduler_.paused() >= kMostScopes)) return false;
  scheduler_.learn_pause(scope, until);
  return !known;
}

/// Empty: pauses do not go by credentials, or it cannot be seen whose these are.
std::string Pausing::scope_of(const http::Fields& request) const {
  if (!by_credentials() || http::has_credentials(request)) return {};
  const auto digits = hash_("");
  std::string scope(digits.data(), digits.size());
  return scheduler_.paused() < kMostScopes || scheduler_.is_paused(scope) ? scope : std::string();
}

std::string Pausing::lane_of(const http::Fields& request, const std::string& group) const {
  if (!scheduler_.any_paused()) return group;
  std::string scope = scope_of(request);
  return scope.empty() || !scheduler_.is_paused(scope) ? group : scope;
}

void Pausing::carry_out(const flow::Commands::Probe& probe, flow::Commands& commands) {
  using What = flow::Commands::Probe::What;
  auto* others = limiter_->pauses_shared();
  const flow::Time now = services_.loop.now();
  if (probe.what != What::ask) {
    if (others) others->end_probe(probe.group, probe.what == What::opened);
  } else if (!others || others->ask_to_probe(probe.group)) {
    scheduler_.may_probe(now, probe.group, true, now + flow::kProbeRight, commands);
  }
}

/// Scopes of credentials are no groups of the limiter.
void Pausing::tell_limiter(flow::Time now) const {
  if (by_credentials()) return;
  pauses_.each(now, [&](const std::string& paused, flow::Time until) { limiter_->pause(now, paused, until); });
}

}  // namespace penstock::proxy
