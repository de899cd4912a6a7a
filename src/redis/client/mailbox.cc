// SPDX-License-Identifier: Apache-2.0
// Subscribes to the channels, and again after every lost connection.
#include "redis/client/mailbox.h"

#include <utility>

namespace penstock::redis {

Mailbox::Mailbox(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
                 std::vector<std::string> channels, std::function<void(std::string_view)> on_message,
                 std::function<void(const loop::Addresses&)> on_found, std::function<void(bool hears)> on_hears,
                 std::function<void(const Failure&)> on_refused)
    : loop_(loop),
      resolver_(resolver),
      network_(network),
      config_(config),
      channels_(std::move(channels)),
      on_message_(std::move(on_message)),
      on_found_(std::move(on_found)),
      on_hears_(std::move(on_hears)),
      on_refused_(std::move(on_refused)),
      backoff_(loop, network.draw(), [this] { open(); }) {}

void Mailbox::open() {
  set_hears(false);
  connection_ = std::make_unique<Connection>(loop_, resolver_, network_, config_, Connection::For::messages, attempt_++,
                                             static_cast<ConnectionEvents&>(*this));
}

void Mailbox::close() {
  backoff_.stop();
  connection_.reset();
  set_hears(false);
}

/// One SUBSCRIBE for each channel: each is answered on its own.
void Mailbox::on_ready() {
  subscribed_ = 0;
  for (const auto& channel : channels_) connection_->send({.command = command({"SUBSCRIBE", channel})});
}

void Mailbox::on_reply(Call, const Outcome& outcome) {
  if (!outcome) {
    connection_->end(outcome.error());
    return on_refused_(outcome.error());
  }
  backoff_.succeeded();
  if (++subscribed_ == channels_.size()) set_hears(true);
}

void Mailbox::on_ended(const Failure&, std::deque<Call>) {
  backoff_.later();
  set_hears(false);
}

void Mailbox::set_hears(bool hears) {
  if (std::exchange(hears_, hears) != hears) on_hears_(hears);
}

}  // namespace penstock::redis
