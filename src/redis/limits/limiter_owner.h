// SPDX-License-Identifier: Apache-2.0
// What a limiter tells the hub that made it.
#pragma once

#include <string>

#include "flow/limiter.h"

namespace penstock::redis {

class LimiterOwner {
 public:
  /// The limiter is being destroyed.
  virtual void unregister(const std::string& name, const flow::Limiter& limiter) = 0;
  /// Whether the limiter goes by `whenDown` may have changed.
  virtual void standing_changed() = 0;

 protected:
  ~LimiterOwner() = default;
};

}  // namespace penstock::redis
