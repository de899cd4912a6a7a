// SPDX-License-Identifier: Apache-2.0
// Delivers messages at once; the network adds the delays.
#include "simulation/redis_channels.h"

#include <algorithm>

#include "simulation/resp.h"

namespace penstock::simulation {

void RedisChannels::subscribe(Connection connection, std::string_view channel) {
  auto& all = listeners_.try_emplace(std::string(channel)).first->second;
  if (std::ranges::find(all, connection) != all.end()) return;
  all.push_back(connection);
  ++counts_[connection];
}

void RedisChannels::unsubscribe(Connection connection, std::string_view channel) {
  const auto found = listeners_.find(channel);
  if (found == listeners_.end() || std::erase(found->second, connection) == 0) return;
  if (found->second.empty()) listeners_.erase(found);
  if (--counts_[connection] == 0) counts_.erase(connection);
}

void RedisChannels::forget(Connection connection) {
  if (count(connection) == 0) return;
  for (const auto& channel : of(connection)) unsubscribe(connection, channel);
}

std::vector<std::string> RedisChannels::of(Connection connection) const {
  std::vector<std::string> channels;
  for (const auto& [channel, all] : listeners_) {
    if (std::ranges::find(all, connection) != all.end()) channels.push_back(channel);
  }
  return channels;
}

std::size_t RedisChannels::count(Connection connection) const {
  const auto found = counts_.find(connection);
  return found == counts_.end() ? 0 : found->second;
}

std::size_t RedisChannels::publish(std::string_view channel, std::string_view payload) const {
  if (relay_) relay_(channel, payload);
  return deliver(channel, payload);
}

std::size_t RedisChannels::deliver(std::string_view channel, std::string_view payload) const {
  const auto found = listeners_.find(channel);
  if (found == listeners_.end()) return 0;
  std::string bytes;
  const std::string_view words[] = {"message", channel, payload};
  AnswerBytes(bytes).texts(words);
  if (loses_) return found->second.size();
  for (const Connection connection : found->second) send_(connection, bytes);
  return found->second.size();
}

std::size_t RedisChannels::listeners(std::string_view channel) const {
  const auto found = listeners_.find(channel);
  return found == listeners_.end() ? 0 : found->second.size();
}

std::vector<RedisChannels::Connection> RedisChannels::all() const {
  std::vector<Connection> connections;
  for (const auto& [connection, count] : counts_) connections.push_back(connection);
  return connections;
}

}  // namespace penstock::simulation
