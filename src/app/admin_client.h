// SPDX-License-Identifier: Apache-2.0
// Asks the admin port of a running Penstock, over a plain socket: a loop and its threads would be too much for a
// command that asks once. For commands only.
#pragma once

#include <expected>
#include <optional>
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

/// The admin port at `given`, such as http://127.0.0.1:9128; if that is empty, the one that the file has. Nothing: it
/// has been said on stderr what is wrong.
std::optional<Endpoint> wanted_admin(const std::string& config_file, const std::string& given);

/// Asks for `path`. Blocks, for at most two seconds between one byte and the next. The error says what is wrong without
/// naming the port.
std::expected<AdminAnswer, std::string> ask_admin(const Endpoint& admin, const std::string& path,
                                                  const std::string& method = "GET");

/// Asks likewise, and prints the body of a good answer on stdout; otherwise says on stderr what is wrong. The exit
/// code.
int print_answer(const Endpoint& admin, const std::string& path, const std::string& method = "GET");

}  // namespace penstock::app
