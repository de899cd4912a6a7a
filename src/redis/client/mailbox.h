// SPDX-License-Identifier: Apache-2.0
// The second connection: receives what other processes publish for this one. A message published while it is not
// connected is lost; code that relies on a message must find out without it, later. Only for redis.cc.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "redis/wire/backoff.h"
#include "redis/wire/connection.h"

namespace penstock::redis {

class Mailbox final : ConnectionEvents {
 public:
  Mailbox(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
          std::vector<std::string> channels, std::function<void(std::string_view)> on_message,
          std::function<void(const loop::Addresses&)> on_found, std::function<void(bool hears)> on_hears,
          std::function<void(const Failure&)> on_refused);
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Neither may be called from inside `on_message`.
  void open();
  void close();
  /// True: everything published from now on arrives, unless this connection ends.
  bool hears() const { return hears_; }

 private:
  void set_hears(bool hears);
  void on_found(const loop::Addresses& addresses) override { on_found_(addresses); }
  void on_ready() override;
  void on_reply(Call call, const Outcome& outcome) override;
  void on_message(std::string_view payload) override { on_message_(payload); }
  void on_ended(const Failure& why, std::deque<Call> unanswered) override;

  loop::Loop& loop_;
  loop::Resolver& resolver_;
  Network& network_;
  const RedisConfig& config_;
  const std::vector<std::string> channels_;
  const std::function<void(std::string_view)> on_message_;
  const std::function<void(const loop::Addresses&)> on_found_;
  const std::function<void(bool)> on_hears_;
  const std::function<void(const Failure&)> on_refused_;
  std::size_t subscribed_ = 0;  // channels subscribed to so far
  bool hears_ = false;
  std::unique_ptr<Connection> connection_;  // the ended one stays until the next is made
  std::size_t attempt_ = 0;
  Backoff backoff_;
};

}  // namespace penstock::redis
