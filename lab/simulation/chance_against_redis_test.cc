// SPDX-License-Identifier: Apache-2.0
// The simulated Redis answers random commands like a real one, byte by byte, and then has the same keys.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "simulation/redis_pair.h"

namespace penstock::simulation {
namespace {

using Command = std::vector<std::string>;

/// Random commands that make sense often enough: few keys, whose names say what they mostly hold.
class Chance {
 public:
  explicit Chance(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t most) { return random_() % most; }
  const std::string& one_of(const std::vector<std::string>& all) { return all[below(all.size())]; }
  std::string key(char letter) {
    const char other = "tlzhs"[below(5)];
    return std::string(1, below(12) == 0 ? other : letter) + std::to_string(below(3));
  }
  std::string number() { return one_of({"0", "1", "2", "-1", "-2", "5", "7", "100", "-100", "x", "1.5", "", "007"}); }
  std::string score() {
    return one_of(
        {"0", "1", "2.5", "-3", "1e3", "0.1", "inf", "-inf", "+inf", "nan", "(1", "(0.1", "x", "12345678901234567"});
  }
  std::string word() { return one_of({"a", "b", "c", "", "7", "-12", "a longer word than fits in place", "x\r\ny"}); }
  std::string life() { return one_of({"1", "5", "1000", "20000", "0", "-5", "x", "9223372036854775807"}); }
  Command command();
  Command in_a_script(const Command& command);

 private:
  Command of_texts();
  Command of_lists();
  Command of_sets();
  Command of_hashes();
  Command of_keys();
  std::mt19937 random_;
};

Command Chance::of_texts() {
  switch (below(9)) {
    case 0: return {"GET", key('t')};
    case 1: return {"SET", key('t'), word()};
    case 2: return {"SET", key('t'), word(), "PX", life()};
    case 3: return {"set", key('t'), word(), "nx", "px", life()};
    case 4: return {"SET", key('t'), number(), one_of({"NX", "XX", "KEEPTTL", "GET", "EX", "PX"})};
    case 5: return {"SET", key('t'), word(), "XX", "GET"};
    case 6: return {"INCR", key('t')};
    case 7: return {"INCRBY", key('t'), number()};
    default: return {"MGET", key('t'), key('t')};
  }
}

Command Chance::of_lists() {
  switch (below(11)) {
    case 0: return {"LLEN", key('l')};
    case 1: return {"LINDEX", key('l'), number()};
    case 2: return {"LRANGE", key('l'), number(), number()};
    case 3: return {"LTRIM", key('l'), number(), number()};
    case 4: return {"RPUSH", key('l'), word(), word()};
    case 5: return {"LPUSH", key('l'), word()};
    case 6: return {"RPOP", key('l')};
    case 7: return {"RPOP", key('l'), number()};
    case 8: return {"LPOP", key('l')};
    case 9: return {"LSET", key('l'), number(), word()};
    default: return {"RPUSH", key('l'), word(), word(), word(), word(), word()};
  }
}

Command Chance::of_sets() {
  switch (below(13)) {
    case 0: return {"ZADD", key('z'), score(), word()};
    case 1: return {"ZADD", key('z'), score(), word(), score(), word()};
    case 2: return {"ZADD", key('z'), one_of({"NX", "XX", "GT", "LT", "CH", "1"}), score(), word()};
    case 3: return {"ZREMRANGEBYSCORE", key('z'), score(), score()};
    case 4: return {"ZREMRANGEBYSCORE", key('z'), "-inf", score()};
    case 5: return {"ZCARD", key('z')};
    case 6: return {"ZSCORE", key('z'), word()};
    case 7: return {"ZRANGE", key('z'), number(), number()};
    case 8: return {"ZRANGE", key('z'), "0", "-1", one_of({"WITHSCORES", "withscores", "FOO"})};
    case 9: return {one_of({"ZCOUNT", "ZRANGEBYSCORE"}), key('z'), score(), score()};
    case 10: return {"ZREM", key('z'), word(), word()};
    case 11: return {one_of({"SADD", "SREM"}), key('s'), word(), word()};
    default: return below(2) == 0 ? Command{"SCARD", key('s')} : Command{"SISMEMBER", key('s'), word()};
  }
}

Command Chance::of_hashes() {
  switch (below(8)) {
    case 0: return {"HSET", key('h'), word(), word()};
    case 1: return {"HSET", key('h'), word(), number(), word(), word()};
    case 2: return {"HGET", key('h'), word()};
    case 3: return {"HMGET", key('h'), word(), word()};
    case 4: return {one_of({"HGETALL", "HKEYS", "HVALS", "HLEN"}), key('h')};
    case 5: return {"HDEL", key('h'), word(), word()};
    case 6: return {"HEXISTS", key('h'), word()};
    default: return {"HINCRBY", key('h'), word(), number()};
  }
}

Command Chance::of_keys() {
  const std::string any = key("tlzhs"[below(5)]);
  switch (below(11)) {
    case 0: return {"DEL", any, key('t')};
    case 1: return {"EXISTS", any, any, key('l')};
    case 2: return {"TYPE", any};
    case 3: return {"PTTL", any};
    case 4: return {"TTL", any};
    case 5: return {one_of({"PEXPIRE", "EXPIRE", "PEXPIREAT"}), any, life()};
    case 6: return {"PEXPIRE", any, life()};
    case 7: return {"PERSIST", any};
    case 8: return {"TIME"};
    case 9: return {"PUBSUB", "NUMSUB", "a", "b"};
    default: return {one_of({"GET", "ZADD", "HSET", "NONSENSE", "PING", "SCRIPT", "PUBSUB", "CLIENT"}), word()};
  }
}

Command Chance::command() {
  switch (below(9)) {
    case 0:
    case 1: return of_texts();
    case 2:
    case 3: return of_lists();
    case 4:
    case 5: return of_sets();
    case 6:
    case 7: return of_hashes();
    default: return of_keys();
  }
}

/// Runs the command through Lua; numbers among its words are sometimes passed as Lua numbers.
Command Chance::in_a_script(const Command& command) {
  const std::string script = one_of({"return redis.call(unpack(ARGV))", "return redis.pcall(unpack(ARGV))",
                                     "return {redis.pcall(unpack(ARGV)), 'after'}",
                                     "local n = tonumber(ARGV[#ARGV]) if n == n and n then ARGV[#ARGV] = n end return "
                                     "redis.call(unpack(ARGV))",
                                     "redis.call('SET', 't0', 'kept') return redis.call(unpack(ARGV))",
                                     "return {pcall(redis.call, unpack(ARGV))}"});
  Command call{"EVAL", script, "0"};
  call.insert(call.end(), command.begin(), command.end());
  return call;
}

class Alike : public testing::TestWithParam<unsigned> {
 protected:
  RedisPair pair_;
};

TEST_P(Alike, commands_by_chance_have_the_same_answers_and_effects) {
  Chance chance(GetParam());
  for (int i = 0; i < 1'500 && !HasFailure(); ++i) {
    const Command command = chance.command();
    pair_.run(chance.below(3) == 0 ? chance.in_a_script(command) : command);
    if (chance.below(4) == 0) pair_.pass(static_cast<std::int64_t>(chance.below(3'000)));
    if (chance.below(60) == 0) pair_.pass(1'000 * static_cast<std::int64_t>(chance.below(10'000)));
    if (chance.below(200) == 0) pair_.pass(-1'000 * static_cast<std::int64_t>(chance.below(5'000)));
    if (i % 50 == 49) pair_.compare_keys();
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, Alike, testing::Range(1U, 13U));

}  // namespace
}  // namespace penstock::simulation
