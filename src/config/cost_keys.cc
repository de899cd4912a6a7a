// SPDX-License-Identifier: Apache-2.0
// See cost_keys.h.
#include "config/cost_keys.h"

#include <span>

#include "config/key_table.h"

namespace penstock::config {

namespace {

/// One entry, or a list of them.
template <auto member>
constexpr Key<CostConfig> one_or_more(std::string_view name) {
  return {name, [](Reading& reading, const Spot& spot, CostConfig& into) {
            if (spot.node.kind == Node::Kind::list) return read(reading, spot, into.*member);
            const std::string path = spot.path + "[0]";
            reading.met(path, spot.node);
            into.*member = {reading.text(spot, "an entry such as json:max_tokens, or a list of them").value_or("")};
          }};
}

constexpr Key<CostConfig> kCost[] = {
    value<&CostConfig::unit>("unit"),
    one_or_more<&CostConfig::estimate>("estimate"),
    one_or_more<&CostConfig::actual>("actual"),
    {"max", [](Reading& reading, const Spot& spot, CostConfig& into) { read(reading, spot, into.max.emplace(1)); }},
    value<&CostConfig::stream_usage>("streamUsage")};

}  // namespace

void read_cost(Reading& reading, const Spot& spot, UpstreamSettings& into) {
  const auto before = reading.problems();
  if (!into.cost) into.cost.emplace();
  read_keys(reading, spot, std::span<const Key<CostConfig>>(kCost), *into.cost);
  if (reading.problems() > before) reading.excuse(spot.path);
}

void list_cost(const std::string& path, std::vector<std::string>& into) { list_keys(kCost, path, into); }

}  // namespace penstock::config
