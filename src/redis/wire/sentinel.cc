// SPDX-License-Identifier: Apache-2.0
// See sentinel.h. A sentinel that does not answer must not keep the others from being asked, so the time-out is short.
#include "redis/wire/sentinel.h"

#include <utility>

#include "redis/wire/advice.h"

namespace penstock::redis {

namespace {

constexpr Duration kSentinelTimeout = 400ms;

}  // namespace

RedisConfig as_sentinel(const RedisConfig& config) {
  return {.name = config.name,
          .user = config.sentinel->user,
          .password = config.sentinel->password,
          .tls = config.sentinel->tls ? config.sentinel->tls : config.tls,
          .sentinel = config.sentinel,
          .prefix = config.prefix,
          .timeout = kSentinelTimeout};
}

Sentinel::Sentinel(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
                   Connection::For what, Dialer::Found found, SentinelEvents& events)
    : loop_(loop),
      resolver_(resolver),
      network_(network.for_sentinels()),
      config_(config),
      as_sentinel_(as_sentinel(config)),
      for_(what),
      found_(std::move(found)),
      events_(events),
      next_(loop, [this] { dial_now(); }) {}

void Sentinel::dial(std::size_t number) {
  number_ = number;
  closed_ = false;
  next_.start(loop_.now());
}

void Sentinel::dial_now() {
  const auto& [host, port] = config_.sentinel->hosts[number_];
  const auto until = loop_.now() + kSentinelTimeout.count();
  const Place place{.host = host, .port = port, .path = {}, .tls = config_.tls.has_value()};
  connection_.reset();
  dialer_ = std::make_unique<Dialer>(
      loop_, resolver_, network_, place, 0, until, [this](const std::vector<Endpoint>& there) { found_(there); },
      [this, until](std::expected<std::unique_ptr<loop::Stream>, Failure> outcome) {
        if (closed_) return;
        if (!outcome)
          return events_.on_sentinel_gone(advised(outcome.error(), as_sentinel_, Greeting::Server::sentinel));
        connection_ = std::make_unique<Connection>(loop_, std::move(*outcome), as_sentinel_, for_, until, *this,
                                                   Greeting::Server::sentinel);
      });
}

void Sentinel::close() {
  closed_ = true;
  next_.stop();
  if (connection_) connection_->end({FailureKind::lost, "it is not needed any more"});
}

std::string Sentinel::name() const {
  const auto& [host, port] = config_.sentinel->hosts[number_];
  return "sentinel " + to_string(Endpoint{host, port});
}

}  // namespace penstock::redis
