// SPDX-License-Identifier: Apache-2.0
// Subscribes, and again after every loss.
#include "redis/mailbox.h"

#include <utility>

namespace penstock::redis {

Mailbox::Mailbox(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
                 std::vector<std::string> channels, std::function<void(std::string_view)> on_message,
                 std::function<void(const loop::Addresses&)> on_found)
    : loop_(loop),
      resolver_(resolver),
      network_(network),
      config_(config),
      channels_(std::move(channels)),
      on_message_(std::move(on_message)),
      on_found_(std::move(on_found)),
      redial_(loop, network.draw(), [this] { open(); }) {}

void Mailbox::open() {
  link_ = std::make_unique<Link>(loop_, resolver_, network_, config_, Link::For::messages, attempt_++,
                                 static_cast<LinkEvents&>(*this));
}

void Mailbox::close() {
  redial_.stop();
  link_.reset();
}

/// One by one: each is answered on its own.
void Mailbox::on_ready() {
  for (const auto& channel : channels_) link_->send({.command = command({"SUBSCRIBE", channel})});
}

void Mailbox::on_reply(Call, const Outcome& outcome) {
  if (!outcome) return link_->end(outcome.error());
  redial_.succeeded();
}

void Mailbox::on_ended(const Failure&, std::deque<Call>) { redial_.later(); }

}  // namespace penstock::redis
