// SPDX-License-Identifier: Apache-2.0
// What all limiters of one process have in common: the connection to Redis, this process's name, how many other
// processes there are, and the names of new generations. Makes the calls that belong to no upstream.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/sip_hash.h"
#include "loop/loop.h"
#include "loop/resolver.h"
#include "penstock/config.h"
#include "penstock/event.h"
#include "redis/client/servers.h"
#include "redis/limits/leadership.h"
#include "redis/limits/processes.h"
#include "redis/wire/network.h"
#include "redis/wire/slot_map.h"

namespace penstock::redis {

enum class Script : std::size_t;  // made of lua/, in client/scripts.h

/// The texts of lua/, as every process loads them.
std::span<const std::string_view> scripts();

class SharedRedis {
 public:
  /// `on_processes` is called with the number of processes, each second while Redis is up. `events` hears of the
  /// connection from the next iteration of the loop on; came_up() and try_failed() are to be called from there.
  /// `process_name`: the process's name; empty: one is drawn.
  SharedRedis(loop::Loop& loop, loop::Resolver& resolver, const RedisConfig& config, RedisEvents& events,
              std::function<void(int)> on_processes, NoticeSink notices, Network& network,
              std::string process_name = {});
  SharedRedis(const SharedRedis&) = delete;
  SharedRedis& operator=(const SharedRedis&) = delete;

  loop::Loop& loop() { return loop_; }
  const loop::Loop& loop() const { return loop_; }
  const RedisConfig& config() const { return config_; }
  Servers& servers() { return *servers_; }
  const Servers& servers() const { return *servers_; }
  bool in_cluster() const { return !config_.cluster.empty(); }
  const std::string& process_name() const { return process_name_; }
  /// As Redis::call(), at the one that keeps the keys, which have one hash tag.
  bool call(Script script, std::span<const std::string_view> keys, std::span<const std::string_view> arguments,
            Call::Done done) {
    return call_at(keys.empty() ? Slot() : slot_of(keys.front()), script, keys, arguments, std::move(done));
  }
  /// Where the slot of the keys is known.
  bool call_at(Slot slot, Script script, std::span<const std::string_view> keys,
               std::span<const std::string_view> arguments, Call::Done done) {
    Redis* const redis = servers_->server_for(slot);
    return redis && redis->call(static_cast<std::size_t>(script), keys, arguments, std::move(done));
  }
  void publish_to_all(std::string_view payload) { servers_->publish_to_all(payload); }
  /// The first connection is being made and has not failed. How many processes share the limits is not known yet, and a
  /// distant Redis is no outage. Lasts at most as long as one try: half a second, and twice `redis.timeout` for what
  /// follows the greeting.
  bool starting() const { return starting_; }
  /// By how many limits are divided while this process is alone. `at_upstream`: how many use the upstream; 0: not
  /// known.
  int sharers(int at_upstream) const { return processes_.sharers(at_upstream); }
  /// How many processes were last seen at Redis, this one among them.
  int processes() const { return std::max(1, processes_.seen()); }
  /// A name that no other generation has: "name[@server id[@latest[since]]]". The id is that of the server in whose
  /// memory the generation would begin, empty: not known; `latest` is the latest script time that was told, left out if
  /// 0; `since` is the mark described in begin.lua. Valid until the next call.
  std::string_view fresh_generation(std::string_view id, std::int64_t latest = 0, std::string_view since = {});
  /// Shares the key by which groups are labelled for people among all processes of this Redis. The first process to
  /// reach Redis provides its key; until then each process keeps its own. `key` must outlive this; null: not any more.
  void share_labels(base::SipKey* key);
  /// To be called when Redis may have another key than before, or none.
  void agree_on_labels();
  /// The key by which a group's name is hidden from people, see flow::label_of(); it may change at any time.
  const base::SipKey* label_key() const { return label_key_; }
  void label_by(const base::SipKey* key) { label_key_ = key; }
  void notice(LogLevel level, std::string text) const { notices_({level, std::move(text)}); }
  /// The key of all processes, if it is time to say again that this one is there. The caller says it along with an ask
  /// of its own, which saves a call, and passes the answer to presence_answered(). Empty: it was said lately, or the
  /// key may be on another node of a cluster than that of the ask.
  std::string_view presence_key(std::int64_t now);
  void presence_answered(const Outcome& outcome);
  Leadership& leadership() { return leadership_; }
  const Leadership& leadership() const { return leadership_; }
  /// A moment within the next second, to spread work that all upstreams need not do at once.
  std::int64_t soon();

  // For the hub.
  /// How many processes were seen earlier, and how that is known, for people.
  void remember(int processes, std::string how) { processes_.remember(processes, std::move(how)); }
  /// To be called first when Redis is up.
  void came_up();
  /// A try to reach Redis, or a call, has failed. True: it was the first try.
  bool try_failed() { return std::exchange(starting_, false); }
  /// Says once by how many limits are divided, if Redis was never reached.
  void say_divided();
  /// Tells Redis that this process is there, if it is time to.
  void say_present();

 private:
  void look_whose_memory();
  bool is_presence_due(std::int64_t now);
  void note_processes(std::int64_t count);

  loop::Loop& loop_;
  const RedisConfig& config_;
  const std::function<void(int)> on_processes_;
  const NoticeSink notices_;
  const std::string process_name_;
  const std::string all_;  // the key of all processes
  Processes processes_;
  Leadership leadership_;
  std::uint64_t generations_ = 0;
  std::string fresh_;
  base::SipKey* labels_ = nullptr;           // null: labels are not shared
  const base::SipKey* label_key_ = nullptr;  // null: none is needed
  std::int64_t turn_ = 0;                    // how many moments soon() has given
  bool starting_ = true;
  bool was_up_ = false;                   // Redis was up before, so something may be remembered
  std::int64_t up_since_, said_present_;  // when Redis came back; when it was last said that the process is there
  std::unique_ptr<Servers> servers_;      // last: their answers come to the members above
};

}  // namespace penstock::redis
