// SPDX-License-Identifier: Apache-2.0
// One simulated Redis node, as its clients see it: bytes in, bytes out, at once; who delays them is the network. It
// answers as Redis 7 does, runs real Lua, and can be made to fail in the ways in which Redis fails. Its clock is an
// argument: nothing in it depends on the machine, or on chance. One thread.
//
// It knows the commands of redis_commands.h and no others: without KEYS, SCAN, SMEMBERS, transactions, RESP3 and
// options of PEXPIRE; scripts are without redis.sha1hex, cjson, math.random. Whoever uses one of these is told that it
// is unknown. In place of `maxmemory` there is out_of_memory(), in place of ACL deny().
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
  /// Called after the command that causes it, from feed() or a fault; it may call the server again.
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

  /// `clock`: microseconds since 1970. It may go back and forth; a script sees it stand still.
  RedisServer(RedisNode::Clock clock, std::string run_id);
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  /// `client` must outlive the connection. 0: refused, the server is down.
  Connection connect(Client& client);
  void feed(Connection connection, std::string_view bytes);
  /// By the client: it is told nothing more.
  void disconnect(Connection connection);

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
  /// For connections from now on: as behind a proxy.
  void rename(std::string run_id) { node_.set_run_id(std::move(run_id)); }
  /// What a snapshot has, or a replica that is promoted later.
  void save();
  void flush();
  void script_flush() { node_.scripts().forget_all(); }
  void out_of_memory(bool is_so) { node_.refusals().out_of_memory = is_so; }
  /// As a replica does.
  void read_only(bool is_so) {
    refuse_writes(is_so ? "READONLY You can't write against a read only replica." : std::string());
  }
  /// Every command that writes is answered with this error, "MISCONF …" or "NOREPLICAS …", in scripts too; empty: that
  /// is over.
  void refuse_writes(std::string error) { node_.refusals().writes = std::move(error); }
  /// All but a greeting is answered with this error, "LOADING …" or "MOVED …"; empty: that is over.
  void refuse(std::string error) { node_.refusals().all = std::move(error); }
  /// A command, "script|load", "keys" or "channels". Whoever listens to a channel that is denied is thrown out.
  void deny(std::string command);
  /// What is published reaches nobody, though it counts as heard.
  void lose_messages(bool is_so) { node_.channels().lose(is_so); }
  void allow_all() { node_.refusals().denied.clear(); }
  /// For connections from now on.
  void require(std::string user, std::string password) { node_.set_password(std::move(user), std::move(password)); }
  /// Scripts loaded from now on are others: see RedisScripts.
  void mutate_scripts(std::string from, std::string to) { node_.scripts().mutate(std::move(from), std::move(to)); }
  /// In the next script the n-th call of a command, from 1 on, is not executed, and raises this error.
  void fail_script(std::size_t n, std::string error = "ERR simulated") {
    node_.scripts().fail_call(n, std::move(error));
  }
  /// A key is deleted, or evicted; or goes after `milliseconds` since 1970. False: there is none.
  bool erase(std::string_view key) { return node_.keys(0).erase(key); }
  /// Something that our scripts do not understand, for so long.
  void set_foreign(const std::string& key, std::int64_t milliseconds);
  bool expire_at(std::string_view key, std::int64_t milliseconds);

  // For judges.

  struct Key {
    std::string key;
    std::string_view type;
    std::string text;                             ///< of a collection: its elements with blanks between them
    std::optional<std::int64_t> expires_in = {};  ///< milliseconds
    bool operator==(const Key&) const = default;
  };
  /// Of database 0, in alphabetical order.
  std::vector<Key> keys(std::string_view prefix = {});
  /// How many there are in memory, some of which may have expired.
  std::size_t remembered() { return node_.databases()[0].count(); }
  bool is_up() const { return up_; }
  std::size_t connections() const { return connections_.size(); }
  std::uint64_t calls() const { return node_.scripts_called(); }  ///< scripts that were executed
  std::uint64_t commands() const { return node_.commands(); }     ///< of clients, scripts among them

 private:
  struct Talk {
    Client* client;
    RedisPeer peer;
    RequestReader reader = {};
    std::string out = {};
    bool closed = false;  // is to be told
  };

  void end(Connection connection);
  void send(Connection connection, std::string_view bytes);
  void owes(Connection connection);
  void deliver();

  RedisNode node_;
  bool up_ = true;
  Connection last_ = 0;
  std::map<Connection, Talk> connections_;
  std::vector<Connection> owed_;  // those with bytes to be delivered, in order
  std::string told_;              // just now
  bool delivering_ = false;
  std::optional<RedisNode::Databases> saved_;
};

}  // namespace penstock::simulation
