// SPDX-License-Identifier: Apache-2.0
// All clients' connections: admits streams from the listener, within the connection quota, and owns the connections
// until they remove themselves.
#pragma once

#include <cstddef>
#include <memory>
#include <unordered_map>
#include <vector>

#include "loop/iteration_end.h"
#include "loop/stream.h"
#include "proxy/client/client_connection.h"
#include "proxy/client/connection_quota.h"
#include "proxy/dispatch/dispatcher.h"
#include "proxy/exchange/services.h"

namespace penstock::proxy {

class Clients final : ClientConnectionEvents {
 public:
  Clients(Dispatcher& dispatcher, const Services& services);

  void admit(std::unique_ptr<loop::Stream> stream);

  /// Each connection closes after its next answer.
  void close_after_answers();
  void close_idle();
  /// True if a connection has not sent a request yet.
  bool any_new() const;
  bool any_authenticating() const;
  /// The configuration has changed, and the dispatcher has taken it on.
  void reevaluate_access();
  std::size_t count() const { return connections_.size(); }
  const TurnedAway& turned_away() const { return turned_away_; }

 private:
  void on_left(ClientConnection& connection) override;
  bool makes_room(ConnectionQuota::Full full, const access::Address& address);
  void refuse_arrival(std::unique_ptr<loop::Stream> stream, ConnectionQuota::Full full);

  Dispatcher& dispatcher_;
  Services services_;
  ConnectionQuota quota_;
  TurnedAway turned_away_;
  std::unordered_map<ClientConnection*, std::unique_ptr<ClientConnection>> connections_;
  std::vector<std::unique_ptr<ClientConnection>> leaving_;
  loop::IterationEnd farewell_;
};

}  // namespace penstock::proxy
