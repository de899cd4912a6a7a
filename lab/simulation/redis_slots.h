// SPDX-License-Identifier: Apache-2.0
// What one node of a simulated Redis Cluster knows of the hash slots: which node has which, and which of them is on its
// way. Says for which keys the node answers, with the checks and the error texts of Redis 7.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simulation/redis_keys.h"
#include "simulation/resp.h"

namespace penstock::simulation {

class RedisSlots {
 public:
  static constexpr int kSlots = 16384, kNobody = -1;
  static constexpr std::string_view kAddress = "10.0.0.1";  ///< of all nodes
  static constexpr int kFirstPort = 7000;                   ///< of node 0; each other node has the next one

  static int slot_of(std::string_view key);

  /// Of the node with that number. No slot has an owner yet.
  explicit RedisSlots(int me) : me_(me), owners_(kSlots, kNobody) {}

  int owner(int slot) const { return owners_[static_cast<std::size_t>(slot)]; }
  void give(int slot, int node) { owners_[static_cast<std::size_t>(slot)] = static_cast<std::int16_t>(node); }
  /// Another node has all that this one had.
  void give_all(int from, int to);
  /// As another node knows them.
  void learn(const RedisSlots& others) { owners_ = others.owners_; }

  /// The slot is on its way to that node, or from it; each until settle().
  void migrate(int slot, int to) { moving_ = {slot, to, true}; }
  void import(int slot, int from) { moving_ = {slot, from, false}; }
  void settle() { moving_ = {}; }
  /// While `is_so`, the node answers for no key, since others are missing.
  void set_down(bool is_so) { down_ = is_so; }

  /// Why the node does not answer for these keys, as an error; empty: it does. `asking`: the client was sent here by
  /// ASK.
  std::string refusal(Words keys, bool asking, RedisKeys& held) const;
  /// The same for a key that a script uses which is executed here.
  std::string_view refusal_to_script(std::string_view key, bool asking, RedisKeys& held) const;
  /// The answer to CLUSTER SLOTS.
  void tell(Answer& answer) const;

 private:
  struct Moving {
    int slot = kNobody, other = kNobody;
    bool away = false;
  };

  int me_;
  std::vector<std::int16_t> owners_;  // by slot
  Moving moving_;
  bool down_ = false;
};

}  // namespace penstock::simulation
