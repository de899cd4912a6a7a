// SPDX-License-Identifier: Apache-2.0
// Connections, and the faults of a server. Clients hear after a command has been executed, so that they may send the
// next one from within the callback.
#include "simulation/redis_server.h"

#include <algorithm>
#include <utility>

namespace penstock::simulation {

RedisServer::RedisServer(RedisNode::Clock clock, std::string run_id)
    : node_(std::move(clock), std::move(run_id),
            [this](Connection connection, std::string_view bytes) { send(connection, bytes); }) {}

RedisServer::Connection RedisServer::connect(Client& client) {
  if (!up_) return 0;
  RedisPeer peer{.id = ++last_, .let_in = !node_.has_password()};
  connections_.emplace(last_, Talk{.client = &client, .peer = std::move(peer)});
  return last_;
}

void RedisServer::feed(Connection connection, std::string_view bytes) {
  const auto found = connections_.find(connection);
  if (found == connections_.end() || found->second.closed) return;
  Talk& talk = found->second;
  AnswerBytes answer(talk.out);
  talk.reader.feed(bytes);
  auto read = RequestReader::Found::nothing;
  while (!talk.peer.leaves && (read = talk.reader.next()) == RequestReader::Found::command) {
    node_.execute(talk.peer, talk.reader.words(), answer);
  }
  if (read == RequestReader::Found::nonsense) answer.error(talk.reader.wrong());
  if (talk.peer.leaves || read == RequestReader::Found::nonsense) end(connection);
  if (!talk.out.empty()) owes(connection);
  deliver();
}

void RedisServer::disconnect(Connection connection) {
  node_.channels().forget(connection);
  connections_.erase(connection);
}

void RedisServer::send(Connection connection, std::string_view bytes) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  found->second.out += bytes;
  owes(connection);
}

void RedisServer::owes(Connection connection) { owed_.push_back(connection); }

/// A client may call anything from its callback; new bytes come after the earlier ones.
void RedisServer::deliver() {
  if (std::exchange(delivering_, true)) return;
  for (std::size_t i = 0; i < owed_.size(); ++i) {
    const Connection connection = owed_[i];
    auto found = connections_.find(connection);
    if (found == connections_.end()) continue;
    told_.swap(found->second.out);
    const bool closed = found->second.closed;
    if (!told_.empty()) found->second.client->on_bytes(told_);
    told_.clear();
    if (!closed || (found = connections_.find(connection)) == connections_.end()) continue;
    Client* client = found->second.client;
    connections_.erase(found);
    client->on_closed();
  }
  owed_.clear();
  delivering_ = false;
}

/// The client is told by the next deliver().
void RedisServer::end(Connection connection) {
  node_.channels().forget(connection);
  connections_.at(connection).closed = true;
  owes(connection);
}

void RedisServer::join(RedisSlots& slots, RedisChannels::Relay relay) {
  node_.join(slots);
  node_.channels().set_relay(std::move(relay));
}

void RedisServer::hear(std::string_view channel, std::string_view payload) {
  node_.channels().deliver(channel, payload);
  deliver();
}

std::optional<RedisValue> RedisServer::take(std::string_view key) {
  RedisKeys& keys = node_.keys(0);
  RedisValue* const value = keys.find(key);
  if (!value) return std::nullopt;
  std::optional<RedisValue> taken(std::move(*value));
  keys.erase(key);
  return taken;
}

void RedisServer::kill_client(Connection connection) {
  if (connections_.contains(connection)) end(connection);
  deliver();
}

void RedisServer::kill_clients() {
  for (const auto& [connection, talk] : connections_) end(connection);
  deliver();
}

void RedisServer::stop() {
  up_ = false;
  kill_clients();
}

void RedisServer::start(Memory memory, std::string run_id) {
  if (memory != Memory::kept) flush();
  if (memory == Memory::snapshot && saved_) node_.databases() = *saved_;
  node_.set_run_id(std::move(run_id));
  node_.scripts().forget_all();
  up_ = true;
}

void RedisServer::save() { saved_ = node_.databases(); }

void RedisServer::flush() {
  for (auto& keys : node_.databases()) keys.clear();
}

void RedisServer::deny(std::string command) {
  const bool of_channels = command == "channels";
  node_.refusals().denied.insert(lowered(command));
  if (!of_channels) return;
  for (const Connection connection : node_.channels().all()) end(connection);
  deliver();
}

void RedisServer::set_foreign(const std::string& key, std::int64_t milliseconds) {
  RedisKeys& keys = node_.keys(0);
  keys.erase(key);
  RedisValue& value = keys.put(key);
  value.held.emplace<RedisText>("foreign");
  value.expires = keys.now() + milliseconds;
}

bool RedisServer::expire_at(std::string_view key, std::int64_t milliseconds) {
  RedisKeys& keys = node_.keys(0);
  RedisValue* value = keys.find(key);
  if (value) value->expires = std::max<std::int64_t>(0, milliseconds);
  return value != nullptr;
}

std::vector<RedisServer::Key> RedisServer::keys(std::string_view prefix) {
  const RedisKeys& keys = node_.keys(0);
  std::vector<Key> all;
  for (const auto& [key, value] : keys.beginning(prefix)) {
    Key one{.key = std::string(key), .type = value->type(), .text = value->shown()};
    if (value->expires != RedisValue::kStays) one.expires_in = value->expires - keys.now();
    all.push_back(std::move(one));
  }
  return all;
}

}  // namespace penstock::simulation
