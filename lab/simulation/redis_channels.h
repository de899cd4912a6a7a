// SPDX-License-Identifier: Apache-2.0
// Which clients of a simulated Redis listen to which channel, and what is published there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::simulation {

class RedisChannels {
 public:
  using Connection = std::uint64_t;
  /// Called with the bytes for each connection that a message reaches.
  using Send = std::function<void(Connection, std::string_view)>;
  /// Called with what is published here, which the other nodes of a cluster deliver to their clients.
  using Relay = std::function<void(std::string_view channel, std::string_view payload)>;
  explicit RedisChannels(Send send) : send_(std::move(send)) {}

  void subscribe(Connection connection, std::string_view channel);
  void unsubscribe(Connection connection, std::string_view channel);
  /// Ends all subscriptions of the connection.
  void forget(Connection connection);
  /// In alphabetical order.
  std::vector<std::string> of(Connection connection) const;
  std::size_t count(Connection connection) const;
  /// Delivers in the order of subscription; returns how many connections heard it.
  std::size_t publish(std::string_view channel, std::string_view payload) const;
  /// The same, for clients of this node alone.
  std::size_t deliver(std::string_view channel, std::string_view payload) const;
  void set_relay(Relay relay) { relay_ = std::move(relay); }
  /// While `is_so`, published messages reach no client.
  void lose(bool is_so) { loses_ = is_so; }
  std::size_t listeners(std::string_view channel) const;
  /// All connections that listen to anything.
  std::vector<Connection> all() const;

 private:
  const Send send_;
  Relay relay_;  // empty: it is no node of a cluster
  bool loses_ = false;
  std::map<std::string, std::vector<Connection>, std::less<>> listeners_;
  std::map<Connection, std::size_t> counts_;  // subscribed channels
};

}  // namespace penstock::simulation
