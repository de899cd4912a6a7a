// SPDX-License-Identifier: Apache-2.0
// See refusal_keys.h.
#include "config/refusal_keys.h"

#include <algorithm>

#include "config/key_table.h"

namespace penstock::config {

namespace {

constexpr Key<RetryConfig> kRetry[] = {
    value<&RetryConfig::refusals>("refusals"), value<&RetryConfig::failures>("failures"),
    value<&RetryConfig::attempts>("attempts"),
    Key<RetryConfig>{"budget",
                     [](Reading& r, const Spot& spot, RetryConfig& into) { read_percent(r, spot, into.budget); }},
    value<&RetryConfig::except>("except")};
constexpr Key<BreakerConfig> kBreaker[] = {value<&BreakerConfig::failures>("failures"),
                                           value<&BreakerConfig::max_pause>("maxPause")};

/// What is never sent again turns nothing on: presets say it, whatever `defaults` say.
bool turns_on(const Node& map) {
  return std::ranges::any_of(map.entries, [](const Entry& entry) { return entry.key.text != "except"; });
}

/// What no waiting cures stays what it is, sent again or not: it pauses nothing.
RetryConfig instead_of(const RetryConfig& before, RetryConfig state) {
  state.except = before.except;
  return state;
}
BreakerConfig instead_of(const BreakerConfig&, BreakerConfig state) { return state; }

/// A section, or `off`. Keys turn on what was off before, in `defaults` say, as if nothing had been said of it.
template <typename Section>
void read_unless_off(Reading& reading, const Spot& spot, std::span<const Key<Section>> keys, std::string_view example,
                     Section& into) {
  if (spot.node.kind == Node::Kind::null || spot.node.kind == Node::Kind::broken) return;
  if (spot.node.kind == Node::Kind::map) {
    if (into == instead_of(into, Section::off()) && turns_on(spot.node)) into = instead_of(into, Section{});
    return read_keys(reading, spot, keys, into);
  }
  const auto text = spot.node.kind == Node::Kind::scalar ? reading.text(spot, "off") : std::nullopt;
  if (spot.node.kind == Node::Kind::scalar && !text) return;
  if (text != "off")
    return reading.complain(spot.node, named(spot.path) + " must be off, or hold keys, as in " + std::string(example));
  into = instead_of(into, Section::off());
}

}  // namespace

void read_retry(Reading& reading, const Spot& spot, UpstreamSettings& into) {
  read_unless_off(reading, spot, std::span<const Key<RetryConfig>>(kRetry), "retry: { attempts: 3 }", into.retry);
}
void list_retry(const std::string& path, std::vector<std::string>& into) { list_keys(kRetry, path, into); }

void read_breaker(Reading& reading, const Spot& spot, UpstreamSettings& into) {
  read_unless_off(reading, spot, std::span<const Key<BreakerConfig>>(kBreaker), "breaker: { failures: 5 }",
                  into.breaker);
}
void list_breaker(const std::string& path, std::vector<std::string>& into) { list_keys(kBreaker, path, into); }

}  // namespace penstock::config
