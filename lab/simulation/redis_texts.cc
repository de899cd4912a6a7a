// SPDX-License-Identifier: Apache-2.0
// Commands for texts, for keys and their times to live, and for the whole server: TIME, PUBLISH.
#include <algorithm>
#include <limits>
#include <string>

#include "simulation/redis_commands.h"

namespace penstock::simulation {

namespace {

constexpr std::int64_t kMilliseconds = 1000;  // in a second; also microseconds in a millisecond
constexpr std::int64_t kLatest = std::numeric_limits<std::int64_t>::max();

void get(RedisReach& reach, Words words, Answer& answer) {
  RedisText* text = nullptr;
  if (!held(reach, words[1], answer, text)) return;
  if (text) {
    answer.text(*text);
  } else {
    answer.nil();
  }
}

/// The last millisecond of a life of `life` units; nullopt: it is not valid, and an error was answered.
std::optional<std::int64_t> last_moment(std::int64_t now, std::int64_t life, std::int64_t unit, bool may_be_past,
                                        std::string_view command, Answer& answer) {
  const bool too_long = life > (kLatest - now) / unit || life < -kLatest / unit;
  if (!too_long && (may_be_past || life > 0)) return now + life * unit;
  answer.error("ERR invalid expire time in '" + std::string(command) + "' command");
  return std::nullopt;
}

struct SetOptions {
  bool if_new = false, if_known = false, keeps_life = false, answers_old = false;
  std::optional<std::string_view> life;
  std::int64_t unit = 1;
};

/// nullopt: the words are no valid options.
std::optional<SetOptions> set_options(Words words) {
  SetOptions options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string word = lowered(words[i]);
    const bool of_life = (word == "px" || word == "ex") && i + 1 < words.size() && !options.life && !options.keeps_life;
    if (word == "nx" && !options.if_known) {
      options.if_new = true;
    } else if (word == "xx" && !options.if_new) {
      options.if_known = true;
    } else if (word == "get") {
      options.answers_old = true;
    } else if (word == "keepttl" && !options.life) {
      options.keeps_life = true;
    } else if (of_life) {
      options.life = words[++i];
      options.unit = word == "ex" ? kMilliseconds : 1;
    } else {
      return std::nullopt;
    }
  }
  return options;
}

/// When a text that is set now expires; nullopt: the life is not valid, and an error was answered.
std::optional<std::int64_t> set_until(const RedisReach& reach, const SetOptions& options, Answer& answer) {
  if (!options.life) return RedisValue::kStays;
  const auto life = integer_word(*options.life, answer);
  if (!life) return std::nullopt;
  return last_moment(reach.keys.now(), *life, options.unit, false, "set", answer);
}

void set(RedisReach& reach, Words words, Answer& answer) {
  const auto options = set_options(words.subspan(3));
  if (!options) return answer.error(kSyntax);
  const auto until = set_until(reach, *options, answer);
  if (!until) return;
  RedisValue* known = reach.keys.find(words[1]);
  if (options->answers_old) {
    RedisText* old = nullptr;
    if (!held(reach, words[1], answer, old)) return;
    if (old) {
      answer.text(*old);
    } else {
      answer.nil();
    }
  }
  const bool stays_as_it_is = known ? options->if_new : options->if_known;
  if (stays_as_it_is) return options->answers_old ? void() : answer.nil();
  RedisValue& value = known ? *known : reach.keys.put(words[1]);
  if (auto* text = std::get_if<RedisText>(&value.held)) {
    text->assign(words[2]);
  } else {
    value.held.emplace<RedisText>(words[2]);
  }
  if (!options->keeps_life) value.expires = *until;
  if (!options->answers_old) answer.ok();
}

void add_to(RedisReach& reach, std::string_view key, std::int64_t by, Answer& answer) {
  RedisText* text = nullptr;
  if (!held(reach, key, answer, text)) return;
  const auto old = text ? redis_integer(*text) : 0;
  if (!old) return answer.error(kNoInteger);
  std::int64_t sum = 0;
  if (__builtin_add_overflow(*old, by, &sum)) return answer.error("ERR increment or decrement would overflow");
  if (!text) text = &reach.keys.put(key).held.emplace<RedisText>();
  *text = std::to_string(sum);
  answer.integer(sum);
}

void incr(RedisReach& reach, Words words, Answer& answer) { add_to(reach, words[1], 1, answer); }
void incrby(RedisReach& reach, Words words, Answer& answer) {
  if (const auto by = integer_word(words[2], answer)) add_to(reach, words[1], *by, answer);
}

void mget(RedisReach& reach, Words words, Answer& answer) {
  answer.array(words.size() - 1);
  for (const auto key : words.subspan(1)) {
    RedisValue* found = reach.keys.find(key);
    if (const auto* text = found ? std::get_if<RedisText>(&found->held) : nullptr) {
      answer.text(*text);
    } else {
      answer.nil();
    }
  }
}

void del(RedisReach& reach, Words words, Answer& answer) {
  answer.integer(std::ranges::count_if(words.subspan(1), [&](auto key) { return reach.keys.erase(key); }));
}

void exists(RedisReach& reach, Words words, Answer& answer) {
  answer.integer(std::ranges::count_if(words.subspan(1), [&](auto key) { return reach.keys.find(key) != nullptr; }));
}

void type(RedisReach& reach, Words words, Answer& answer) {
  const RedisValue* found = reach.keys.find(words[1]);
  answer.status(found ? found->type() : "none");
}

void answer_life(RedisReach& reach, std::string_view key, std::int64_t unit, Answer& answer) {
  const RedisValue* found = reach.keys.find(key);
  if (!found) return answer.integer(-2);
  if (found->expires == RedisValue::kStays) return answer.integer(-1);
  answer.integer((found->expires - reach.keys.now() + unit / 2) / unit);
}
void pttl(RedisReach& reach, Words words, Answer& answer) { answer_life(reach, words[1], 1, answer); }
void ttl(RedisReach& reach, Words words, Answer& answer) { answer_life(reach, words[1], kMilliseconds, answer); }

/// A moment in the past deletes the key.
void expire(RedisReach& reach, Words words, std::int64_t unit, bool at, Answer& answer) {
  const auto life = integer_word(words[2], answer);
  if (!life) return;
  const auto until = last_moment(at ? 0 : reach.keys.now(), *life, unit, true, lowered(words[0]), answer);
  if (!until) return;
  if (words.size() > 3) return answer.error("ERR Unsupported option " + std::string(words[3]));
  RedisValue* found = reach.keys.find(words[1]);
  if (!found) return answer.integer(0);
  found->expires = *until;
  if (*until <= reach.keys.now()) reach.keys.erase(words[1]);
  answer.integer(1);
}
void pexpire(RedisReach& reach, Words words, Answer& answer) { expire(reach, words, 1, false, answer); }
void pexpireat(RedisReach& reach, Words words, Answer& answer) { expire(reach, words, 1, true, answer); }
void expire_seconds(RedisReach& reach, Words words, Answer& answer) {
  expire(reach, words, kMilliseconds, false, answer);
}

void persist(RedisReach& reach, Words words, Answer& answer) {
  RedisValue* found = reach.keys.find(words[1]);
  const bool had = found && found->expires != RedisValue::kStays;
  if (had) found->expires = RedisValue::kStays;
  answer.integer(had);
}

void time(RedisReach& reach, Words, Answer& answer) {
  constexpr std::int64_t kMicroseconds = 1'000'000;
  answer.array(2);
  answer.text(std::to_string(reach.now / kMicroseconds));
  answer.text(std::to_string(reach.now % kMicroseconds));
}

void publish(RedisReach& reach, Words words, Answer& answer) {
  answer.integer(static_cast<std::int64_t>(reach.channels.publish(words[1], words[2])));
}

void pubsub(RedisReach& reach, Words words, Answer& answer) {
  const auto channels = words.subspan(2);
  answer.array(2 * channels.size());
  for (const auto channel : channels) {
    answer.text(channel);
    answer.integer(static_cast<std::int64_t>(reach.channels.listeners(channel)));
  }
}

}  // namespace

