// SPDX-License-Identifier: Apache-2.0
// What one simulated Redis node knows and forbids, and how it answers one command of one client. redis_server.h handles
// the bytes and the connections.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "simulation/redis_channels.h"
#include "simulation/redis_commands.h"
#include "simulation/redis_keys.h"
#include "simulation/redis_scripts.h"
#include "simulation/redis_slots.h"
#include "simulation/resp.h"

namespace penstock::simulation {

/// Reasons for which a working node answers with errors.
struct RedisRefusals {
  bool out_of_memory = false;
  std::string writes;                         ///< the error for every command that writes; empty: none
  std::set<std::string, std::less<>> denied;  ///< commands, and "keys" and "channels" for all of them
  std::string all;                            ///< the error for everything but a greeting; empty: none

  /// Names are in lower case, "script|load" too.
  bool denies(std::string_view command) const { return !denied.empty() && denied.contains(command); }
};

/// One connection, as commands see it.
struct RedisPeer {
  std::uint64_t id = 0;
  std::size_t database = 0;
  bool let_in = true;  ///< it has sent the password, or none is needed
  bool leaves = false;
  bool asking = false;  ///< of a cluster: the next command was sent here by ASK
  std::string name;
};

class RedisNode final : ScriptCalls {
 public:
  static constexpr std::size_t kDatabases = 16;
  using Clock = std::function<std::int64_t()>;
  using Databases = std::array<RedisKeys, kDatabases>;

  RedisNode(Clock clock, std::string run_id, RedisChannels::Send send);

  void execute(RedisPeer& peer, Words words, Answer& answer);

  Databases& databases() { return databases_; }
  /// The keys of a database, with the node's clock applied.
  RedisKeys& keys(std::size_t database);
  RedisScripts& scripts() { return scripts_; }
  RedisChannels& channels() { return channels_; }
  RedisRefusals& refusals() { return refusals_; }
  void set_password(std::string user, std::string password) {
    user_ = std::move(user), password_ = std::move(password);
  }
  bool has_password() const { return !password_.empty(); }
  /// It is a node of a cluster, and knows this of it. `slots` must outlive it.
  void join(RedisSlots& slots) { slots_ = &slots; }
  void set_run_id(std::string run_id) { run_id_ = std::move(run_id); }
  std::uint64_t scripts_called() const { return scripts_called_; }
  std::uint64_t commands() const { return commands_; }

 private:
  friend struct RedisDialogue;

  void call_from_script(Words words, Answer& answer) override;
  std::string refusal(const RedisPeer& peer, const RedisCommand& command, Words words);
  std::string_view refusal_to_script(const RedisCommand& command, Words words);
  void run_for(RedisPeer& peer, const RedisCommand& command, Words words, Answer& answer);
  void run(const RedisCommand& command, std::size_t database, Words words, Answer& answer);

  const Clock clock_;
  std::string run_id_;
  std::string user_ = "default", password_;
  Databases databases_;
  RedisChannels channels_;
  RedisScripts scripts_;
  RedisRefusals refusals_;
  RedisSlots* slots_ = nullptr;      // null: it is no node of a cluster
  std::int64_t now_ = 0;             // stands still while a command or a script is executed
  RedisPeer* script_of_ = nullptr;   // the connection that runs a script
  bool script_has_written_ = false;  // then the script may go on although memory is short
  std::uint64_t scripts_called_ = 0, commands_ = 0;
};

/// The commands about the connection itself, in redis_dialogue.cc.
struct RedisDialogue {
  RedisNode& node;
  RedisPeer& peer;

  void run(const RedisCommand& command, Words words, Answer& answer);
  void auth(Words words, Answer& answer);
  void select(Words words, Answer& answer);
  void ping(Words words, Answer& answer);
  void info(Words words, Answer& answer);
  void client(Words words, Answer& answer);
  void cluster(Words words, Answer& answer);
  void asking(Words words, Answer& answer);
  void quit(Words words, Answer& answer);
  void flushall(Words words, Answer& answer);
  void script(Words words, Answer& answer);
  void eval(Words words, Answer& answer);
  void evalsha(Words words, Answer& answer);
  void subscribe(Words words, Answer& answer);
  void unsubscribe(Words words, Answer& answer);

 private:
  void call_script(std::string_view digest, Words words, Answer& answer);
};

}  // namespace penstock::simulation
