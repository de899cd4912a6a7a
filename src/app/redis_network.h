// SPDX-License-Identifier: Apache-2.0
// The network by which this process reaches Redis: TLS over TCP where the configuration says so, else plain sockets.
#pragma once

#include <expected>
#include <memory>
#include <vector>

#include "penstock/config.h"
#include "penstock/error.h"
#include "redis/wire/network.h"

namespace penstock::app {

/// One for each Redis of the configuration, in its order; null: plain sockets, redis::sockets().
using Networks = std::vector<std::unique_ptr<redis::Network>>;

/// The network to that one. `path` is where its keys stand, for the error.
std::expected<std::unique_ptr<redis::Network>, Error> network_to(const RedisConfig& config, const std::string& path);

/// The error names the key whose file cannot be used. Files that change are read again for the next connection.
std::expected<Networks, Error> networks_to(const Config& config);

/// The files that it reads, as those of an upstream.
TlsConfig files_of(const RedisTlsConfig& config);

}  // namespace penstock::app
