// SPDX-License-Identifier: Apache-2.0
// Makes limiters for use without Redis: every limit is kept in this process. For app/.
#pragma once

#include "flow/local_limiter.h"
#include "proxy/exchange/services.h"

namespace penstock::proxy {

/// Windows are aligned to the wall clock as of when a limiter is made; later clock steps change nothing.
inline MakeLimiter local_limiters(const loop::Loop& loop) {
  return [&loop](const std::string&, const std::vector<LimitConfig>& limits, flow::LimiterEvents&) {
    return std::make_unique<flow::LocalLimiter>(limits, flow::instant_at_zero(loop.wall(), loop.now()));
  };
}

}  // namespace penstock::proxy
