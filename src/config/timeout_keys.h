// SPDX-License-Identifier: Apache-2.0
// The keys of time-outs, of requests and of clients' connections. For keys.cc and route_keys.cc.
#pragma once

#include <string>
#include <vector>

#include "config/key_table.h"

namespace penstock::config {

inline constexpr Key<TimeoutConfig> kTimeouts[] = {value<&TimeoutConfig::connect>("connect"),
                                                   value<&TimeoutConfig::first_byte>("firstByte"),
                                                   value<&TimeoutConfig::idle>("idle"),
                                                   value<&TimeoutConfig::total>("total"),
                                                   value<&TimeoutConfig::body>("body"),
                                                   value<&TimeoutConfig::tunnel_idle>("tunnelIdle"),
                                                   value<&TimeoutConfig::tunnel_rest>("tunnelRest")};
inline constexpr Key<ConnectionConfig> kConnection[] = {value<&ConnectionConfig::header>("header"),
                                                        value<&ConnectionConfig::keep_alive>("keepAlive")};

/// Those of a request, for an upstream or a route. The others are allowed in `defaults` only: here they are errors.
void read_timeouts(Reading& reading, const Spot& spot, UpstreamSettings& into);
void list_timeouts(const std::string& path, std::vector<std::string>& into);

}  // namespace penstock::config
