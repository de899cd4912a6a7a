// SPDX-License-Identifier: Apache-2.0
// Slots count themselves in when made and out when destroyed, in all and per client.
#include "proxy/client/connection_quota.h"

#include <bit>
#include <unordered_map>
#include <utility>

namespace penstock::proxy {

namespace {
constexpr std::size_t kMostAtTheDoor = 256;

struct AddressHash {
  std::size_t operator()(const access::Address& address) const {
    const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(address.bytes);
    return std::hash<std::uint64_t>{}((halves[0] ^ (halves[1] << 1)) * 0x9e3779b97f4a7c15);
  }
};
}  // namespace

struct ConnectionQuota::Taken {
  struct Client {
    std::size_t quota = 0, held = 0;
  };
  using ByClient = std::unordered_map<access::Address, Client, AddressHash>;
  std::size_t in_all = 0, at_the_door = 0;
  ByClient by_client;
};

struct ConnectionQuota::Impl {
  Impl(std::shared_ptr<Taken> all, const access::Address& address)
      : taken(std::move(all)), place(*taken->by_client.try_emplace(address).first) {
    ++taken->in_all;
    ++place.second.quota;
  }
  ~Impl() {
    --taken->in_all;
    if (--place.second.quota == 0) taken->by_client.erase(taken->by_client.find(place.first));
  }
  Impl(const Impl&) = delete;

  const std::shared_ptr<Taken> taken;
  Taken::ByClient::value_type& place;
};

struct ConnectionQuota::AtTheDoor {
  explicit AtTheDoor(std::shared_ptr<Taken> all) : taken(std::move(all)) { ++taken->at_the_door; }
  ~AtTheDoor() { --taken->at_the_door; }
  AtTheDoor(const AtTheDoor&) = delete;

  const std::shared_ptr<Taken> taken;
};

ConnectionQuota::ConnectionQuota() : taken_(std::make_shared<Taken>()) {}

std::expected<ConnectionQuota::Slot, ConnectionQuota::Full> ConnectionQuota::take(const access::Address& address,
                                                                                  const CapsConfig& caps) {
  if (taken_->in_all >= caps.connections) return std::unexpected(Full::in_all);
  const auto client = access::client_of(address);
  const auto of_client = taken_->by_client.find(client);
  if (of_client != taken_->by_client.end() && of_client->second.quota >= caps.connections_per_client)
    return std::unexpected(Full::for_this_client);
  return std::make_shared<const Impl>(taken_, client);
}

HeldBytes ConnectionQuota::held_by(const Slot& slot) {
  return {slot, &static_cast<const Impl*>(slot.get())->place.second.held};
}

ConnectionQuota::Slot ConnectionQuota::take_at_the_door() {
  if (taken_->at_the_door >= kMostAtTheDoor) return nullptr;
  return std::make_shared<const AtTheDoor>(taken_);
}

}  // namespace penstock::proxy
