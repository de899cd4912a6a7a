// SPDX-License-Identifier: Apache-2.0
// The commands of a simulated Redis, with Redis 7's rules and words: what a script may call as well, and the names of
// those that only a client may send. One that is missing here is unknown to the simulation, and answered so.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "simulation/redis_channels.h"
#include "simulation/redis_keys.h"
#include "simulation/resp.h"

namespace penstock::simulation {

/// What a command works on.
struct RedisReach {
  RedisKeys& keys;
  const RedisChannels& channels;
  std::int64_t now;  ///< microseconds since 1970
};

struct RedisCommand {
  using Run = void (*)(RedisReach& reach, Words words, Answer& answer);
  enum Trait : unsigned {
    kReads = 0,
    kWrites = 1,
    kNeedsMemory = 2,  ///< refused when memory is short
    kNotInScripts = 4,
    kHasKey = 8,  ///< its first argument is one
    kHasChannel = 16,
    kBeforeLogin = 32,
    kWhileSubscribed = 64,
  };

  std::string_view name;
  int words;  ///< with its name; negative: at least so many
  unsigned traits;
  Run run;                      ///< nullptr: of the connection, see redis_dialogue.cc
  std::string_view parts = {};  ///< of SCRIPT: "load exists flush"; each has a permission of its own

  bool is(Trait trait) const { return (traits & trait) != 0; }
  /// Whether there is such a part, in any case of letters; true for those without.
  bool has_part(std::string_view part) const;
  bool takes(std::size_t count) const {
    const auto given = static_cast<int>(count);
    return words >= 0 ? given == words : given >= -words;
  }
};

/// In any case of letters; nullptr: there is none.
const RedisCommand* find_redis_command(std::string_view name);

// For the files that have the commands.

inline constexpr std::string_view kNoInteger = "ERR value is not an integer or out of range";
inline constexpr std::string_view kSyntax = "ERR syntax error";
inline constexpr std::string_view kWrongType = "WRONGTYPE Operation against a key holding the wrong kind of value";

std::string lowered(std::string_view word);
bool same_word(std::string_view word, std::string_view lower);
std::optional<std::int64_t> redis_integer(std::string_view word);
std::optional<double> redis_double(std::string_view word);

/// What stands under a key; false: it is of another type, and that was answered.
template <typename Type>
bool held(RedisReach& reach, std::string_view key, Answer& answer, Type*& value) {
  RedisValue* found = reach.keys.find(key);
  value = found ? std::get_if<Type>(&found->held) : nullptr;
  if (!found || value) return true;
  answer.error(kWrongType);
  return false;
}

/// The same; where there is nothing it is made. nullptr: it is of another type, and that was answered.
template <typename Type>
Type* held_or_new(RedisReach& reach, std::string_view key, Answer& answer) {
  Type* value = nullptr;
  if (!held(reach, key, answer, value)) return nullptr;
  return value ? value : &reach.keys.put(key).held.emplace<Type>();
}

/// A key with nothing left in it is none.
inline void drop_if_empty(RedisReach& reach, std::string_view key) {
  const RedisValue* value = reach.keys.find(key);
  if (value && value->empty()) reach.keys.erase(key);
}

/// An integer among the words; nothing: it is none, and that was answered.
std::optional<std::int64_t> integer_word(std::string_view word, Answer& answer);

/// Places `first` to `last` of so many elements, counted from the end where they are negative.
struct Places {
  std::size_t begin = 0, end = 0;
};
std::optional<Places> places(Words two, std::size_t size, Answer& answer);

using RedisCommands = std::span<const RedisCommand>;
RedisCommands text_commands();
RedisCommands list_commands();
RedisCommands set_commands();
RedisCommands hash_commands();
RedisCommands connection_commands();

}  // namespace penstock::simulation
