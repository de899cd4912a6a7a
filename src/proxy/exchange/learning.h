// SPDX-License-Identifier: Apache-2.0
// What answers of one upstream say of a quota that others use, too, where its settings say `learn: on`: which of the
// limits that is, and what the limiter is told. A published quota that is lower than the limit is a notice, once an
// hour.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "flow/limiter.h"
#include "http/fields.h"
#include "http/rate_limit_quotas.h"
#include "http/response_head.h"
#include "penstock/config.h"
#include "proxy/exchange/services.h"

namespace penstock::proxy {

/// Whether the quota may be that of a limit, by how long its window is.
bool same_window(const http::Quota& quota, const LimitConfig& limit);
/// Whether it has about as many units as the limit.
bool same_size(const http::Quota& quota, const LimitConfig& limit);

class Learning {
 public:
  /// All must outlive this.
  Learning(const Services& services, std::string_view upstream, const UpstreamSettings& settings,
           const std::unique_ptr<flow::Limiter>& limiter)
      : services_(services), upstream_(upstream), settings_(settings), limiter_(limiter) {}

  /// The answer to a request that took that departure. Without credentials the quota is that of an address, of which
  /// others may have many: nothing is learned.
  void observe(const http::ResponseHead& head, const http::Fields& request, const Obey& obey, flow::LaneKey lane,
               const flow::Departure& departure);

 private:
  static constexpr flow::Time kQuiet = 3'600'000'000;

  void learn(const http::Quota& quota, flow::LaneKey lane, const flow::Departure& departure);
  void tell_lower(const http::Quota& quota, const LimitConfig& limit);

  const Services& services_;
  const std::string upstream_;
  const UpstreamSettings& settings_;
  const std::unique_ptr<flow::Limiter>& limiter_;
  std::optional<flow::Time> noticed_;
};

}  // namespace penstock::proxy
