// SPDX-License-Identifier: Apache-2.0
// Some addresses fail at once, others later: both are told by the stream, and the next one is dialled.
#include "redis/wire/dialer.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <utility>

namespace penstock::redis {

namespace {

bool is_address(const std::string& host) {
  in6_addr any{};
  const std::string without_zone = host.substr(0, host.find('%'));
  return ::inet_pton(AF_INET, host.c_str(), &any) == 1 || ::inet_pton(AF_INET6, without_zone.c_str(), &any) == 1;
}

}  // namespace

std::string place_of(const RedisConfig& config) {
  return config.path.empty() ? to_string(Endpoint{config.host, config.port}) : "unix:" + config.path;
}

Dialer::Dialer(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
               std::size_t attempt, std::int64_t until, Found found, Done done)
    : loop_(loop),
      resolver_(resolver),
      network_(network),
      config_(config),
      attempt_(attempt),
      found_(std::move(found)),
      done_(std::move(done)),
      deadline_(loop, [this] {
        finish(std::unexpected(Failure{FailureKind::timeout, "no connection in time"}));
      }) {
  deadline_.start(until);
  find();
}

void Dialer::find() {
  if (!config_.path.empty() || is_address(config_.host)) {
    addresses_ = {config_.host};
    return dial_next();
  }
  lookup_ = resolver_.ask(config_.host, [this](const loop::LookupResult& found) {
    if (!found) return finish(std::unexpected(Failure{FailureKind::unreachable, "its name is not found"}));
    addresses_ = *found;
    found_(addresses_);
    dial_next();
  });
}

void Dialer::dial_next() {
  const std::string& address = addresses_[(attempt_ + tried_++) % addresses_.size()];
  stream_.reset();
  stream_ = config_.path.empty() ? network_.dial(loop_, {address, config_.port}, *this)
                                 : network_.dial_path(loop_, config_.path, *this);
}

void Dialer::on_connected() { finish(std::move(stream_)); }

void Dialer::on_gone() {
  if (tried_ < addresses_.size()) return dial_next();
  finish(std::unexpected(Failure{FailureKind::unreachable, why_gone(*stream_)}));
}

void Dialer::finish(std::expected<std::unique_ptr<loop::Stream>, Failure> outcome) {
  stream_.reset();
  lookup_.reset();
  deadline_.stop();
  done_(std::move(outcome));
}

}  // namespace penstock::redis
