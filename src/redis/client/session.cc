// SPDX-License-Identifier: Apache-2.0
// One connection after another.
#include "redis/client/session.h"

#include <utility>

namespace penstock::redis {

namespace {
/// For look-up, connection and greeting together. Short enough for a second try within a second, in case Redis comes
/// back just after our first packet was lost.
constexpr std::int64_t kGreetingPatience = 500'000;
}  // namespace

Session::Session(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
                 Connection::For what, SessionEvents& events)
    : loop_(loop),
      resolver_(resolver),
      network_(network),
      config_(config),
      for_(what),
      events_(events),
      backoff_(loop, network.draw(), [this] { dial(); }) {}

void Session::dial() {
  const auto ready_until = loop_.now() + kGreetingPatience;
  dialer_ = std::make_unique<Dialer>(
      loop_, resolver_, network_, config_, attempt_++, ready_until,
      [this](const loop::Addresses& addresses) { events_.on_found(addresses); },
      [this, ready_until](auto outcome) { dialled(std::move(outcome), ready_until); });
}

void Session::dialled(std::expected<std::unique_ptr<loop::Stream>, Failure> outcome, std::int64_t ready_until) {
  if (!outcome) return events_.on_ended(outcome.error(), {});
  connection_ = std::make_unique<Connection>(loop_, std::move(*outcome), config_, for_, ready_until, events_);
}

void Session::close() {
  backoff_.stop();
  dialer_.reset();
  connection_.reset();
}

}  // namespace penstock::redis
