// SPDX-License-Identifier: Apache-2.0
// The upstreams that can be asked for by name, `/@NAME/…`: those with a base URL. Pure. Only for admission.
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
  /// `config` outlives it.
  explicit Gateways(const Config& config);

  bool empty() const { return gateways_.empty(); }
  /// Nothing: no upstream with a base URL has this name.
  const Gateway* find(std::string_view name) const;
  /// What to say then: which names there are.
  http::Refusal unknown() const;

 private:
  std::vector<Gateway> gateways_;  // by name
};

}  // namespace penstock::proxy
