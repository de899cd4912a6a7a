// SPDX-License-Identifier: Apache-2.0
// In by the listener, out by themselves.
#include "proxy/clients.h"

#include <utility>

#include "access/verdict.h"

namespace penstock::proxy {

Clients::Clients(Dispatcher& dispatcher, const Services& services)
    : dispatcher_(dispatcher), services_(services), farewell_(services.loop, [this] { leaving_.clear(); }) {}

void Clients::admit(std::unique_ptr<loop::Stream> stream) {
  const auto address = access::parse_address(stream->peer().address);
  if (!address) return;  // it has reset already: nobody is there to be judged or answered
  const bool welcome = services_.verdict.client(*address);
  auto connection = std::make_unique<ClientConnection>(*this, dispatcher_, services_, std::move(stream), welcome);
  connections_.emplace(connection.get(), std::move(connection));
}

void Clients::remove(ClientConnection& connection) {
  const auto found = connections_.find(&connection);
  if (found == connections_.end()) return;
  leaving_.push_back(std::move(found->second));
  connections_.erase(found);
  farewell_.ask();
}

void Clients::wind_down() {
  for (const auto& [place, connection] : connections_) connection->wind_down();
}

void Clients::close_idle() {
  std::vector<ClientConnection*> all;
  for (const auto& [place, connection] : connections_) all.push_back(place);
  for (auto* connection : all) connection->close_if_idle();
}

}  // namespace penstock::proxy
