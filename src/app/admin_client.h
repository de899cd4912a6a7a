// SPDX-License-Identifier: Apache-2.0
// Asks the admin port of a running Penstock, over a plain socket: a loop and its threads would be too much for a
// command that asks once. For commands only.
#pragma once

#include <expected>
#include <string>

#include "penstock/config.h"

namespace penstock::app {

struct AdminAnswer {
  std::string status;  ///< the first line, as in "HTTP/1.1 200 OK"
  std::string body;

  bool fine() const { return status.starts_with("HTTP/1.1 200 "); }
};

/// Where the admin port of a Penstock with this configuration is reached from this machine.
std::expected<Endpoint, std::string> admin_of(const Config& config);

/// GET `path`. Blocks, for at most two seconds between one byte and the next. The error says what is wrong without
/// naming the port.
std::expected<AdminAnswer, std::string> ask_admin(const Endpoint& admin, const std::string& path);

}  // namespace penstock::app
