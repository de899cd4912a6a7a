// SPDX-License-Identifier: Apache-2.0
// Subscribes to the channels, and again after every lost connection.
#include "redis/client/mailbox.h"

#include <utility>

#include "redis/wire/command.h"

namespace penstock::redis {

Mailbox::Mailbox(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
                 std::vector<std::string> channels, MailboxEvents& events)
    : channels_(std::move(channels)),
      events_(events),
      session_(loop, resolver, network, config, Connection::For::messages, *this) {}

void Mailbox::close() {
  session_.close();
  set_subscribed(false);
}

/// One SUBSCRIBE for each channel: each is answered on its own.
void Mailbox::on_ready() {
  channels_subscribed_ = 0;
  for (const auto& channel : channels_) session_.send({.command = command({"SUBSCRIBE", channel})});
}

void Mailbox::on_reply(Call, const Outcome& outcome) {
  if (!outcome) {
    session_.end(outcome.error());
    return events_.on_subscribe_failed(outcome.error());
  }
  session_.works();
  if (++channels_subscribed_ == channels_.size()) set_subscribed(true);
}

void Mailbox::on_ended(const Failure&, std::deque<Call>) {
  session_.dial_later();
  set_subscribed(false);
}

void Mailbox::set_subscribed(bool subscribed) {
  if (std::exchange(subscribed_, subscribed) != subscribed) events_.on_subscribed(subscribed);
}

}  // namespace penstock::redis
