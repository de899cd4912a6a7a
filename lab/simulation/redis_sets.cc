// SPDX-License-Identifier: Apache-2.0
// Commands for sets and sorted sets. Without SMEMBERS, whose order Redis leaves open.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <vector>

#include "simulation/redis_commands.h"

namespace penstock::simulation {

namespace {

std::int64_t number_of(std::size_t count) { return static_cast<std::int64_t>(count); }

void sadd(RedisReach& reach, Words words, Answer& answer) {
  auto* set = held_or_new<RedisSet>(reach, words[1], answer);
  if (!set) return;
  answer.integer(std::ranges::count_if(words.subspan(2), [&](auto one) { return set->emplace(one).second; }));
}

void srem(RedisReach& reach, Words words, Answer& answer) {
  RedisSet* set = nullptr;
  if (!held(reach, words[1], answer, set)) return;
  if (!set) return answer.integer(0);
  answer.integer(std::ranges::count_if(words.subspan(2), [&](auto one) { return set->erase(std::string(one)) > 0; }));
  drop_if_empty(reach, words[1]);
}

void scard(RedisReach& reach, Words words, Answer& answer) {
  RedisSet* set = nullptr;
  if (held(reach, words[1], answer, set)) answer.integer(set ? number_of(set->size()) : 0);
}

void sismember(RedisReach& reach, Words words, Answer& answer) {
  RedisSet* set = nullptr;
  if (held(reach, words[1], answer, set)) answer.integer(set && set->contains(words[2]));
}

// Sorted sets.

struct AddOptions {
  bool if_new = false, if_known = false, if_greater = false, if_less = false, counts_changed = false;
  std::size_t words = 0;
};

AddOptions add_options(Words words) {
  AddOptions options;
  for (const auto word : words) {
    if (same_word(word, "nx")) {
      options.if_new = true;
    } else if (same_word(word, "xx")) {
      options.if_known = true;
    } else if (same_word(word, "gt")) {
      options.if_greater = true;
    } else if (same_word(word, "lt")) {
      options.if_less = true;
    } else if (same_word(word, "ch")) {
      options.counts_changed = true;
    } else {
      break;
    }
    ++options.words;
  }
  return options;
}

/// Returns what the addition counts for in the answer.
int add_one(RedisSortedSet& set, const AddOptions& options, double score, std::string_view member) {
  const auto old = set.score(member);
  if (!old) {
    if (!options.if_known) set.set(member, score);
    return !options.if_known;
  }
  const bool stays =
      options.if_new || *old == score || (options.if_greater && score < *old) || (options.if_less && score > *old);
  if (!stays) set.set(member, score);
  return !stays && options.counts_changed;
}

void zadd(RedisReach& reach, Words words, Answer& answer) {
  const auto options = add_options(words.subspan(2));
  const auto pairs = words.subspan(2 + options.words);
  if (pairs.empty() || pairs.size() % 2 != 0) return answer.error(kSyntax);
  if (options.if_new && options.if_known) {
    return answer.error("ERR XX and NX options at the same time are not compatible");
  }
  if ((options.if_greater || options.if_less) + options.if_new > 1 || (options.if_greater && options.if_less)) {
    return answer.error("ERR GT, LT, and/or NX options at the same time are not compatible");
  }
  std::vector<double> scores;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    const auto score = redis_double(pairs[i]);
    if (!score) return answer.error("ERR value is not a valid float");
    scores.push_back(*score);
  }
  auto* set = held_or_new<RedisSortedSet>(reach, words[1], answer);
  if (!set) return;
  int count = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) count += add_one(*set, options, scores[i], pairs[2 * i + 1]);
  drop_if_empty(reach, words[1]);
  answer.integer(count);
}

struct Bound {
  double score = 0;
  bool itself = true;
};

std::optional<Bound> bound(std::string_view word) {
  const bool open = word.starts_with('(');
  const auto score = redis_double(word.substr(open ? 1 : 0));
  return score ? std::optional(Bound{*score, !open}) : std::nullopt;
}

/// A range of scores; nullopt: the words are none, and an error was answered.
class Scores {
 public:
  static std::optional<Scores> read(Words two, Answer& answer) {
    const auto least = bound(two[0]), most = bound(two[1]);
    if (least && most) return Scores(*least, *most);
    answer.error("ERR min or max is not a float");
    return std::nullopt;
  }
  bool operator()(const RedisSortedSet::Member& member) const {
    const bool above = least_.itself ? member.first >= least_.score : member.first > least_.score;
    return above && (most_.itself ? member.first <= most_.score : member.first < most_.score);
  }

