// SPDX-License-Identifier: Apache-2.0
// The gateways: upstreams with a base URL, which clients address by name as `/@NAME/…`, and those of permits, which
// they ask for by `/@NAME`. Pure. For admission and URL traces.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "http/refusal.h"
#include "penstock/config.h"

namespace penstock::proxy {

struct Gateway {
  const UpstreamConfig* upstream;
  std::size_t entry;  ///< as in Route
};

class Gateways {
 public:
  /// `config` must outlive it.
  explicit Gateways(const Config& config);

  bool empty() const { return gateways_.empty(); }
  /// Null: no upstream of this name has a base URL or permits.
  const Gateway* find(std::string_view name) const;
  /// The refusal in that case; lists the names that exist.
  http::Refusal unknown() const;

 private:
  std::vector<Gateway> gateways_;  // sorted by name
};

}  // namespace penstock::proxy
