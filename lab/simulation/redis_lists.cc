// SPDX-License-Identifier: Apache-2.0
// Commands for lists and for hashes.
#include <algorithm>
#include <iterator>
#include <string>

#include "simulation/redis_commands.h"

namespace penstock::simulation {

namespace {

using Signed = std::ptrdiff_t;

std::int64_t size_of(const auto& all) { return static_cast<std::int64_t>(all.size()); }

void llen(RedisReach& reach, Words words, Answer& answer) {
  RedisList* list = nullptr;
  if (held(reach, words[1], answer, list)) answer.integer(list ? size_of(*list) : 0);
}

void lindex(RedisReach& reach, Words words, Answer& answer) {
  RedisList* list = nullptr;
  if (!held(reach, words[1], answer, list)) return;
  if (!list) return answer.nil();
  const auto place = integer_word(words[2], answer);
  if (!place) return;
  const auto at = *place < 0 ? *place + size_of(*list) : *place;
  if (at < 0 || at >= size_of(*list)) return answer.nil();
  answer.text((*list)[static_cast<std::size_t>(at)]);
}

void lrange(RedisReach& reach, Words words, Answer& answer) {
  const auto valid = places(words.subspan(2), 0, answer);
  if (!valid) return;
  RedisList* list = nullptr;
  if (!held(reach, words[1], answer, list)) return;
  if (!list) return answer.array(0);
  const auto range = *places(words.subspan(2), list->size(), answer);
  answer.array(range.end - range.begin);
  for (auto i = range.begin; i < range.end; ++i) answer.text((*list)[i]);
}

void ltrim(RedisReach& reach, Words words, Answer& answer) {
  const auto valid = places(words.subspan(2), 0, answer);
  if (!valid) return;
  RedisList* list = nullptr;
  if (!held(reach, words[1], answer, list)) return;
  if (list) {
    const auto range = *places(words.subspan(2), list->size(), answer);
    list->erase(list->begin() + static_cast<Signed>(range.end), list->end());
    list->erase(list->begin(), list->begin() + static_cast<Signed>(range.begin));
    drop_if_empty(reach, words[1]);
  }
  answer.ok();
}

enum class End : std::uint8_t { left, right };

void push(RedisReach& reach, Words words, End end, Answer& answer) {
  auto* list = held_or_new<RedisList>(reach, words[1], answer);
  if (!list) return;
  for (const auto element : words.subspan(2)) {
    if (end == End::right) {
      list->emplace_back(element);
    } else {
      list->emplace_front(element);
    }
  }
  answer.integer(size_of(*list));
}
void rpush(RedisReach& reach, Words words, Answer& answer) { push(reach, words, End::right, answer); }
void lpush(RedisReach& reach, Words words, Answer& answer) { push(reach, words, End::left, answer); }

void give_out(RedisList& list, End end, Answer& answer) {
  answer.text(end == End::right ? list.back() : list.front());
  if (end == End::right) {
    list.pop_back();
  } else {
    list.pop_front();
  }
}

void pop(RedisReach& reach, Words words, End end, Answer& answer) {
  const bool several = words.size() > 2;
  const auto wanted = several ? redis_integer(words[2]) : 1;
  if (words.size() > 3) return answer.error("ERR wrong number of arguments for '" + lowered(words[0]) + "' command");
  if (!wanted || *wanted < 0) return answer.error("ERR value is out of range, must be positive");
  RedisList* list = nullptr;
  if (!held(reach, words[1], answer, list)) return;
  if (!list) return several ? answer.nil_array() : answer.nil();
  const auto count = std::min<std::int64_t>(*wanted, size_of(*list));
  if (several) answer.array(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) give_out(*list, end, answer);
  drop_if_empty(reach, words[1]);
}
void rpop(RedisReach& reach, Words words, Answer& answer) { pop(reach, words, End::right, answer); }
void lpop(RedisReach& reach, Words words, Answer& answer) { pop(reach, words, End::left, answer); }

void lset(RedisReach& reach, Words words, Answer& answer) {
  RedisList* list = nullptr;
  if (!reach.keys.find(words[1])) return answer.error("ERR no such key");
  if (!held(reach, words[1], answer, list)) return;
  const auto place = integer_word(words[2], answer);
  if (!place) return;
  const auto at = *place < 0 ? *place + size_of(*list) : *place;
  if (at < 0 || at >= size_of(*list)) return answer.error("ERR index out of range");
  (*list)[static_cast<std::size_t>(at)] = words[3];
  answer.ok();
}

// Hashes.

void hset(RedisReach& reach, Words words, Answer& answer) {
  const auto pairs = words.subspan(2);
  if (pairs.size() % 2 != 0) return answer.error("ERR wrong number of arguments for 'hset' command");
  auto* hash = held_or_new<RedisHash>(reach, words[1], answer);
  if (!hash) return;
  std::int64_t added = 0;
  for (std::size_t i = 0; i < pairs.size(); i += 2) added += hash->set(pairs[i], pairs[i + 1]);
  answer.integer(added);
}

void answer_field(RedisHash* hash, std::string_view field, Answer& answer) {
  if (const std::string* value = hash ? hash->find(field) : nullptr) {
    answer.text(*value);
  } else {
    answer.nil();
  }
}

void hget(RedisReach& reach, Words words, Answer& answer) {
  RedisHash* hash = nullptr;
  if (held(reach, words[1], answer, hash)) answer_field(hash, words[2], answer);
}

void hmget(RedisReach& reach, Words words, Answer& answer) {
  RedisHash* hash = nullptr;
  if (!held(reach, words[1], answer, hash)) return;
  answer.array(words.size() - 2);
  for (const auto field : words.subspan(2)) answer_field(hash, field, answer);
}

enum class Parts : std::uint8_t { fields = 1, values = 2, both = 3 };

void answer_parts(RedisReach& reach, std::string_view key, Parts parts, Answer& answer) {
  RedisHash* hash = nullptr;
  if (!held(reach, key, answer, hash)) return;
  if (!hash) return answer.array(0);
  answer.array(hash->fields().size() * (parts == Parts::both ? 2 : 1));
  for (const auto& [field, value] : hash->fields()) {
    if (parts != Parts::values) answer.text(field);
    if (parts != Parts::fields) answer.text(value);
  }
}
void hgetall(RedisReach& reach, Words words, Answer& answer) { answer_parts(reach, words[1], Parts::both, answer); }
void hkeys(RedisReach& reach, Words words, Answer& answer) { answer_parts(reach, words[1], Parts::fields, answer); }
void hvals(RedisReach& reach, Words words, Answer& answer) { answer_parts(reach, words[1], Parts::values, answer); }

void hdel(RedisReach& reach, Words words, Answer& answer) {
  RedisHash* hash = nullptr;
  if (!held(reach, words[1], answer, hash)) return;
  if (!hash) return answer.integer(0);
  answer.integer(std::ranges::count_if(words.subspan(2), [&](auto field) { return hash->erase(field); }));
  drop_if_empty(reach, words[1]);
}

void hlen(RedisReach& reach, Words words, Answer& answer) {
  RedisHash* hash = nullptr;
  if (held(reach, words[1], answer, hash)) answer.integer(hash ? size_of(hash->fields()) : 0);
}

void hexists(RedisReach& reach, Words words, Answer& answer) {
  RedisHash* hash = nullptr;
  if (held(reach, words[1], answer, hash)) answer.integer(hash && hash->find(words[2]));
}

void hincrby(RedisReach& reach, Words words, Answer& answer) {
  const auto by = integer_word(words[3], answer);
  if (!by) return;
  RedisHash* known = nullptr;
  if (!held(reach, words[1], answer, known)) return;
  const std::string* value = known ? known->find(words[2]) : nullptr;
  const auto old = value ? redis_integer(*value) : 0;
  if (!old) return answer.error("ERR hash value is not an integer");
  std::int64_t sum = 0;
  if (__builtin_add_overflow(*old, *by, &sum)) return answer.error("ERR increment or decrement would overflow");
  held_or_new<RedisHash>(reach, words[1], answer)->set(words[2], std::to_string(sum));
  answer.integer(sum);
}

}  // namespace

RedisCommands list_commands() {
  using C = RedisCommand;
  static constexpr C kCommands[]{
      {"llen", 2, C::kHasKey, llen},
      {"lindex", 3, C::kHasKey, lindex},
      {"lrange", 4, C::kHasKey, lrange},
      {"ltrim", 4, C::kWrites | C::kHasKey, ltrim},
      {"rpush", -3, C::kWrites | C::kNeedsMemory | C::kHasKey, rpush},
      {"lpush", -3, C::kWrites | C::kNeedsMemory | C::kHasKey, lpush},
      {"rpop", -2, C::kWrites | C::kHasKey, rpop},
      {"lpop", -2, C::kWrites | C::kHasKey, lpop},
      {"lset", 4, C::kWrites | C::kNeedsMemory | C::kHasKey, lset},
  };
  return kCommands;
}

RedisCommands hash_commands() {
  using C = RedisCommand;
  static constexpr C kCommands[]{
      {"hset", -4, C::kWrites | C::kNeedsMemory | C::kHasKey, hset},
      {"hget", 3, C::kHasKey, hget},
      {"hmget", -3, C::kHasKey, hmget},
      {"hgetall", 2, C::kHasKey, hgetall},
      {"hkeys", 2, C::kHasKey, hkeys},
      {"hvals", 2, C::kHasKey, hvals},
      {"hdel", -3, C::kWrites | C::kHasKey, hdel},
      {"hlen", 2, C::kHasKey, hlen},
      {"hexists", 3, C::kHasKey, hexists},
      {"hincrby", 4, C::kWrites | C::kNeedsMemory | C::kHasKey, hincrby},
  };
  return kCommands;
}

}  // namespace penstock::simulation
