// SPDX-License-Identifier: Apache-2.0
// Some addresses fail at once, others later: both are told by the stream, and the next one is dialled.
#include "redis/wire/dialer.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <utility>

namespace penstock::redis {

namespace {

/// A Redis that speaks no TLS waits for the end of the line that it takes the handshake for.
Failure late(const Place& place) {
  if (place.tls) return {FailureKind::timeout, "no TLS handshake in time", Advice::no_tls};
  return {FailureKind::timeout, "no connection in time", Advice::reach};
}

bool is_of_tls(loop::DialFailure failure) {
  return failure == loop::DialFailure::certificate || failure == loop::DialFailure::handshake;
}

}  // namespace

bool is_address(const std::string& host) {
  in6_addr any{};
  const std::string without_zone = host.substr(0, host.find('%'));
  return ::inet_pton(AF_INET, host.c_str(), &any) == 1 || ::inet_pton(AF_INET6, without_zone.c_str(), &any) == 1;
}

Place place_in(const RedisConfig& config) {
  return {.host = config.host,
          .port = config.port,
          .path = config.path,
          .tls = config.tls.has_value(),
          .name = config.tls ? config.tls->server_name : ""};
}

std::string to_string(const Place& place) {
  return place.path.empty() ? to_string(Endpoint{place.host, place.port}) : "unix:" + place.path;
}

std::string place_of(const RedisConfig& config) {
  return config.sentinel ? config.sentinel->master + " (by Sentinel)" : to_string(place_in(config));
}

Dialer::Dialer(loop::Loop& loop, loop::Resolver& resolver, Network& network, Place place, std::size_t attempt,
               std::int64_t until, Found found, Done done)
    : loop_(loop),
      resolver_(resolver),
      network_(network),
      place_(std::move(place)),
      attempt_(attempt),
      found_(std::move(found)),
      done_(std::move(done)),
      deadline_(loop, [this] { finish(std::unexpected(late(place_))); }) {
  deadline_.start(until);
  find();
}

void Dialer::find() {
  if (!place_.path.empty()) {
    addresses_ = {place_.path};
    return dial_next();
  }
  if (is_address(place_.host)) return dial_all({place_.host});
  lookup_ = resolver_.ask(place_.host, [this](const loop::LookupResult& found) {
    if (!found)
      return finish(std::unexpected(Failure{FailureKind::unreachable, "its name is not found", Advice::reach}));
    dial_all(*found);
  });
}

void Dialer::dial_all(const loop::Addresses& addresses) {
  addresses_ = addresses;
  std::vector<Endpoint> there;
  for (const auto& address : addresses_) there.push_back({address, place_.port});
  found_(there);
  dial_next();
}

void Dialer::dial_next() {
  const std::string& address = addresses_[(attempt_ + tried_++) % addresses_.size()];
  stream_.reset();
  const std::string& name = place_.name.empty() ? place_.host : place_.name;
  stream_ = place_.path.empty() ? network_.dial(loop_, {address, place_.port}, name, *this)
                                : network_.dial_path(loop_, place_.path, *this);
}

void Dialer::on_connected() { finish(std::move(stream_)); }

void Dialer::on_gone() {
  if (tried_ < addresses_.size()) return dial_next();
  const bool of_tls = is_of_tls(stream_->dial_failure());
  const auto advice = of_tls ? Advice::none : Advice::reach;
  finish(std::unexpected(
      Failure{.kind = FailureKind::unreachable, .text = why_gone(*stream_), .advice = advice, .of_tls = of_tls}));
}

void Dialer::finish(std::expected<std::unique_ptr<loop::Stream>, Failure> outcome) {
  stream_.reset();
  lookup_.reset();
  deadline_.stop();
  done_(std::move(outcome));
}

}  // namespace penstock::redis
