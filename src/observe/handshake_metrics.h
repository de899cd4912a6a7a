// SPDX-License-Identifier: Apache-2.0
// Counts the TLS takeovers of one `upstream` label by their results. For upstream_metrics only.
#pragma once

#include <array>
#include <string>

#include "observe/families.h"
#include "observe/series.h"
#include "penstock/snapshot.h"

namespace penstock::observe {

class HandshakeMetrics {
 public:
  HandshakeMetrics(Counters& family, std::string label);

  /// Has series only while TLS is intercepted.
  void show(bool intercepted);
  /// Adds what is more than at the last call.
  void count(const HandshakeTotals& now);

 private:
  static constexpr std::size_t kResults = 6;

  Counters& family_;
  const std::string label_;
  std::array<Series<prometheus::Counter>, kResults> results_;
  HandshakeTotals counted_;
};

}  // namespace penstock::observe
