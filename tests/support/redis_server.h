// SPDX-License-Identifier: Apache-2.0
// A real redis-server on a free loopback port and a unix socket, in a temporary folder, without persistence; it lives
// no longer than the test. It can be stopped, frozen, and restarted empty on the same port. One thread.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/held_port.h"

struct redisContext;

namespace penstock::test {

struct RedisReply {
  enum class Kind : std::uint8_t { none, text, status, error, integer, array };  ///< none: nil, or Redis did not answer
  Kind kind = Kind::none;
  std::string text;
  std::int64_t integer = 0;
  std::vector<RedisReply> items;

  bool is_error() const { return kind == Kind::error; }
};

class RedisServer {
 public:
  /// `options`: further words of redis-server's command line: {"--requirepass", "secret"}. The first may be the path of
  /// a configuration, as a Sentinel needs one: {"/tmp/s.conf", "--sentinel"}.
  explicit RedisServer(std::vector<std::string> options = {});
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  std::uint16_t port() const { return port_.number(); }
  std::string socket() const { return folder_ + "/redis.sock"; }
  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port()); }
  pid_t pid() const { return pid_; }  ///< 0 while stopped

  /// Returns once the server answers. It always starts empty.
  void start();
  /// Returns once the process has ended.
  void stop(int signal = SIGTERM);
  void restart_empty() { stop(SIGKILL), start(); }
  void pause();  ///< freezes the process: connections stay, nothing is answered
  void resume();

  /// Runs one command over a connection of its own; waits at most two seconds.
  RedisReply run(const std::vector<std::string_view>& command);

 private:
  struct Close {
    void operator()(redisContext* connection) const;
  };
  bool answers();

  const std::vector<std::string> options_;
  std::string folder_;
  const HeldPort port_;
  pid_t pid_ = 0;
  std::unique_ptr<redisContext, Close> connection_;
};

}  // namespace penstock::test
