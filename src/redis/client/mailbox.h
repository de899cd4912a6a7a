// SPDX-License-Identifier: Apache-2.0
// The second connection: receives what other processes publish for this one. A message published while it is not
// connected is lost; code that relies on a message must find out without it, later. Only for redis.cc.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "redis/client/session.h"

namespace penstock::redis {

/// Called from the loop, and on_subscribed() also from inside close().
class MailboxEvents {
 public:
  virtual void on_message(std::string_view payload) = 0;
  /// The host name led to these addresses, one of which is dialled next.
  virtual void on_found(const std::vector<Endpoint>& there) = 0;
  virtual void on_subscribed(bool subscribed) = 0;
  virtual void on_subscribe_failed(const Failure& why) = 0;

 protected:
  ~MailboxEvents() = default;
};

class Mailbox final : SessionEvents {
 public:
  Mailbox(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
          std::vector<std::string> channels, MailboxEvents& events);
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Neither may be called from inside `on_message`. At `place` is the Redis that scripts are called at.
  void open(const Place& place) { session_.dial_only(place); }
  void close();
  /// True: everything published from now on arrives, unless this connection ends.
  bool subscribed() const { return subscribed_; }

 private:
  void set_subscribed(bool subscribed);
  void on_found(const std::vector<Endpoint>& there) override { events_.on_found(there); }
  void on_ready() override;
  void on_reply(Call call, const Outcome& outcome) override;
  void on_message(std::string_view payload) override { events_.on_message(payload); }
  void on_ended(const Failure& why, std::deque<Call> unanswered) override;

  const std::vector<std::string> channels_;
  MailboxEvents& events_;
  std::size_t channels_subscribed_ = 0;  // so far
  bool subscribed_ = false;
  Session session_;
};

}  // namespace penstock::redis
