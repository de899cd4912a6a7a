// SPDX-License-Identifier: Apache-2.0
// Makes the Servers that a configuration asks for: one Redis, or a Cluster. One thread.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "loop/loop.h"
#include "loop/resolver.h"
#include "penstock/config.h"
#include "penstock/event.h"
#include "redis/client/servers.h"
#include "redis/wire/network.h"

namespace penstock::redis {

/// Connects from the next iteration of the loop on. `config`, `resolver`, `network`, the texts of `scripts` and
/// `events` must outlive it. `process` is the name of this one.
std::unique_ptr<Servers> make_servers(loop::Loop& loop, loop::Resolver& resolver, Network& network,
                                      const RedisConfig& config, std::span<const std::string_view> scripts,
                                      std::string_view process, RedisEvents& events, NoticeSink notices);

}  // namespace penstock::redis
