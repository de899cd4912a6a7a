// SPDX-License-Identifier: Apache-2.0
// See gateways.h. A sorted, immutable list.
#include "proxy/route/gateways.h"

#include <algorithm>
#include <string>

namespace penstock::proxy {

namespace {
std::string_view gateway_name(const Gateway& gateway) { return gateway.upstream->name; }
}  // namespace

Gateways::Gateways(const Config& config) {
  for (std::size_t i = 0; i < config.upstreams.size(); ++i) {
    if (config.upstreams[i].base_url || config.upstreams[i].permits) gateways_.push_back({&config.upstreams[i], i + 1});
  }
  std::ranges::sort(gateways_, {}, gateway_name);
}

const Gateway* Gateways::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(gateways_, name, {}, gateway_name);
  return found != gateways_.end() && gateway_name(*found) == name ? &*found : nullptr;
}

http::Refusal Gateways::unknown() const {
  http::Refusal refusal{.why = http::Reason::gateway_unknown, .details = "no upstream has a baseUrl or permits"};
  if (empty()) return refusal;
  refusal.details = "no upstream of this name has a baseUrl or permits; those that have one:";
  for (const auto& gateway : gateways_) refusal.details.append(" /@").append(gateway_name(gateway));
  return refusal;
}

}  // namespace penstock::proxy
