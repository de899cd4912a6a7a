// SPDX-License-Identifier: Apache-2.0
// Shared by all attempts: a deadline that never comes, and the deadline of `timeouts.total`.
#pragma once

#include <cstdint>
#include <limits>

#include "http/refusal.h"
#include "proxy/exchange/address_check.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/upstream.h"

namespace penstock::proxy {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// When the exchange must have landed. To be called after take-off.
inline std::int64_t total_deadline(const Exchange& exchange) {
  const auto total = exchange.timeouts().total.count();
  return total > 0 ? exchange.took_off + total : kNever;
}

inline http::Refusal total_is_over(const Exchange& exchange) {
  const auto total = exchange.timeouts().total;
  return {.why = http::Reason::read_timeout, .details = "not done after " + seconds(total) + " (timeouts.total)"};
}

}  // namespace penstock::proxy
