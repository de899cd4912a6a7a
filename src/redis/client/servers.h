// SPDX-License-Identifier: Apache-2.0
// Which Redis answers for a slot of keys: the only one there is, or the node of a cluster that has the key's slot. One
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/config.h"
#include "penstock/event.h"
#include "redis/client/redis.h"
#include "redis/wire/slot_map.h"

namespace penstock::redis {

class Servers {
 public:
  virtual ~Servers() = default;  ///< calls under way are never answered

  /// The one that keeps keys of that slot; null: none is known. It may be down, or not be connected yet: whatever asks
  /// needs it, so it is connected to from now on. Valid until the control returns to the loop.
  virtual Redis* server_for(Slot slot) = 0;
  /// Likewise for a mere question, which connects to none. Null: none is known, or it was not needed yet.
  virtual const Redis* find_server(Slot slot) const = 0;
  /// Publishes to the mailbox of every process, including this one. May be lost.
  virtual void publish_to_all(std::string_view payload) = 0;
  /// All that are needed answer.
  virtual bool up() const = 0;
  virtual bool subscribed() const = 0;
  /// Whether our user may receive messages, as far as known. Whether a Redis lets it publish, that one says.
  virtual bool messages_come() const = 0;
  /// What our user lacks, as ACL rules, by the last tests.
  virtual std::vector<std::string> lacks() const = 0;
  /// To be called each second: finds out whether rights have changed.
  virtual void tick(bool in_use) = 0;
  virtual Counts counts() const = 0;
  /// Each Redis that is spoken to, as far as it is known which, and sentinels.
  virtual std::vector<RedisNodeSnapshot> nodes() const = 0;
};

}  // namespace penstock::redis
