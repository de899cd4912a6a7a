// SPDX-License-Identifier: Apache-2.0
// What Redis must let our user do; what it refuses of that, read from its error replies; and the words of an ACL that
// grant it. lua/self_test.lua is what tries. Pure.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/config.h"

namespace penstock::redis {

/// The commands that scripts call, as an ACL spells them.
inline constexpr std::array<std::string_view, 20> kScriptCommands{
    "del",           "get",  "lindex", "llen", "lrange", "lset", "ltrim", "pexpire", "pttl",   "publish",
    "pubsub|numsub", "rpop", "rpush",  "set",  "time",   "zadd", "zcard", "zcount",  "zrange", "zremrangebyscore"};
/// Those that a process calls besides; SELECT only where the database is another than 0.
inline constexpr std::array<std::string_view, 4> kOwnCommands{"evalsha", "info", "script|load", "subscribe"};

class Refusals {
 public:
  /// An error reply to a command, in any case of letters. False: it refuses nothing for good ("OOM …").
  bool note(std::string_view command, std::string_view error_reply);
  void add(const Refusals& more);

  bool none() const { return *this == Refusals(); }
  /// Limits cannot be shared at all.
  bool stop_scripts() const;
  /// Scripts work, but processes do not hear of each other.
  bool stop_messages() const;
  /// For people: what is refused, to which user, and what grants it.
  std::string text(const RedisConfig& config) const;
  /// What is to be granted, in the words of an ACL: "+time", "&penstock:to:*". Of commands that Redis does not know,
  /// too.
  std::vector<std::string> missing(const RedisConfig& config) const;
  bool operator==(const Refusals&) const = default;

 private:
  bool has(std::string_view command) const;

  std::vector<std::string> denied_, unknown_;  // commands, as an ACL spells them, in alphabetical order
  bool keys_ = false, channels_ = false;
};

/// All that a user needs who may do nothing yet: "~penstock:* &penstock:to:* +del …".
std::string acl_rules(const RedisConfig& config);

}  // namespace penstock::redis
