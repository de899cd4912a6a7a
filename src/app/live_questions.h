// SPDX-License-Identifier: Apache-2.0
// What only an operator wants to know of one Redis, asked over a connection of its own. For check_live.cc.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loop/loop.h"
#include "loop/resolver.h"
#include "penstock/config.h"
#include "redis/client/session.h"
#include "redis/wire/network.h"

namespace penstock::app {

class LiveQuestions final : redis::SessionEvents {
 public:
  /// Connects to the Redis of `config` and asks. `loop`, `resolver` and `network` must outlive it.
  LiveQuestions(loop::Loop& loop, loop::Resolver& resolver, redis::Network& network, RedisConfig config);
  LiveQuestions(const LiveQuestions&) = delete;
  LiveQuestions& operator=(const LiveQuestions&) = delete;

  /// All is answered, or there is an error.
  bool done() const { return done_; }
  /// Why there is no answer; empty: there are answers.
  const std::string& error() const { return error_; }
  /// Where it is: "host:port" or "unix:path".
  std::string place() const { return redis::to_string(session_.place()); }
  /// "Redis 7.0.15 at WHERE, cluster, over TLS, as user default".
  std::string what_it_is(const std::string& where) const;
  /// "a round trip takes 85 µs, its clock is 0.2 ms ahead of ours".
  std::string times() const;
  /// What may lose or forget limits. `timeout` is that of the file.
  std::vector<std::string> warnings(Duration timeout) const;

 private:
  void on_found(const std::vector<Endpoint>&) override {}
  void on_ready() override;
  void on_reply(redis::Call call, const redis::Outcome& outcome) override { call.done(outcome, call.sent); }
  void on_message(std::string_view) override {}
  void on_ended(const redis::Failure& why, std::deque<redis::Call>) override;

  void ask(std::initializer_list<std::string_view> words, std::move_only_function<void(const redis::Outcome&)> then);
  void informed(const redis::Outcome& outcome);
  void measure(int more);
  void timed(const redis::Reply& reply, std::int64_t took);

  loop::Loop& loop_;
  const RedisConfig config_;
  std::string version_, id_, mode_, policy_, user_;
  std::int64_t round_trip_ = 0;        // the shortest, µs
  std::optional<std::int64_t> ahead_;  // by how much the clock of Redis is ahead of ours, µs
  std::string error_;
  bool done_ = false;
  redis::Session session_;
};

}  // namespace penstock::app
