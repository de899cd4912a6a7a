// SPDX-License-Identifier: Apache-2.0
// What people are shown of the requests that wait at an upstream. It is made when somebody looks, and costs a walk
// along its lanes.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "flow/scheduler.h"
#include "penstock/config.h"
#include "penstock/limits.h"
#include "penstock/snapshot.h"

namespace penstock::proxy {

/// How much of a limit is used, and what it is set to. What has departed in it is not told.
LimitSnapshot limit_snapshot(const LimitConfig& limit, const flow::LimitReading& reading);

/// The name for people of a limit of a queue with these settings; empty: no limit.
std::string_view name_of_limit(const UpstreamSettings& settings, flow::LimitIndex limit);

/// nullopt: nothing waits.
using NameOfLimit = std::function<std::string_view(flow::LimitIndex limit)>;
std::optional<HeadSnapshot> head_of(const flow::Scheduler& scheduler, flow::Time now, const NameOfLimit& name_of);

/// How far off that is, if it is known.
inline std::optional<Duration> time_to(std::optional<flow::Time> at, flow::Time now) {
  return at ? std::optional(Duration{*at - now}) : std::nullopt;
}

}  // namespace penstock::proxy
