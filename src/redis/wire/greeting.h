// SPDX-License-Identifier: Apache-2.0
// What is said first on a connection, and what it tells of the server: authentication, the kind of server, its id.
// Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/config.h"
#include "redis/wire/failure.h"
#include "redis/wire/reply.h"

namespace penstock::redis {

/// An error reply is a Failure here.
using Outcome = std::expected<Reply, Failure>;

/// The value of a field in the reply to INFO; empty: there is no such field.
std::string_view field_of_info(std::string_view info, std::string_view name);

class Greeting {
 public:
  enum class Server : std::uint8_t { redis, sentinel };
  /// `wants_id`: ask again where INFO does not tell the server's id. `config` must outlive it.
  Greeting(const RedisConfig& config, bool wants_id, Server wanted = Server::redis)
      : config_(config), wants_id_(wants_id), wanted_(wanted) {}

  Server wanted() const { return wanted_; }
  /// The commands to begin with, at least one.
  std::vector<std::string> begin();
  /// Takes the replies in order. Returns the command to be sent next, empty: none; or why the server is of no use.
  std::expected<std::string, Failure> next(const Outcome& outcome);
  /// All was answered: the server is a Redis that we can use.
  bool done() const { return unanswered_.empty(); }

  /// Id of the server, valid once done; empty: the server does not tell one. That of a cluster's node begins with "c-".
  /// It identifies the server's memory: a Redis that was restarted, or another one behind the same address, has another
  /// id.
  std::string_view server_id() const { return server_id_; }
  /// The error reply by which INFO was refused; empty: it was not refused.
  const std::string& no_info() const { return no_info_; }

 private:
  enum class Said : std::uint8_t { login, info, info_again, role, database, name };

  std::expected<std::string, Failure> take_info(Said said, const Outcome& outcome);
  std::optional<Failure> reason_unusable(std::string_view info) const;
  std::expected<std::string, Failure> check_role(const Outcome& outcome) const;

  const RedisConfig& config_;
  const bool wants_id_;
  const Server wanted_;
  std::deque<Said> unanswered_;
  std::string server_id_, no_info_;
};

}  // namespace penstock::redis
