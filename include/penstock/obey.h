// SPDX-License-Identifier: Apache-2.0
// The ways in which vendors write about their limits in answers, and which of them count. Plain values, no threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace penstock {

/// A way in which vendors write about their limits, in the fields of an answer.
enum class Dialect : std::uint8_t {
  retry_after,     ///< Retry-After
  retry_after_ms,  ///< retry-after-ms, x-ms-retry-after-ms
  rate_limit,      ///< the IETF's RateLimit, and RateLimit-Remaining with RateLimit-Reset
  x_rate_limit,    ///< X-RateLimit-Remaining with X-RateLimit-Reset or -Reset-After, and X-Rate-Limit-…
  openai,          ///< x-ratelimit-remaining-requests, -tokens, with their resets
  anthropic,       ///< anthropic-ratelimit-…
  hubspot,         ///< X-HubSpot-RateLimit-…
  linear,          ///< X-RateLimit-Requests-…, X-RateLimit-Complexity-…
  shopify,         ///< X-Shopify-Shop-Api-Call-Limit, which has no time
};
/// As files name them, in the order of the enumeration.
inline constexpr std::array<std::string_view, 9> kDialectNames{
    "retryAfter", "retryAfterMs", "rateLimit", "xRateLimit", "openai", "anthropic", "hubspot", "linear", "shopify"};

/// Which dialects count of what an upstream's answers say of its limits. A set; the empty one is `off`.
struct Obey {
  std::uint16_t dialects = 0;  ///< the bit 1 << Dialect for each

  static const Obey off;
  static const Obey retry_after;  ///< Retry-After alone
  static const Obey automatic;    ///< all

  static constexpr Obey only(Dialect one) { return {static_cast<std::uint16_t>(1U << static_cast<unsigned>(one))}; }
  constexpr bool has(Dialect one) const { return (dialects & only(one).dialects) != 0; }
  constexpr Obey operator|(Obey other) const { return {static_cast<std::uint16_t>(dialects | other.dialects)}; }
  bool operator==(const Obey&) const = default;
};
inline constexpr Obey Obey::off{};
inline constexpr Obey Obey::retry_after = Obey::only(Dialect::retry_after);
inline constexpr Obey Obey::automatic{(1U << kDialectNames.size()) - 1};

/// As files have it: off, retryAfter, auto, or [openai, retryAfterMs].
inline std::string to_string(const Obey& obey) {
  if (obey == Obey::off) return "off";
  if (obey == Obey::automatic) return "auto";
  if (obey == Obey::retry_after) return "retryAfter";
  std::string text;
  for (std::size_t i = 0; i < kDialectNames.size(); ++i) {
    if (obey.has(static_cast<Dialect>(i))) text.append(text.empty() ? "[" : ", ").append(kDialectNames[i]);
  }
  return text + "]";
}

}  // namespace penstock
