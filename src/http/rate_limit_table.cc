// SPDX-License-Identifier: Apache-2.0
// See rate_limit_table.h. All names stand in one list, in the order of their lengths, so that a field is compared with
// the few alone that are as long as its own name.
#include "http/rate_limit_table.h"

#include <algorithm>
#include <optional>

#include "http/grammar.h"

namespace penstock::http {
namespace {

constexpr WaitField kWaits[]{
    {Dialect::retry_after, "retry-after", TimeForm::any},                     // RFC 9110 section 10.2.3
    {Dialect::retry_after_ms, "retry-after-ms", TimeForm::milliseconds},      // OpenAI, Azure OpenAI
    {Dialect::retry_after_ms, "x-ms-retry-after-ms", TimeForm::milliseconds}  // Azure
};

constexpr LimitFields kLimits[]{
    // IETF's drafts up to 06; GitLab, Twitch, Docker Hub
    {Dialect::rate_limit, "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"},
    // GitHub, Reddit, Atlassian, SendGrid, Brave; the last of Discord
    {Dialect::x_rate_limit, "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", TimeForm::any,
     "x-ratelimit-reset-after"},
    // X, Okta
    {Dialect::x_rate_limit, "x-rate-limit-limit", "x-rate-limit-remaining", "x-rate-limit-reset"},
    // OpenAI, Azure OpenAI, Mistral, Groq: kept for each model
    {Dialect::openai, "x-ratelimit-limit-requests", "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests",
     TimeForm::any, "", "requests"},
    {Dialect::openai, "x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens",
     TimeForm::any, "", "tokens"},
    // Linear: of the user
    {Dialect::linear, "x-ratelimit-requests-limit", "x-ratelimit-requests-remaining", "x-ratelimit-requests-reset"},
    {Dialect::linear, "x-ratelimit-complexity-limit", "x-ratelimit-complexity-remaining",
     "x-ratelimit-complexity-reset"},
    // Anthropic: kept for each class of models
    {Dialect::anthropic, "anthropic-ratelimit-requests-limit", "anthropic-ratelimit-requests-remaining",
     "anthropic-ratelimit-requests-reset", TimeForm::any, "", "requests"},
    {Dialect::anthropic, "anthropic-ratelimit-tokens-limit", "anthropic-ratelimit-tokens-remaining",
     "anthropic-ratelimit-tokens-reset", TimeForm::any, "", "tokens"},
    {Dialect::anthropic, "anthropic-ratelimit-input-tokens-limit", "anthropic-ratelimit-input-tokens-remaining",
     "anthropic-ratelimit-input-tokens-reset", TimeForm::any, "", "input-tokens"},
    {Dialect::anthropic, "anthropic-ratelimit-output-tokens-limit", "anthropic-ratelimit-output-tokens-remaining",
     "anthropic-ratelimit-output-tokens-reset", TimeForm::any, "", "output-tokens"},
    // HubSpot
    {Dialect::hubspot, "x-hubspot-ratelimit-max", "x-hubspot-ratelimit-remaining",
     "x-hubspot-ratelimit-interval-milliseconds", TimeForm::milliseconds, "", "", true},
};

constexpr struct {
  Dialect dialect;
  std::string_view name;
} kAlone[]{{Dialect::rate_limit, kRateLimit}, {Dialect::shopify, kShopifyCalls}, {Dialect::x_rate_limit, kResource},
           {Dialect::x_rate_limit, kBucket},  {Dialect::x_rate_limit, kScope},   {Dialect::x_rate_limit, kGlobal}};

struct KnownName {
  std::string_view name;
  std::uint16_t dialect = 0;  // its bit in Obey
};

constexpr std::size_t kNameCount = [] {
  std::size_t count = std::size(kWaits) + std::size(kAlone);
  for (const auto& row : kLimits) count += 3 + (row.in_seconds.empty() ? 0 : 1);
  return count;
}();

constexpr auto kNames = [] {
  std::array<KnownName, kNameCount> names{};
  auto* next = names.begin();
  const auto add = [&](Dialect dialect, std::string_view name) {
    if (!name.empty()) *next++ = {name, Obey::only(dialect).dialects};
  };
  for (const auto& wait : kWaits) add(wait.dialect, wait.name);
  for (const auto& row : kLimits) {
    for (const auto name : {row.limit, row.remaining, row.reset, row.in_seconds}) add(row.dialect, name);
  }
  for (const auto& alone : kAlone) add(alone.dialect, alone.name);
  std::ranges::sort(names, {}, [](const KnownName& known) { return known.name.size(); });
  return names;
}();

constexpr std::size_t kLongestLimitName = kNames.back().name.size();
/// Where the names of each length begin; those of the next length begin where these end.
constexpr auto kFirstOfLength = [] {
  std::array<std::uint8_t, kLongestLimitName + 2> first{};
  for (std::size_t size = 0; size < first.size(); ++size) {
    const auto shorter = [&](const KnownName& known) { return known.name.size() < size; };
    first[size] = static_cast<std::uint8_t>(std::ranges::count_if(kNames, shorter));
  }
  return first;
}();

/// All of them begin with one of these.
constexpr bool may_begin(char c) { return lower(c) == 'x' || lower(c) == 'r' || lower(c) == 'a'; }
static_assert(std::ranges::all_of(kNames, [](const KnownName& known) { return may_begin(known.name[0]); }));

/// The name's place in the list.
std::optional<std::size_t> place_of(std::string_view name) {
  if (name.size() > kLongestLimitName || name.size() < kNames.front().name.size() || !may_begin(name[0]))
    return std::nullopt;
  for (std::size_t i = kFirstOfLength[name.size()]; i < kFirstOfLength[name.size() + 1]; ++i) {
    if (equal_ignoring_case(name, kNames[i].name)) return i;
  }
  return std::nullopt;
}

}  // namespace

std::span<const WaitField> wait_fields() { return kWaits; }
std::span<const LimitFields> limit_fields() { return kLimits; }

RateLimitPlaces::RateLimitPlaces(const Fields& fields, Obey obey) : none_(fields.size()) {
  static_assert(kNames.size() <= kMostNames);
  for (std::size_t i = 0; i < fields.size() && i <= UINT16_MAX; ++i) {
    const auto place = place_of(fields[i].name);
    if (!place || (kNames[*place].dialect & obey.dialects) == 0) continue;
    const std::uint64_t bit = std::uint64_t{1} << *place;
    if ((found_ & bit) == 0) index_[*place] = static_cast<std::uint16_t>(i);
    found_ |= bit;
  }
}

std::size_t RateLimitPlaces::first(std::string_view name) const {
  const auto place = place_of(name);
  return place && (found_ >> *place & 1) != 0 ? index_[*place] : none_;
}

}  // namespace penstock::http