RedisCommands text_commands() {
  using C = RedisCommand;
  static constexpr C kCommands[]{
      {"get", 2, C::kHasKey, get},
      {"set", -3, C::kWrites | C::kNeedsMemory | C::kHasKey, set},
      {"incr", 2, C::kWrites | C::kNeedsMemory | C::kHasKey, incr},
      {"incrby", 3, C::kWrites | C::kNeedsMemory | C::kHasKey, incrby},
      {"mget", -2, C::kHasKey, mget},
      {"del", -2, C::kWrites | C::kHasKey, del},
      {"exists", -2, C::kHasKey, exists},
      {"type", 2, C::kHasKey, type},
      {"pttl", 2, C::kHasKey, pttl},
      {"ttl", 2, C::kHasKey, ttl},
      {"pexpire", -3, C::kWrites | C::kHasKey, pexpire},
      {"pexpireat", -3, C::kWrites | C::kHasKey, pexpireat},
      {"expire", -3, C::kWrites | C::kHasKey, expire_seconds},
      {"persist", 2, C::kWrites | C::kHasKey, persist},
      {"time", 1, C::kReads, time},
      {"publish", 3, C::kHasChannel, publish},
      {"pubsub", -2, C::kReads, pubsub, "numsub"},
  };
  return kCommands;
}

}  // namespace penstock::simulation
