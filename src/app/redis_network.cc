// SPDX-License-Identifier: Apache-2.0
// See redis_network.h. Certificates are renewed while a process runs, so each dial looks whether their files changed.
#include "app/redis_network.h"

#include <sys/stat.h>

#include <array>
#include <utility>

#include "config/validate.h"
#include "tls/client_identity.h"
#include "tls/tls_stream.h"

namespace penstock::app {

namespace {

/// What tells that a file has changed.
struct Stamp {
  std::int64_t inode = 0, size = 0, seconds = 0, nanoseconds = 0;
  bool operator==(const Stamp&) const = default;
};
using Stamps = std::array<Stamp, 3>;

Stamp stamp_of(const std::string& path) {
  struct stat file {};
  if (path.empty() || ::stat(path.c_str(), &file) != 0) return {};
  return {static_cast<std::int64_t>(file.st_ino), file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec};
}

Stamps stamps_of(const TlsConfig& files) {
  return {stamp_of(files.ca), stamp_of(files.client_cert), stamp_of(files.client_key)};
}

std::expected<tls::ClientIdentity, Error> identity_of(const TlsConfig& files) {
  return tls::ClientIdentity::make(files, {});  // Redis knows no ALPN
}

class TlsNetwork final : public redis::Network {
 public:
  /// `key` is where the files are named, for the error.
  static std::expected<std::unique_ptr<TlsNetwork>, Error> make(const RedisTlsConfig& config, const std::string& key) {
    const auto files = files_of(config);
    const auto stamps = stamps_of(files);
    auto identity = identity_of(files);
    if (!identity) return std::unexpected(Error{.token = {}, .message = key + identity.error().message});
    return std::make_unique<TlsNetwork>(files, config.server_name, stamps, std::move(*identity));
  }
  TlsNetwork(TlsConfig files, std::string name, Stamps stamps, tls::ClientIdentity identity)
      : files_(std::move(files)), name_(std::move(name)), read_(stamps), identity_(std::move(identity)) {}

  void set_for_sentinels(std::unique_ptr<Network> network) { for_sentinels_ = std::move(network); }

 private:
  Network& for_sentinels() override { return for_sentinels_ ? *for_sentinels_ : *this; }
  std::unique_ptr<loop::Stream> dial(loop::Loop& loop, const Endpoint& there, const std::string& host,
                                     loop::StreamEvents& events) override {
    read_again();
    return tls::Stream::dial(loop, there, identity_, name_.empty() ? host : name_, events, loop::DialFor::ourselves);
  }
  std::unique_ptr<loop::Stream> dial_path(loop::Loop& loop, const std::string& path,
                                          loop::StreamEvents& events) override {
    return redis::sockets().dial_path(loop, path, events);
  }
  std::uint64_t draw() override { return redis::sockets().draw(); }

  /// A file that is being written may be of no use yet: then what was read before goes on.
  void read_again() {
    const auto now = stamps_of(files_);
    if (now == read_) return;
    auto identity = identity_of(files_);
    if (!identity) return;
    identity_ = std::move(*identity);
    read_ = now;
  }

  const TlsConfig files_;
  const std::string name_;  // which the certificate must be for; empty: the host
  Stamps read_;
  tls::ClientIdentity identity_;
  std::unique_ptr<Network> for_sentinels_;  // null: as for Redis
};

}  // namespace

TlsConfig files_of(const RedisTlsConfig& config) {
  return {.ca = config.ca, .client_cert = config.client_cert, .client_key = config.client_key};
}

std::expected<std::unique_ptr<redis::Network>, Error> network_to(const RedisConfig& config, const std::string& path) {
  if (!config.tls) return nullptr;
  auto network = TlsNetwork::make(*config.tls, path + ".");
  if (!network) return std::unexpected(std::move(network.error()));
  if (config.sentinel && config.sentinel->tls) {
    auto another = TlsNetwork::make(*config.sentinel->tls, path + ".sentinel.");
    if (!another) return std::unexpected(std::move(another.error()));
    (*network)->set_for_sentinels(std::move(*another));
  }
  return std::move(*network);
}

std::expected<Networks, Error> networks_to(const Config& config) {
  Networks networks;
  for (const auto& redis : config.redis) {
    auto network = network_to(redis, config::redis_path(config, redis));
    if (!network) return std::unexpected(std::move(network.error()));
    networks.push_back(*std::move(network));
  }
  return networks;
}

}  // namespace penstock::app
