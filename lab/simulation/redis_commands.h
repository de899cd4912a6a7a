// SPDX-License-Identifier: Apache-2.0
// The commands of a simulated Redis, with the rules and error texts of Redis 7: those that scripts may call too, and
// the names of those that only a client may send. A command that is missing here is answered as unknown.
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
    kHasKey = 8,  ///< the first argument is a key
    kHasChannel = 16,
    kBeforeLogin = 32,
    kWhileSubscribed = 64,
  };

  std::string_view name;
  int words;  ///< counting its name; negative: at least that many
  unsigned traits;
  Run run;                      ///< nullptr: a command about the connection, see redis_dialogue.cc
  std::string_view parts = {};  ///< subcommands of SCRIPT: "load exists flush"; each has a permission of its own

  bool is(Trait trait) const { return (traits & trait) != 0; }
  /// Whether there is such a subcommand, in any case of letters; true for commands without subcommands.
  bool has_part(std::string_view part) const;
  bool takes(std::size_t count) const {
    const auto given = static_cast<int>(count);
    return words >= 0 ? given == words : given >= -words;
  }
};

/// In any case of letters; nullptr: there is no such command.
const RedisCommand* find_redis_command(std::string_view name);

// For the files that implement the commands.

inline constexpr std::string_view kNoInteger = "ERR value is not an integer or out of range";
inline constexpr std::string_view kSyntax = "ERR syntax error";
inline constexpr std::string_view kWrongType = "WRONGTYPE Operation against a key holding the wrong kind of value";

std::string lowered(std::string_view word);
bool same_word(std::string_view word, std::string_view lower);
std::optional<std::int64_t> redis_integer(std::string_view word);
std::optional<double> redis_double(std::string_view word);

/// Finds the value under a key. False: it has another type, and an error was answered.
template <typename Type>
bool held(RedisReach& reach, std::string_view key, Answer& answer, Type*& value) {
  RedisValue* found = reach.keys.find(key);
  value = found ? std::get_if<Type>(&found->held) : nullptr;
  if (!found || value) return true;
  answer.error(kWrongType);
  return false;
}

/// The same, but makes the value if there is none. nullptr: it has another type, and an error was answered.
template <typename Type>
Type* held_or_new(RedisReach& reach, std::string_view key, Answer& answer) {
  Type* value = nullptr;
  if (!held(reach, key, answer, value)) return nullptr;
  return value ? value : &reach.keys.put(key).held.emplace<Type>();
}

/// A key whose collection has become empty does not exist.
inline void drop_if_empty(RedisReach& reach, std::string_view key) {
  const RedisValue* value = reach.keys.find(key);
  if (value && value->empty()) reach.keys.erase(key);
}

/// Reads an integer; nullopt: the word is none, and an error was answered.
std::optional<std::int64_t> integer_word(std::string_view word, Answer& answer);

/// Positions `first` to `last` among `size` elements, counted from the end where negative.
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