 private:
  Scores(Bound least, Bound most) : least_(least), most_(most) {}
  Bound least_, most_;
};

void zremrangebyscore(RedisReach& reach, Words words, Answer& answer) {
  const auto scores = Scores::read(words.subspan(2), answer);
  if (!scores) return;
  RedisSortedSet* set = nullptr;
  if (!held(reach, words[1], answer, set)) return;
  answer.integer(set ? number_of(set->erase_if(*scores)) : 0);
  drop_if_empty(reach, words[1]);
}

void zcount(RedisReach& reach, Words words, Answer& answer) {
  const auto scores = Scores::read(words.subspan(2), answer);
  if (!scores) return;
  RedisSortedSet* set = nullptr;
  if (held(reach, words[1], answer, set)) answer.integer(set ? std::ranges::count_if(set->members(), *scores) : 0);
}

void zcard(RedisReach& reach, Words words, Answer& answer) {
  RedisSortedSet* set = nullptr;
  if (held(reach, words[1], answer, set)) answer.integer(set ? number_of(set->members().size()) : 0);
}

void zscore(RedisReach& reach, Words words, Answer& answer) {
  RedisSortedSet* set = nullptr;
  if (!held(reach, words[1], answer, set)) return;
  const auto score = set ? set->score(words[2]) : std::nullopt;
  if (score) {
    answer.text(redis_number(*score));
  } else {
    answer.nil();
  }
}

void zrem(RedisReach& reach, Words words, Answer& answer) {
  RedisSortedSet* set = nullptr;
  if (!held(reach, words[1], answer, set)) return;
  if (!set) return answer.integer(0);
  answer.integer(std::ranges::count_if(words.subspan(2), [&](auto member) { return set->erase(member); }));
  drop_if_empty(reach, words[1]);
}

void answer_members(std::span<const RedisSortedSet::Member> members, bool with_scores, Answer& answer) {
  answer.array(members.size() * (with_scores ? 2 : 1));
  for (const auto& [score, member] : members) {
    answer.text(member);
    if (with_scores) answer.text(redis_number(score));
  }
}

/// By positions only; ranges by score have a command of their own, ZRANGEBYSCORE.
void zrange(RedisReach& reach, Words words, Answer& answer) {
  const bool with_scores = words.size() == 5 && same_word(words[4], "withscores");
  if (words.size() > 4 && !with_scores) return answer.error(kSyntax);
  if (!places(words.subspan(2), 0, answer)) return;
  RedisSortedSet* set = nullptr;
  if (!held(reach, words[1], answer, set)) return;
  if (!set) return answer.array(0);
  const auto range = *places(words.subspan(2), set->members().size(), answer);
  answer_members(std::span(set->members()).subspan(range.begin, range.end - range.begin), with_scores, answer);
}

void zrangebyscore(RedisReach& reach, Words words, Answer& answer) {
  const auto scores = Scores::read(words.subspan(2), answer);
  if (!scores) return;
  const bool with_scores = words.size() == 5 && same_word(words[4], "withscores");
  if (words.size() > 4 && !with_scores) return answer.error(kSyntax);
  RedisSortedSet* set = nullptr;
  if (!held(reach, words[1], answer, set)) return;
  std::vector<RedisSortedSet::Member> found;
  if (set) std::ranges::copy_if(set->members(), std::back_inserter(found), *scores);
  answer_members(found, with_scores, answer);
}

}  // namespace

RedisCommands set_commands() {
  using C = RedisCommand;
  static constexpr C kCommands[]{
      {"sadd", -3, C::kWrites | C::kNeedsMemory | C::kHasKey, sadd},
      {"srem", -3, C::kWrites | C::kHasKey, srem},
      {"scard", 2, C::kHasKey, scard},
      {"sismember", 3, C::kHasKey, sismember},
      {"zadd", -4, C::kWrites | C::kNeedsMemory | C::kHasKey, zadd},
      {"zrem", -3, C::kWrites | C::kHasKey, zrem},
      {"zremrangebyscore", 4, C::kWrites | C::kHasKey, zremrangebyscore},
      {"zcount", 4, C::kHasKey, zcount},
      {"zcard", 2, C::kHasKey, zcard},
      {"zscore", 3, C::kHasKey, zscore},
      {"zrange", -4, C::kHasKey, zrange},
      {"zrangebyscore", -4, C::kHasKey, zrangebyscore},
  };
  return kCommands;
}

}  // namespace penstock::simulation
