// SPDX-License-Identifier: Apache-2.0
// What exchanges share: the loop, names, connections, and what is allowed. Lives as long as the proxy runs.
#pragma once

#include "access/verdict.h"
#include "loop/loop.h"
#include "loop/resolver.h"
#include "penstock/config.h"
#include "penstock/event.h"
#include "transfer/multi.h"

namespace penstock::proxy {

struct Services {
  loop::Loop& loop;
  loop::Resolver& resolver;
  transfer::Multi& multi;
  const access::Verdict& verdict;
  const Config& config;
  EventSink events;
};

}  // namespace penstock::proxy
