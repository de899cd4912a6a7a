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

/// Called from the loop, and on_hears() also from inside close().
class MailboxEvents {
 public:
  virtual void on_message(std::string_view payload) = 0;
  /// The host name led to these addresses, one of which is dialled next.
  virtual void on_found(const loop::Addresses& addresses) = 0;
  virtual void on_hears(bool hears) = 0;
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

  /// Neither may be called from inside `on_message`.
  void open() { session_.dial(); }
  void close();
  /// True: everything published from now on arrives, unless this connection ends.
  bool hears() const { return hears_; }

 private:
  void set_hears(bool hears);
  void on_found(const loop::Addresses& addresses) override { events_.on_found(addresses); }
  void on_ready() override;
  void on_reply(Call call, const Outcome& outcome) override;
  void on_message(std::string_view payload) override { events_.on_message(payload); }
  void on_ended(const Failure& why, std::deque<Call> unanswered) override;

  const std::vector<std::string> channels_;
  MailboxEvents& events_;
  std::size_t subscribed_ = 0;  // channels subscribed to so far
  bool hears_ = false;
  Session session_;
};

}  // namespace penstock::redis
