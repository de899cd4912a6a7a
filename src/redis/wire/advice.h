// SPDX-License-Identifier: Apache-2.0
// What to do about a failure, with the keys and the scheme of the configuration that it is about. Pure.
#pragma once

#include "penstock/config.h"
#include "redis/wire/failure.h"
#include "redis/wire/greeting.h"

namespace penstock::redis {

/// A failure of a connection by `config` to such a server, with its advice in its text. For sentinels `config` is
/// as_sentinel().
Failure advised(Failure why, const RedisConfig& config, Greeting::Server server = Greeting::Server::redis);

}  // namespace penstock::redis
