// SPDX-License-Identifier: Apache-2.0
// The usual process_* metrics, which prometheus-cpp lacks, read from /proc. Any thread; takes a fraction of a
// millisecond. For this room only.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace penstock::observe {

std::vector<prometheus::MetricFamily> process_metrics();

}  // namespace penstock::observe
