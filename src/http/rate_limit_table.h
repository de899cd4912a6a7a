// SPDX-License-Identifier: Apache-2.0
// The names of the fields in which vendors write about their limits, in each dialect, and what each of them says. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "http/fields.h"
#include "http/rate_limit_moment.h"
#include "penstock/config.h"

namespace penstock::http {

/// How long to wait: a field of an answer that refuses.
struct WaitField {
  Dialect dialect;
  std::string_view name;  ///< in lower case, as all names here
  TimeForm form;
};

/// What remains of a limit, and when it is filled again: fields of any answer. An empty name: there is no such field.
struct LimitFields {
  Dialect dialect;
  std::string_view limit, remaining, reset;
  TimeForm form = TimeForm::any;
  std::string_view in_seconds{};  ///< a second field with the time, as seconds from now
  std::string_view counter{};     ///< what it counts, where the vendor keeps such a limit for a part of the API alone
  /// `reset` is how long the limit's window is: the longest that a refusal lasts. It says nothing beside a good answer.
  bool is_length = false;
};

std::span<const WaitField> wait_fields();
std::span<const LimitFields> limit_fields();

/// Fields that stand alone.
inline constexpr std::string_view kRateLimit = "ratelimit";
inline constexpr std::string_view kShopifyCalls = "x-shopify-shop-api-call-limit";
inline constexpr std::string_view kResource = "x-ratelimit-resource";  // GitHub
inline constexpr std::string_view kBucket = "x-ratelimit-bucket";      // Discord, as the next two
inline constexpr std::string_view kScope = "x-ratelimit-scope";
inline constexpr std::string_view kGlobal = "x-ratelimit-global";

/// Where fields of these names stand in an answer.
class RateLimitPlaces {
 public:
  /// One pass, for every answer: most names are ruled out by their length or their first letter.
  RateLimitPlaces(const Fields& fields, Obey obey);

  bool empty() const { return found_ == 0; }
  /// The index of the first line of that name, one of this file; the number of lines: there is none.
  std::size_t first(std::string_view name) const;

 private:
  static constexpr std::size_t kMostNames = 64;

  const std::size_t none_;
  std::array<std::uint16_t, kMostNames> index_;  // by the name's place in the table; written where `found_` has a bit
  std::uint64_t found_ = 0;
};

}  // namespace penstock::http
