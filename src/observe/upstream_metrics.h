// SPDX-License-Identifier: Apache-2.0
// The metrics of one `upstream` label: a configured name, or "*" for all hosts that no entry names. The series are
// looked up once, here, so that an event costs only additions; they are removed with this object. For metrics.cc only.
#pragma once

#include <cstdint>
#include <string>

#include "observe/families.h"
#include "observe/handshake_metrics.h"
#include "observe/latency_metrics.h"
#include "observe/limit_metrics.h"
#include "observe/limit_use.h"
#include "observe/outcome_metrics.h"
#include "observe/queue_metrics.h"
#include "penstock/config.h"
#include "penstock/event.h"

namespace penstock::observe {

class UpstreamMetrics {
 public:
  UpstreamMetrics(UpstreamFamilies& families, std::string label, const UpstreamSettings& settings);

  const std::string& label() const { return label_; }
  /// Removes the series of limits that are gone.
  void change(const UpstreamSettings& settings);

  void record(const Event& event);
  /// Call for each upstream of the label, then set().
  void note(const UpstreamSnapshot& upstream) { use_.note(upstream); }
  void set(const Occupancy& occupancy, std::int64_t at);

 private:
  const std::string label_;
  OutcomeMetrics outcomes_;
  LimitMetrics limits_;
  LimitUse use_;
  QueueMetrics queue_;
  LatencyMetrics latency_;
  HandshakeMetrics handshakes_;
};

}  // namespace penstock::observe
