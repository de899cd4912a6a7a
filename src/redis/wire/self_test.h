// SPDX-License-Identifier: Apache-2.0
// What Redis must allow its user to do; what it refuses of that, read from its error replies; and the ACL rules that
// grant it. lua/self_test.lua makes the calls. Pure.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/config.h"

namespace penstock::redis {

/// The commands that scripts call, in ACL spelling.
inline constexpr std::array<std::string_view, 20> kScriptCommands{
    "del",           "get",  "lindex", "llen", "lrange", "lset", "ltrim", "pexpire", "pttl",   "publish",
    "pubsub|numsub", "rpop", "rpush",  "set",  "time",   "zadd", "zcard", "zcount",  "zrange", "zremrangebyscore"};
/// The commands that a process itself calls, besides SELECT, which it needs only for a database other than 0, and
/// ASKING and CLUSTER SLOTS, which it needs only in a cluster.
inline constexpr std::array<std::string_view, 4> kOwnCommands{"evalsha", "info", "script|load", "subscribe"};

class Refusals {
 public:
  /// Notes an error reply to `command`, which may be in upper or lower case. False: the reply is not a refusal ("OOM
  /// …").
  bool note(std::string_view command, std::string_view error_reply);
  /// As note(), of a SUBSCRIBE to a channel that is not one of ours.
  bool note_subscribe(std::string_view channel, std::string_view error_reply);
  void add(const Refusals& more);

  bool none() const { return *this == Refusals(); }
  /// True if limits cannot be shared at all.
  bool stop_scripts() const;
  /// True if processes cannot hear of each other; scripts may work nevertheless.
  bool stop_messages() const;
  /// For notices: what is refused, to which user, and the ACL command that grants it.
  std::string text(const RedisConfig& config) const;
  /// The ACL rules to be granted: "+time", "&penstock:to:*". Includes commands that Redis does not know.
  std::vector<std::string> missing(const RedisConfig& config) const;
  bool operator==(const Refusals&) const = default;

 private:
  bool has(std::string_view command) const;

  std::vector<std::string> denied_, unknown_;  // commands in ACL spelling, in alphabetical order
  std::vector<std::string> named_channels_;    // that are not ours
  bool keys_ = false, channels_ = false;
};

/// All ACL rules that a user without any rights needs: "~penstock:* &penstock:to:* +del …".
std::string acl_rules(const RedisConfig& config);

}  // namespace penstock::redis
