// SPDX-License-Identifier: Apache-2.0
// One simulated Redis node, as its clients see it: bytes in, bytes out, at once; the network adds the delays. It
// answers as Redis 7 does, runs real Lua, and can be made to fail in the ways in which Redis fails. Its clock is an
// argument: nothing in it depends on the machine, or on chance. One thread.
//
// It knows only the commands of redis_commands.h: no KEYS, SCAN, SMEMBERS, transactions, RESP3, or options of PEXPIRE;
// scripts have no redis.sha1hex, cjson or math.random. A client that uses one of these is told that it is unknown.
// out_of_memory() stands for `maxmemory`, deny() for ACL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/redis_node.h"
#include "simulation/resp.h"

namespace penstock::simulation {

class RedisServer {
 public:
  /// Called after the command that causes the call, from feed() or a fault; it may call the server again.
  class Client {
   public:
    /// Replies and messages.
    virtual void on_bytes(std::string_view bytes) = 0;
    /// The server ended the connection.
    virtual void on_closed() = 0;

   protected:
    ~Client() = default;
  };
  using Connection = std::uint64_t;

  /// `clock`: microseconds since 1970. It may go back and forth; within a script it stands still.
  RedisServer(RedisNode::Clock clock, std::string run_id);
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  /// `client` must outlive the connection. 0: refused, the server is down.
  Connection connect(Client& client);
  void feed(Connection connection, std::string_view bytes);
  /// By the client: it is told nothing more.
  void disconnect(Connection connection);

  // Of a node of a cluster.

  /// `slots` must outlive the server. `relay` is called with what is published here.
  void join(RedisSlots& slots, RedisChannels::Relay relay);
  /// Another node relays what was published there.
  void hear(std::string_view channel, std::string_view payload);
  const RedisNode::Databases& memory() { return node_.databases(); }
  void remember(RedisNode::Databases memory) { node_.databases() = std::move(memory); }
  /// The value under the key, which is taken away; empty: there is none.
  std::optional<RedisValue> take(std::string_view key);
  void put(const std::string& key, RedisValue value) { node_.keys(0).put(key) = std::move(value); }

  // Faults.

  void kill_client(Connection connection);
  void kill_clients();
  /// All connections end, and new ones are refused.
  void stop();
  enum class Memory : std::uint8_t {
    kept,
    empty,
    snapshot,  ///< as at the last save(); empty if there was none
  };
  /// Scripts are forgotten in any case.
  void start(Memory memory, std::string run_id);
  /// The run id for connections from now on, as if a proxy led to another server.
  void rename(std::string run_id) { node_.set_run_id(std::move(run_id)); }
  /// Keeps what a later snapshot has, or a replica that is promoted later.
  void save();
  void flush();
  void script_flush() { node_.scripts().forget_all(); }
  void out_of_memory(bool is_so) { node_.refusals().out_of_memory = is_so; }
  /// As a replica does.
  void read_only(bool is_so) {
    refuse_writes(is_so ? "READONLY You can't write against a read only replica." : std::string());
  }
  /// Every command that writes is answered with this error, "MISCONF …" or "NOREPLICAS …", in scripts too. Empty: no
  /// longer.
  void refuse_writes(std::string error) { node_.refusals().writes = std::move(error); }
  /// Everything but a greeting is answered with this error, "LOADING …" or "MOVED …". Empty: no longer.
  void refuse(std::string error) { node_.refusals().all = std::move(error); }
  /// A command, "script|load", "keys" or "channels". A client that listens to a denied channel is disconnected.
  void deny(std::string command);
  /// Published messages reach no client, though they count as heard.
  void lose_messages(bool is_so) { node_.channels().lose(is_so); }
  void allow_all() { node_.refusals().denied.clear(); }
  /// Applies to new connections.
  void require(std::string user, std::string password) { node_.set_password(std::move(user), std::move(password)); }
  /// Scripts loaded from now on are changed: see RedisScripts.
  void mutate_scripts(std::string from, std::string to) { node_.scripts().mutate(std::move(from), std::move(to)); }
  /// In the next script the n-th call of a command, from 1 on, is not executed, and raises this error.
  void fail_script(std::size_t n, std::string error = "ERR simulated") {
    node_.scripts().fail_call(n, std::move(error));
  }
  /// Deletes a key, as by DEL or eviction; expire_at() makes it expire at `milliseconds` since 1970. False: there is no
  /// such key.
  bool erase(std::string_view key) { return node_.keys(0).erase(key); }
  /// Puts a value under the key that Penstock's scripts do not understand, for so many milliseconds.
  void set_foreign(const std::string& key, std::int64_t milliseconds);
  bool expire_at(std::string_view key, std::int64_t milliseconds);

  // For judges.

  struct Key {
    std::string key;
    std::string_view type;
    std::string text;                             ///< of a collection: its elements separated by blanks
    std::optional<std::int64_t> expires_in = {};  ///< milliseconds
    bool operator==(const Key&) const = default;
  };
  /// The keys of database 0, in alphabetical order.
  std::vector<Key> keys(std::string_view prefix = {});
  /// The number of keys in memory, of which some may have expired.
  std::size_t remembered() { return node_.databases()[0].count(); }
  bool is_up() const { return up_; }
  std::size_t connections() const { return connections_.size(); }
  std::uint64_t calls() const { return node_.scripts_called(); }  ///< executed scripts
  std::uint64_t commands() const { return node_.commands(); }     ///< from clients, script calls among them

 private:
  struct Talk {
    Client* client;
    RedisPeer peer;
    RequestReader reader = {};
    std::string out = {};
    bool closed = false;  // the client is still to be told
  };

  void end(Connection connection);
  void send(Connection connection, std::string_view bytes);
  void owes(Connection connection);
  void deliver();

  RedisNode node_;
  bool up_ = true;
  Connection last_ = 0;
  std::map<Connection, Talk> connections_;
  std::vector<Connection> owed_;  // connections with bytes to be delivered, in order
  std::string told_;              // bytes being delivered
  bool delivering_ = false;
  std::optional<RedisNode::Databases> saved_;
};

}  // namespace penstock::simulation
