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
#include "redis/client/redis.h"
#include "redis/limits/processes.h"
#include "redis/wire/network.h"

namespace penstock::redis {

enum class Script : std::size_t;  // made of lua/, in client/scripts.h

class SharedRedis {
 public:
  /// `on_processes` is called with the number of processes, each second while Redis is up. `events` hears of the
  /// connection from the next iteration of the loop on; came_up() and try_failed() are to be called from there.
  SharedRedis(loop::Loop& loop, loop::Resolver& resolver, const RedisConfig& config, RedisEvents& events,
              std::function<void(int)> on_processes, NoticeSink notices, Network& network);
  SharedRedis(const SharedRedis&) = delete;
  SharedRedis& operator=(const SharedRedis&) = delete;

  loop::Loop& loop() { return loop_; }
  const loop::Loop& loop() const { return loop_; }
  const RedisConfig& config() const { return config_; }
  Redis& redis() { return *redis_; }
  const Redis& redis() const { return *redis_; }
  const std::string& who() const { return who_; }
  /// As Redis::call().
  bool call(Script script, std::span<const std::string_view> keys, std::span<const std::string_view> arguments,
            Call::Done done) {
    return redis_->call(static_cast<std::size_t>(script), keys, arguments, std::move(done));
  }
  /// The first connection is being made and has not failed. How many processes share the limits is not known yet, and a
  /// distant Redis is no outage. Lasts at most as long as one try: half a second, and twice `redis.timeout` for what
  /// follows the greeting.
  bool starting() const { return starting_; }
  /// By how many limits are divided while this process is alone. `at_upstream`: how many use the upstream; 0: not
  /// known.
  int sharers(int at_upstream) const { return processes_.sharers(at_upstream); }
  /// A name that no other generation has: "name[@server id[@latest[since]]]". The id is that of the server in whose
  /// memory the generation would begin, if known; `latest` is the latest script time that was told, left out if 0;
  /// `since` is the mark described in begin.lua. Valid until the next call.
  std::string_view fresh_generation(std::int64_t latest = 0, std::string_view since = {});
  /// Shares the key by which groups are labelled for people among all processes of this Redis. The first process to
  /// reach Redis provides its key; until then each process keeps its own. `key` must outlive this.
  void share_labels(base::SipKey& key);
  /// To be called when Redis may have another key than before, or none.
  void agree_on_labels();
  void notice(LogLevel level, std::string text) const { notices_({level, std::move(text)}); }
  /// The key of all processes, if it is time to say again that this one is there. The caller says it along with an ask
  /// of its own, which saves a call, and passes the answer to heard_there(). Empty: it was said lately.
  std::string_view key_to_be_there(std::int64_t now);
  void heard_there(const Outcome& outcome);
  /// A moment within the next second, to spread work that all upstreams need not do at once.
  std::int64_t soon();

  // For the hub.
  /// How many processes an earlier run saw, and where that is stored, for people.
  void remember(int processes, std::string where) { processes_.remember(processes, std::move(where)); }
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
  void note_processes(std::int64_t count);

  loop::Loop& loop_;
  const RedisConfig& config_;
  const std::function<void(int)> on_processes_;
  const NoticeSink notices_;
  const std::string who_;
  const std::string all_;  // the key of all processes
  Processes processes_;
  std::uint64_t generations_ = 0;
  std::string fresh_;
  base::SipKey* labels_ = nullptr;  // null: labels are not shared
  std::int64_t turn_ = 0;           // how many moments soon() has given
  bool starting_ = true;
  bool was_up_ = false;                   // Redis was up before, so something may be remembered
  std::int64_t up_since_, said_present_;  // when Redis came back; when it was last said that the process is there
  std::unique_ptr<Redis> redis_;          // last: its answers come to the members above
};

}  // namespace penstock::redis
