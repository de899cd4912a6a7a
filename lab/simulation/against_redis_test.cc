// SPDX-License-Identifier: Apache-2.0
// The simulated Redis answers like a real one, byte by byte: scripts with every conversion and error, memory that is
// short, permissions, channels, bytes in pieces.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "redis/client/scripts.h"
#include "redis/wire/self_test.h"
#include "simulation/redis_pair.h"

namespace penstock::simulation {
namespace {

using Command = std::vector<std::string>;

constexpr std::int64_t kMillisecond = 1'000;

constexpr const char* kConverted[]{
    "return nil",
    "return false",
    "return true",
    "return 'x'",
    "return ''",
    "return 3",
    "return 3.99",
    "return -3.99",
    "return 1e300",
    "return -1e300",
    "return 0/0",
    "return math.huge",
    "return 2^53",
    "return {}",
    "return {1,2,nil,4}",
    "return {1,{2,{3,{4}}},'x'}",
    "return {1,false,true,{}}",
    "return {ok='fine'}",
    "return {ok='a\\r\\nb'}",
    "return {err='FINE not'}",
    "return {err='word'}",
    "return {err='a\\nb c'}",
    "return {err=5}",
    "return {ok=5}",
    "return {{err='X in'},{ok='in'}}",
    "return {x=1}",
    "return {1,x=2}",
    "return redis.status_reply('YES it is')",
    "return redis.error_reply('NO it is not')",
    "return redis.error_reply('word')",
    "return redis.error_reply('-DASH x')",
    "return redis.error_reply('')",
    "return print",
    "return redis.call('GET', 'none')",
    "return redis.call('LRANGE', 'l', 0, -1)",
    "return redis.call('TYPE', 'l')",
    "return type(redis.call('TYPE', 'l').ok)",
    "return redis.call('LPOP', 'none', 2)",
    "return type(redis.call('GET', 'none'))",
    "return type(redis.call('LLEN', 'l'))",
    "return redis.call('TIME')",
    "return redis.call('MGET', 't', 'none', 'l')",
    "return {redis.call('MGET', 't', 'none')[2] == false}",
    "return redis.call('SET', 'n', 12)",
    "redis.call('SET', 'n', 0.1) return redis.call('GET', 'n')",
    "redis.call('SET', 'n', 1e15) return redis.call('GET', 'n')",
    "redis.call('SET', 'n', 123456789012345678) return redis.call('GET', 'n')",
    "redis.call('SET', 'n', -7) return redis.call('GET', 'n')",
    "redis.call('SET', 'n', 1/0) return redis.call('GET', 'n')",
    "redis.call('SET', 'n', -0.0) return redis.call('GET', 'n')",
    "redis.call('SET', 'n', 1e20) return redis.call('GET', 'n')",
    "return tostring(1e15) .. tostring(0.1)",
    "return string.format('%d %.4f %.15g %.17g', 5e15, 1/3, 1/3, 1/3)",
    "return #ARGV",
    "return ARGV[1]",
};

/// Without error({}), which crashes a redis-server 7.0.
constexpr const char* kFailing[]{
    "error('boom')",
    "error('boom', 0)",
    "error({err='CORRUPT key'})",
    "error({err='word'})",
    "error({err=5})",
    "error()",
    "error(nil)",
    "error(12)",
    "error(true)",
    "local x = nil\nreturn x.y",
    "\n\nreturn unknown",
    "unknown = 1",
    "return 1 +",
    "return redis.call()",
    "return redis.call('GET')",
    "return redis.call('NONSENSE')",
    "return redis.call('GET', true)",
    "return redis.call('GET', {})",
    "return redis.pcall('GET', nil)",
    "return redis.pcall('NONSENSE', 1).err",
    "return redis.pcall()",
    "return redis.call('SUBSCRIBE', 'a')",
    "return redis.pcall('EVAL', 'return 1', 0)",
    "return redis.call('AUTH', 'x')",
    "return redis.call('LLEN', 't')",
    "return redis.pcall('LLEN', 't')",
    "return {redis.pcall('LLEN', 't')}",
    "return {pcall(error, {err='X y'})}",
    "return {pcall(error, 'text')}",
    "return {pcall(redis.call, 'LLEN', 't')}",
    "return {pcall(function() return 1, 2 end)}",
    "return {pcall(function() error({}) end)}",
    "local function deep() error({err='DEEP down'}) end\n\ndeep()",
    "local function deep() redis.call('LLEN', 't') end\n\ndeep()",
    "return redis.error_reply(5)",
    "return redis.error_reply()",
    "return redis.status_reply()",
    "return select('#', unpack({}, 1, 1e8))",
    "redis.call('SET', 'kept', '1') error('later')",
    "redis.call('SET', 'kept', '2') redis.call('LLEN', 'kept')",
    "return redis.call('SET', 'kept', 'x', 'PX', 0)",
    "string.rep(nil)",
    "return tonumber({})",
};

class AsRedis : public testing::Test {
 protected:
  std::string eval(const std::string& script, const Command& arguments = {}) {
    Command call{"EVAL", script, "0"};
    call.insert(call.end(), arguments.begin(), arguments.end());
    return pair_.run(call);
  }
  RedisPair pair_;
};

TEST_F(AsRedis, values_are_converted) {
  pair_.run({"RPUSH", "l", "a", "b"});
  pair_.run({"SET", "t", "text"});
  for (const char* script : kConverted) eval(script);
  EXPECT_EQ(eval("return {KEYS[1] or 'none', ARGV[2], #ARGV}", {"a", "b"}), "*3\r\n$4\r\nnone\r\n$1\r\nb\r\n:2\r\n");
  EXPECT_EQ(pair_.run({"EVAL", "return {KEYS, ARGV}", "2", "k", "l", "m"}),
            "*2\r\n*2\r\n$1\r\nk\r\n$1\r\nl\r\n*1\r\n$1\r\nm\r\n");
}

TEST_F(AsRedis, errors_of_scripts_are_told) {
  for (const char* script : kFailing) {
    pair_.run({"SET", "t", "text"});
    eval(script);
  }
  pair_.compare_keys();
  EXPECT_EQ(pair_.run({"GET", "kept"}), "$1\r\n2\r\n") << "what was written before an error stays";
}

TEST_F(AsRedis, scripts_are_known_by_their_digests) {
  const std::string loaded = pair_.run({"SCRIPT", "LOAD", "return ARGV[1]"});
  const std::string digest = loaded.substr(5, 40);
  std::string capitals = digest;
  for (auto& letter : capitals) letter = static_cast<char>(std::toupper(letter));
  EXPECT_EQ(pair_.run({"EVALSHA", digest, "0", "x"}), "$1\r\nx\r\n");
  EXPECT_EQ(pair_.run({"EVALSHA", capitals, "0", "x"}), "$1\r\nx\r\n");
  pair_.run({"SCRIPT", "EXISTS", digest, "abc"});
  for (const char* count : {"1", "2", "-1", "x", ""}) pair_.run({"EVALSHA", digest, count, "x"});
  pair_.run({"EVALSHA", "abc", "0"});
  pair_.run({"SCRIPT", "LOAD", "return +"});
  pair_.run({"SCRIPT", "LOAD"});
  pair_.run({"SCRIPT", "FLUSH"});
  EXPECT_EQ(pair_.run({"EVALSHA", digest, "0", "x"}), "-NOSCRIPT No matching script. Please use EVAL.\r\n");
  pair_.run({"EVAL", "return ARGV[1]", "0", "y"});
  EXPECT_EQ(pair_.run({"EVALSHA", digest, "0", "x"}), "$1\r\nx\r\n") << "EVAL makes it known as well";
}

TEST_F(AsRedis, time_stands_still_in_a_script_and_keys_go_when_theirs_has_passed) {
  EXPECT_EQ(eval("return redis.call('TIME')"), "*2\r\n$10\r\n1790000000\r\n$6\r\n123456\r\n");
  pair_.run({"SET", "k", "v", "PX", "10"});
  pair_.pass(10 * kMillisecond);
  EXPECT_EQ(pair_.run({"PTTL", "k"}), ":0\r\n") << "the last millisecond";
  pair_.pass(kMillisecond);
  EXPECT_EQ(eval("return redis.call('GET', 'k')"), "$-1\r\n");
  pair_.run({"SET", "k", "v", "PX", "86400000"});
  pair_.pass(-kMillisecond * 5'000);
  EXPECT_EQ(pair_.run({"PTTL", "k"}), ":86405000\r\n") << "its clock was set back";
}

TEST_F(AsRedis, short_memory_refuses_what_needs_some) {
  pair_.run({"SET", "t", "text"});
  pair_.short_of_memory(true);
  for (const auto& command : std::vector<Command>{{"SET", "a", "b"},
                                                  {"GET", "t"},
                                                  {"HSET", "h", "a", "b"},
                                                  {"ZADD", "z", "1", "a"},
                                                  {"RPUSH", "l", "a"},
                                                  {"INCR", "i"},
                                                  {"SADD", "s", "a"},
                                                  {"PEXPIRE", "t", "50000"},
                                                  {"DEL", "none"},
                                                  {"PUBLISH", "a", "b"},
                                                  {"SCRIPT", "LOAD", "return 1"},
                                                  {"SET", "a"},
                                                  {"LSET", "l", "0", "x"},
                                                  {"HINCRBY", "h", "a", "1"},
                                                  {"LTRIM", "l", "0", "1"}}) {
    pair_.run(command);
  }
  eval("return redis.call('SET', 'a', 'b')");
  eval("return redis.pcall('SET', 'a', 'b')");
  eval("return redis.call('GET', 't')");
  EXPECT_EQ(eval("redis.call('DEL', 'none') return redis.call('SET', 'a', 'b')"), "+OK\r\n") << "it has begun to write";
  pair_.compare_keys();
  pair_.short_of_memory(false);
  pair_.run({"SET", "a", "b"});
}

TEST_F(AsRedis, a_replica_is_not_written_to) {
  pair_.run({"SET", "t", "text"});
  pair_.run({"SET", "short", "text", "PX", "5"});
  pair_.as_replica(true);
  pair_.pass(20 * kMillisecond);
  for (const auto& command : std::vector<Command>{{"SET", "a", "b"},
                                                  {"GET", "t"},
                                                  {"GET", "short"},
                                                  {"PEXPIRE", "t", "50000"},
                                                  {"DEL", "t"},
                                                  {"PUBLISH", "a", "b"},
                                                  {"SET", "a"},
                                                  {"FLUSHALL"},
                                                  {"PTTL", "short"}}) {
    pair_.run(command);
  }
  eval("return redis.call('SET', 'a', 'b')");
  eval("return redis.pcall('SET', 'a', 'b')");
  eval("return redis.call('GET', 't')");
  eval("return redis.call('PUBLISH', 'a', 'b')");
  pair_.as_replica(false);
  EXPECT_EQ(pair_.run({"SET", "a", "b"}), "+OK\r\n");
  pair_.compare_keys();
}

TEST_F(AsRedis, writes_may_be_refused_for_other_reasons) {
  pair_.run({"SET", "t", "text"});
  pair_.real().run({"CONFIG", "SET", "min-replicas-to-write", "1"});
  pair_.model().refuse_writes("NOREPLICAS Not enough good replicas to write.");
  pair_.run({"SET", "a", "b"});
  pair_.run({"GET", "t"});
  eval("return redis.call('SET', 'a', 'b')");
  eval("return redis.pcall('DEL', 'a')");
  eval("return redis.call('GET', 't')");
  pair_.real().run({"CONFIG", "SET", "min-replicas-to-write", "0"});
  pair_.model().refuse_writes({});
  EXPECT_EQ(pair_.run({"SET", "a", "b"}), "+OK\r\n");
}

TEST_F(AsRedis, what_is_not_permitted_is_refused) {
  pair_.run({"SET", "t", "text"});
  const auto attempt = [&] {
    for (const auto& command : std::vector<Command>{{"GET", "t"},
                                                    {"GET"},
                                                    {"SET", "t", "text"},
                                                    {"TIME"},
                                                    {"PING"},
                                                    {"PUBLISH", "a", "b"},
                                                    {"SCRIPT", "LOAD", "return 1"},
                                                    {"EVAL", "return 1", "1", "t"}}) {
      pair_.run(command);
    }
    for (const char* script :
         {"return redis.call('GET', 't')", "return redis.pcall('GET', 't')", "return redis.call('PUBLISH', 'a', 'b')",
          "return redis.pcall('PUBLISH', 'a', 'b')", "return redis.call('TIME')"}) {
      eval(script);
    }
  };
  const auto deny = [&](const char* rule, const char* name) {
    pair_.real().run({"ACL", "SETUSER", "default", rule});
    pair_.model().deny(name);
    attempt();
  };
  const auto allow = [&] {
    pair_.real().run({"ACL", "SETUSER", "default", "allkeys", "allchannels", "+@all"});
    pair_.model().allow_all();
    attempt();
  };
  deny("-get", "get");
  deny("-script|load", "script|load");
  allow();
  deny("-publish", "publish");
  allow();
  deny("resetkeys", "keys");
  allow();
  deny("-ping", "PING");
  allow();
  deny("resetchannels", "channels");
  const auto other = pair_.connect();
  pair_.run({"SUBSCRIBE", "a"}, other);
  allow();
}

TEST_F(AsRedis, the_self_test_of_processes_finds_the_same) {
  const Command test{"EVAL", std::string(redis::kSelfTestScript), "2", "p:{probe}:", "p:probe", "p:to:probe"};
  EXPECT_EQ(pair_.run(test), "*0\r\n");
  std::vector<std::string> commands(redis::kScriptCommands.begin(), redis::kScriptCommands.end());
  for (const std::string& command : commands) {
    SCOPED_TRACE(command);
    pair_.real().run({"ACL", "SETUSER", "default", "-" + command});
    pair_.model().deny(command.substr(0, command.find('|')));
    const std::string found = command == "set" ? "*4\r\n" : "*2\r\n";  // SET is reported under two keys
    EXPECT_TRUE(pair_.run(test).starts_with(found)) << "itself, and nothing else";
    pair_.real().run({"ACL", "SETUSER", "default", "+@all"});
    pair_.model().allow_all();
  }
  EXPECT_EQ(pair_.run(test), "*0\r\n");
}

TEST_F(AsRedis, messages_reach_whoever_subscribed) {
  const auto first = pair_.connect(), second = pair_.connect();
  pair_.run({"SUBSCRIBE", "a"}, first);
  pair_.run({"SUBSCRIBE", "a"}, second);
  pair_.run({"SUBSCRIBE", "b"}, second);
  pair_.run({"SUBSCRIBE", "b"}, second);
  EXPECT_EQ(pair_.run({"PUBLISH", "a", "hello"}), ":2\r\n");
  EXPECT_EQ(pair_.heard(first), "*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$5\r\nhello\r\n");
  pair_.heard(second);
  EXPECT_EQ(eval("return {redis.call('PUBLISH', 'b', 'x'), redis.call('PUBLISH', 'c', 'y')}"), "*2\r\n:1\r\n:0\r\n");
  EXPECT_EQ(pair_.heard(first), "");
  EXPECT_NE(pair_.heard(second), "");
  pair_.run({"PUBSUB", "NUMSUB", "a", "b", "c"});
  for (const auto& command : std::vector<Command>{{"GET", "t"},
                                                  {"PING"},
                                                  {"PING", "x"},
                                                  {"PUBLISH", "a", "x"},
                                                  {"CLIENT", "ID"},
                                                  {"NONSENSE"},
                                                  {"SUBSCRIBE"}}) {
    pair_.run(command, first);
  }
  pair_.run({"UNSUBSCRIBE", "none"}, first);
  pair_.run({"UNSUBSCRIBE"}, first);
  pair_.run({"UNSUBSCRIBE"}, first);
  pair_.run({"GET", "t"}, first);
  EXPECT_EQ(pair_.run({"PUBLISH", "a", "hello"}), ":1\r\n");
}

TEST_F(AsRedis, bytes_may_come_in_any_pieces) {
  const auto whole = pair_.connect();
  pair_.tell({"*1\r\n$4\r\nPI", "NG\r", "\n*2\r\n$4\r\nPING\r\n$", "3\r\na\r\n\r\n*0\r\n\r\nPING\r\nPING  x \r\n"},
             whole);
  pair_.tell({"*1\r\n$4\r\nPING\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n*2\r\n$3\r\nGET\r\n$1\r\nk\r\n"}, whole);
  for (const char* nonsense : {"*x\r\n", "*1\r\nx\r\n", "*1\r\n$x\r\n", "*1\r\n$-1\r\n", "*1\r\n$536870913\r\n",
                               "*1\r\n$4\r\nQUIT\r\n*1\r\n$4\r\nPING\r\n"}) {
    pair_.tell({nonsense}, pair_.connect());
  }
}

TEST_F(AsRedis, connections_have_a_database_and_a_password) {
  for (const char* number : {"1", "15", "16", "-1", "x", "0"}) {
    pair_.run({"SELECT", number});
    pair_.run({"SET", "k", number});
  }
  pair_.run({"EVAL", "redis.call('SELECT', 3) return redis.call('SET', 'only', 'there')", "0"});
  EXPECT_EQ(pair_.run({"GET", "only"}), "$-1\r\n");
  pair_.run({"SELECT", "3"});
  EXPECT_EQ(pair_.run({"GET", "only"}), "$5\r\nthere\r\n");
  pair_.run({"AUTH", "x"});
  pair_.run({"AUTH", "default", "x"});
  pair_.run({"AUTH", "nobody", "x"});
  pair_.real().run({"ACL", "SETUSER", "default", ">secret"});
  pair_.model().require("default", "secret");
  const auto stranger = pair_.connect();
  for (const auto& command : std::vector<Command>{{"GET", "k"},
                                                  {"NONSENSE"},
                                                  {"GET"},
                                                  {"PING"},
                                                  {"AUTH", "wrong"},
                                                  {"AUTH", "nobody", "secret"},
                                                  {"AUTH", "a", "b", "c"},
                                                  {"AUTH", "secret"},
                                                  {"GET", "k"}}) {
    pair_.run(command, stranger);
  }
  const auto another = pair_.connect();
  EXPECT_EQ(pair_.run({"AUTH", "default", "secret"}, another), "+OK\r\n");
}

}  // namespace
}  // namespace penstock::simulation
