// SPDX-License-Identifier: Apache-2.0
// Makes a limit from its parameters: one line for each kind.
#include "flow/make_limit.h"

#include "flow/adaptive.h"
#include "flow/counter.h"
#include "flow/pacer.h"
#include "flow/semaphore.h"
#include "flow/sliding_window.h"
#include "flow/token_bucket.h"
#include "flow/window.h"

namespace penstock::flow {

namespace {

struct Maker {
  using Made = std::unique_ptr<Limit>;
  const bool of_costs;
  Made operator()(const PacerConfig& config) const { return std::make_unique<Pacer>(config); }
  Made operator()(const WindowConfig& config) const { return std::make_unique<Window>(config); }
  Made operator()(const SlidingWindowConfig& config) const { return std::make_unique<SlidingWindow>(config); }
  Made operator()(const TokenBucketConfig& config) const { return std::make_unique<TokenBucket>(config); }
  Made operator()(const SemaphoreConfig& config) const { return std::make_unique<Semaphore>(config); }
  Made operator()(const CounterConfig& config) const { return std::make_unique<Counter>(config, of_costs); }
  Made operator()(const AdaptiveConfig& config) const { return std::make_unique<Adaptive>(config); }
};

}  // namespace

std::unique_ptr<Limit> make_limit(const LimitConfig::Kind& kind, bool of_costs) {
  return std::visit(Maker{of_costs}, kind);
}

}  // namespace penstock::flow
