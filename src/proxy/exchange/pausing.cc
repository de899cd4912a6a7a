// SPDX-License-Identifier: Apache-2.0
// See pausing.h.
#include "proxy/exchange/pausing.h"

#include <algorithm>
#include <optional>

#include "http/credential_identity.h"
#include "http/credentials.h"

namespace penstock::proxy {

namespace {
constexpr std::size_t kMostScopes = 1024;  // beyond that a pause is the upstream's

/// Without a word of limits.
bool refuses(int status) { return http::may_refuse(status) && status != 403; }
}  // namespace

Pausing::Pausing(const Services& services, std::string_view upstream, const UpstreamSettings& settings,
                 flow::Scheduler& scheduler, const std::unique_ptr<flow::Limiter>& limiter)
    : services_(services),
      upstream_(upstream),
      settings_(settings),
      scheduler_(scheduler),
      limiter_(limiter),
      hash_(group_hash(services, upstream, settings)),
      learning_(services, upstream, settings, limiter) {}

/// A time that is past says no more than none. A 503 without a time is a failure of the request that drew it: others
/// may well be served.
Pausing::Found Pausing::observe(const Answer& answer, flow::Commands& commands) {
  if (answer.known == Known::head) return await_judgement(answer), Found::nothing;
  const int status = answer.head.status;
  if (answer.known == Known::incurable) {
    answer.said.refusals.push_back(static_cast<std::uint16_t>(status));
    return pass(answer, commands);
  }
  http::RateLimitWord word;
  if (refuses(status)) limiter_->refused(services_.loop.now(), answer.lane(), answer.departure);
  if (answer.obey != Obey::off) {
    if (settings_.learn == Learn::on)
      learning_.observe(answer.head, answer.request, answer.obey, answer.lane(), answer.departure);
    word = http::read_rate_limit(answer.head, services_.loop.wall(), answer.obey, settings_.pause_on);
    answer.said.unreadable += static_cast<int>(word.unreadable);
  }
  if (word.refused || refuses(status)) answer.said.refusals.push_back(static_cast<std::uint16_t>(status));
  if (word.pause && *word.pause <= Duration{0}) word.pause.reset();
  if (word.refused && (word.pause || status != 503)) return pause(word, answer);
  const bool waits = word.spent && word.pause && spent_.counts(services_.loop.now()) && pauses_for_spent(word, answer);
  if (waits) return pause(word, answer);
  return pass(answer, commands);
}

/// To gates it is as good as an answer that serves.
Pausing::Found Pausing::pass(const Answer& answer, flow::Commands& commands) {
  const bool matters = scheduler_.answered(services_.loop.now(), answer.ticket, commands);
  return matters ? Found::something : Found::nothing;
}

void Pausing::await_judgement(const Answer& answer) {
  const std::string lane = lane_of(answer.request, answer.group);
  scheduler_.gates().await_judgement(services_.loop.now(), lane, answer.ticket.index);
}

/// What is spent may be a part of the API: without groups it cannot be told which requests are about that.
bool Pausing::pauses_for_spent(const http::RateLimitWord& word, const Answer& answer) {
  if (word.scope == http::RateLimitWord::Scope::named && answer.group.empty()) return false;
  const flow::Time now = services_.loop.now();
  const std::string owner = scope_of(answer.request);
  const std::string& scope = owner.empty() ? answer.group : owner;
  if (!spent_.disproved(now, scope, answer.took_off)) return spent_.begin(now, scope, now + word.pause->count()), true;
  services_.notices({.level = LogLevel::warn,
                     .text = upstream_ + " says in " + std::string(word.field) +
                             " that nothing remains, and serves more: ignored for an hour"});
  return false;
}

Pausing::Found Pausing::pause(const http::RateLimitWord& word, const Answer& answer) {
  const flow::Time now = services_.loop.now(), most = settings_.max_pause.count();
  const int status = answer.head.status;
  const auto length = word.pause ? std::optional(word.pause->count()) : std::nullopt;
  const bool whole = word.scope == http::RateLimitWord::Scope::whole;
  const std::string scope = whole ? std::string() : scope_of(answer.request);
  if (!scope.empty() && has_room_for(now, scope)) {
    const bool known = scheduler_.gates().has(scope);
    const flow::Time until = scheduler_.pause(now, scope, length, most, answer.ticket);
    if (auto* others = limiter_->pauses_shared()) others->tell(scope, until - now);
    of_credentials_.extend(now, scope, until);
    note(until, status, {});
    return known ? Found::something : Found::paused_scope;
  }
  const std::string_view group = whole ? std::string_view{} : answer.group;
  const flow::Time until = scheduler_.pause(now, group, length, most, answer.ticket);
  limiter_->pause(now, group, until);
  pauses_.extend(now, group, until);
  note(until, status, group);
  return Found::something;
}

/// An answer that asks for less than an earlier one, or for another pause that ends sooner, is not the one to show.
void Pausing::note(flow::Time until, int status, std::string_view group) {
  if (until > last_.until) last_ = {.until = until, .status = status, .group = std::string(group)};
}

Pausing::Found Pausing::hear(flow::Time now, const flow::PauseNews& news, flow::Commands& commands) {
  if (news.what == flow::PauseNews::What::shortened) return shorten_here(now, news.until, commands), Found::something;
  const bool begins = news.what == flow::PauseNews::What::begun && !scheduler_.gates().has(news.group);
  if (begins && !(by_credentials() && has_room_for(now, news.group))) return Found::nothing;
  scheduler_.hear(now, news, commands);
  return begins ? Found::paused_scope : Found::something;
}

bool Pausing::shorten(flow::Time now, flow::Time latest, flow::Commands& commands) {
  const bool some = shorten_here(now, latest, commands);
  if (auto* others = limiter_->pauses_shared()) others->tell_shortened(latest - now);
  return some;
}

bool Pausing::shorten_here(flow::Time now, flow::Time latest, flow::Commands& commands) {
  const bool of_limiter = limiter_->shorten_pauses(now, latest);
  pauses_.shorten(latest), of_credentials_.shorten(latest);
  last_.until = std::min(last_.until, latest);
  return scheduler_.shorten_pauses(now, latest, commands) || of_limiter;
}

void Pausing::change(flow::Time now, const UpstreamSettings& before, flow::Commands& commands) {
  hash_ = group_hash(services_, upstream_, settings_);
  const bool forbids = settings_.obey == Obey::off && before.obey != Obey::off;
  if (!forbids && settings_.max_pause >= before.max_pause) return;
  const flow::Time latest = forbids ? now : now + settings_.max_pause.count();
  if (scheduler_.gates().any_closed(latest) || count(latest) > 0) shorten(now, latest, commands);
}

/// Empty: pauses do not go by credentials, or it cannot be seen whose these are.
std::string Pausing::scope_of(const http::Fields& request) const {
  if (!by_credentials()) return {};
  const auto identity = http::credential_identity(request);
  if (!identity && http::has_credentials(request)) return {};
  const auto digits = hash_(identity.value_or(""));
  return std::string(digits.data(), digits.size());
}

bool Pausing::has_room_for(flow::Time now, std::string_view scope) const {
  return scheduler_.gates().has(scope) || scheduler_.gates().has_room(now, kMostScopes);
}

std::string Pausing::lane_of(const http::Fields& request, const std::string& group) const {
  if (!scheduler_.gates().any()) return group;
  std::string scope = scope_of(request);
  return scope.empty() || !scheduler_.gates().has(scope) ? group : scope;
}

std::optional<PauseSnapshot> Pausing::longest(flow::Time now) const {
  const flow::Gates& gates = scheduler_.gates();
  const flow::Time of_all = std::max(gates.until({}), pauses_.until({}));
  const flow::Time latest = std::max(last_.until, of_all);
  const bool asked_here = last_.until == latest;
  const int status = asked_here ? last_.status : 0;
  if (latest > now) {
    const bool all = of_all > now;
    return PauseSnapshot{.status = status,
                         .left = Duration{latest - now},
                         .of_all = all,
                         .group = asked_here && !all ? last_.group : ""};
  }
  const auto probed = gates.probed(now);
  if (!probed) return std::nullopt;
  return PauseSnapshot{.status = status,
                       .of_all = probed->empty(),
                       .group = by_credentials() ? "" : std::string(*probed),
                       .probing = true};
}

/// Scopes of credentials are no groups of the limiter.
void Pausing::tell_limiter(flow::Time now) const {
  pauses_.each(now, [&](const std::string& paused, flow::Time until) { limiter_->pause(now, paused, until); });
}

}  // namespace penstock::proxy
