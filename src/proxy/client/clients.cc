// SPDX-License-Identifier: Apache-2.0
// Admitting streams, turning away those beyond the quota, and calls to all connections.
#include "proxy/client/clients.h"

#include <algorithm>
#include <utility>

#include "access/verdict.h"
#include "http/response_writer.h"

namespace penstock::proxy {

Clients::Clients(Dispatcher& dispatcher, const Services& services)
    : dispatcher_(dispatcher), services_(services), farewell_(services.loop, [this] { leaving_.clear(); }) {}

void Clients::admit(std::unique_ptr<loop::Stream> stream) {
  const auto peer = stream->peer();
  const auto address = access::parse_address(peer.address);
  if (!address) return;  // the client has reset already: there is no peer to judge or answer
  auto slot = quota_.take(*address, services_.config.caps);
  if (!slot && makes_room(slot.error(), *address)) slot = quota_.take(*address, services_.config.caps);
  if (!slot) return refuse_arrival(std::move(stream), slot.error());
  auto held = ConnectionQuota::held_by(*slot);
  stream->accompany(*std::move(slot));
  ClientConnectionEvents& events = *this;
  auto connection =
      std::make_unique<ClientConnection>(events, dispatcher_, services_, std::move(stream),
                                         ClientAccess{services_, *address, to_string(peer)}, std::move(held));
  connections_.emplace(connection.get(), std::move(connection));
}

/// Frees a slot of the quota by closing a tunnel whose client has closed its side.
bool Clients::makes_room(ConnectionQuota::Full full, const access::Address& address) {
  const bool in_all = full == ConnectionQuota::Full::in_all;
  return dispatcher_.make_room(in_all ? std::nullopt : std::optional(access::client_of(address)));
}

/// Sends 503 if a slot for that is left; reads no request and logs nothing, since there may be many.
void Clients::refuse_arrival(std::unique_ptr<loop::Stream> stream, ConnectionQuota::Full full) {
  const bool in_all = full == ConnectionQuota::Full::in_all;
  ++(in_all ? turned_away_.in_all : turned_away_.of_client);
  auto slot = quota_.take_at_the_door();
  if (!slot) return;
  stream->accompany(std::move(slot));
  const auto refusal =
      http::refusal_until(http::Reason::too_many_clients,
                          in_all ? "too many connections" : "too many connections of this client", Duration{1'000'000});
  http::write_refusal(stream->out(), refusal, services_.config.proxy.via, {.keep_alive = false});
  loop::Stream::close_lingering(std::move(stream));
}

/// The connection is destroyed at the end of the iteration.
void Clients::on_left(ClientConnection& connection) {
  const auto found = connections_.find(&connection);
  if (found == connections_.end()) return;
  leaving_.push_back(std::move(found->second));
  connections_.erase(found);
  farewell_.ask();
}

void Clients::reevaluate_access() {
  for (const auto& [place, connection] : connections_) connection->reevaluate_access();
}

void Clients::close_after_answers() {
  for (const auto& [place, connection] : connections_) connection->close_after_answers();
}

bool Clients::any_new() const {
  return std::ranges::any_of(connections_, [](const auto& entry) { return entry.second->is_new(); });
}

bool Clients::any_authenticating() const {
  return std::ranges::any_of(connections_, [](const auto& entry) { return entry.second->is_authenticating(); });
}

void Clients::close_idle() {
  std::vector<ClientConnection*> all;
  all.reserve(connections_.size());
  for (const auto& [place, connection] : connections_) all.push_back(place);
  for (auto* connection : all) connection->close_if_idle();
}

}  // namespace penstock::proxy
