// SPDX-License-Identifier: Apache-2.0
// Makes limiters for use without Redis: every limit is kept in this process. For app/.
#pragma once

#include <memory>
#include <utility>

#include "flow/local_limiter.h"
#include "proxy/exchange/services.h"

namespace penstock::proxy {

/// Windows are aligned to the wall clock as of when a limiter is made; later clock steps change nothing.
inline MakeLimiter local_limiters(const loop::Loop& loop) {
  return [&loop](const LimiterOf& of, flow::LimiterEvents&, std::unique_ptr<flow::Limiter> former) {
    if (!former)
      former = std::make_unique<flow::LocalLimiter>(of.limits, flow::instant_at_zero(loop.wall(), loop.now()));
    else
      former->change(loop.now(), of.limits);
    return former;
  };
}

}  // namespace penstock::proxy
