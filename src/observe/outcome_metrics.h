// SPDX-License-Identifier: Apache-2.0
// Counts how the requests of one `upstream` label ended: by outcome, by status, by the kind of our refusal, and by the
// status with which the upstream turned them away. For upstream_metrics only.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observe/families.h"
#include "observe/series.h"
#include "penstock/event.h"

namespace penstock::observe {

class OutcomeMetrics {
 public:
  OutcomeMetrics(OutcomeFamilies& families, std::string label);

  void record(const Event& event);

 private:
  static constexpr std::size_t kOutcomes = 6;
  static constexpr std::array kRefusing = {429, 503, 529};  // too many requests, unavailable, overloaded
  static constexpr int kFirstCode = 100;
  static constexpr int kCodes = 900;

  void said_there(const Event& event);
  void sent_again(const Event& event);
  prometheus::Counter& response(int code);
  prometheus::Counter& upstream_refusal(int code);
  prometheus::Counter& refusal(std::string_view kind);

  OutcomeFamilies& families_;
  const std::string label_;
  std::array<Series<prometheus::Counter>, kOutcomes> requests_;
  std::vector<std::pair<int, Series<prometheus::Counter>>> upstream_refusals_;  // others when a code is first seen
  Series<prometheus::Counter> unreadable_;
  Series<prometheus::Counter> after_refusal_, after_failure_;                  // attempts
  std::array<Series<prometheus::Counter>, kCodes> responses_;                  // made when a code is first seen
  std::vector<std::pair<std::string, Series<prometheus::Counter>>> refusals_;  // when a kind is first seen; a handful
};

}  // namespace penstock::observe
