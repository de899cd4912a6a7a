// SPDX-License-Identifier: Apache-2.0
// What is said first on a connection, and what it tells of the server: authentication, the kind of server, its id.
// Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/config.h"
#include "redis/wire/failure.h"
#include "redis/wire/reply.h"

namespace penstock::redis {

/// An error reply is a Failure here.
using Outcome = std::expected<Reply, Failure>;

class Greeting {
 public:
  /// `wants_id`: ask again where INFO does not tell the server's id. `config` must outlive it.
  Greeting(const RedisConfig& config, bool wants_id) : config_(config), wants_id_(wants_id) {}

  /// The commands to begin with, at least one.
  std::vector<std::string> begin();
  /// Takes the replies in order. Returns the command to be sent next, empty: none; or why the server is of no use.
  std::expected<std::string, Failure> next(const Outcome& outcome);
  /// All was answered: the server is a Redis that we can use.
  bool done() const { return unanswered_.empty(); }

  /// Id of the server, valid once done; empty: the server does not tell one. It identifies the server's memory: a Redis
  /// that was restarted, or another one behind the same address, has another id.
  std::string_view server_id() const { return server_id_; }
  /// The error reply by which INFO was refused; empty: it was not refused.
  const std::string& no_info() const { return no_info_; }

 private:
  enum class Said : std::uint8_t { login, info, info_again, database };

  std::expected<std::string, Failure> informed(Said said, const Outcome& outcome);

  const RedisConfig& config_;
  const bool wants_id_;
  std::deque<Said> unanswered_;
  std::string server_id_, no_info_;
};

}  // namespace penstock::redis
