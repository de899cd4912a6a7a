// SPDX-License-Identifier: Apache-2.0
// What exchanges share: the loop, names, connections, and what is allowed. Lives as long as the proxy runs.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "access/verdict.h"
#include "flow/booker.h"
#include "loop/loop.h"
#include "loop/resolver.h"
#include "penstock/config.h"
#include "penstock/event.h"
#include "proxy/connections.h"

namespace penstock::proxy {

/// Makes what keeps the limits of one upstream, known by this name in every process. `events` outlives it.
using MakeBooker = std::function<std::unique_ptr<flow::Booker>(
    const std::string& name, const UpstreamSettings& settings, flow::BookerEvents& events)>;

struct Services {
  loop::Loop& loop;
  loop::Resolver& resolver;
  Connections& connections;
  const access::Verdict& verdict;
  const Config& config;
  EventSink events;
  MakeBooker make_booker;
};

}  // namespace penstock::proxy
