// SPDX-License-Identifier: Apache-2.0
// What Redis' user may not do, command by command, on a real redis-server: found out before anything is shared, said in
// one line, and over when it is granted. And that nothing is forgotten of what is to be granted.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "redis/client/scripts.h"
#include "redis/redis_fixture.h"
#include "redis/wire/self_test.h"
#include "support/redis_server.h"

namespace penstock::redis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// The first group of each match.
std::set<std::string> all_in(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) found.insert((*at)[1]);
  return found;
}

std::string in_acl(std::string command) {
  std::ranges::transform(command, command.begin(), [](unsigned char c) { return std::tolower(c); });
  return command == "pubsub" ? "pubsub|numsub" : command;
}

TEST(SelfTest, tries_each_command_that_a_script_calls) {
  std::set<std::string> called;
  for (const auto& file : std::filesystem::directory_iterator(PENSTOCK_SOURCES "/lua")) {
    if (file.path().filename() == "self_test.lua") continue;
    const std::string lua = read_text(file.path());
    for (const auto& word : all_in(lua, R"(redis\.p?call\(([^,()]*))")) {
      ASSERT_TRUE(std::regex_match(word, std::regex("'[A-Z]+'"))) << file.path() << " calls " << word;
      called.insert(word.substr(1, word.size() - 2));
    }
  }
  EXPECT_GE(called.size(), 15u);
  EXPECT_EQ(all_in(std::string(kSelfTestScript), R"(\ntry\('([A-Z]+)')"), called);
  std::set<std::string> granted;
  for (const auto& command : called) granted.insert(in_acl(command));
  EXPECT_EQ(std::set<std::string>(kScriptCommands.begin(), kScriptCommands.end()), granted);
}

TEST(AclRules, stand_in_the_docs_as_they_are) {
  EXPECT_THAT(read_text(PENSTOCK_SOURCES "/docs/limits.md"),
              HasSubstr("ACL SETUSER penstock on >PASSWORD " + acl_rules(RedisConfig{})));
}

TEST(AclRules, are_of_the_prefix_and_of_the_database) {
  const std::string rules = acl_rules({.database = 3, .prefix = "shop"});
  EXPECT_THAT(rules, HasSubstr("~shop:* &shop:to:* "));
  EXPECT_THAT(rules, HasSubstr("+select"));
  EXPECT_THAT(acl_rules({}), Not(HasSubstr("+select")));
  EXPECT_THAT(acl_rules({}), Not(HasSubstr("+cluster")));
  EXPECT_THAT(acl_rules({.cluster = {{"r1", 6379}}}), HasSubstr("+asking +cluster|slots +del"));
}

/// As versions of Redis say it.
TEST(Refusals, are_read_from_what_redis_says) {
  const RedisConfig config{.user = "me"};
  const auto lacks = [&](std::string_view command, std::string_view words) {
    Refusals refusals;
    EXPECT_TRUE(refusals.note(command, words)) << words;
    return refusals.missing(config);
  };
  EXPECT_THAT(
      lacks("TIME", "ERR The user executing the script can't run this command or subcommand script: 1, on @user"),
      ElementsAre("+time"));
  EXPECT_THAT(lacks("TIME", "NOPERM ACL failure in script: User me has no permissions to run the 'time' command"),
              ElementsAre("+time"));
  EXPECT_THAT(lacks("PUBSUB", "ERR Unknown Redis command called from script script: 1"), ElementsAre("+pubsub|numsub"));
  EXPECT_THAT(lacks("evalsha", "ERR unknown command 'EVALSHA', with args beginning with: "), ElementsAre("+evalsha"));
  EXPECT_THAT(lacks("GET",
                    "ERR The user executing the script can't access at least one of the keys mentioned in the "
                    "command arguments"),
              ElementsAre("~penstock:*"));
  EXPECT_THAT(
      lacks("PUBLISH", "ERR The user executing the script can't publish to the channel mentioned in the command"),
      ElementsAre("&penstock:to:*"));
  EXPECT_THAT(lacks("subscribe", "NOPERM this user has no permissions to access one of the channels used as arguments"),
              ElementsAre("&penstock:to:*"));
  Refusals none;
  for (const char* other :
       {"OOM command not allowed when used memory > 'maxmemory'.", "ERR syntax error",
        "READONLY You can't write against a read only replica.", "NOAUTH Authentication required."}) {
    EXPECT_FALSE(none.note("SET", other)) << other;
  }
  EXPECT_TRUE(none.none());
}

TEST(Refusals, are_told_in_one_line_with_what_grants_them) {
  Refusals refusals;
  refusals.note("TIME", "NOPERM");
  refusals.note("GET", "NOPERM");
  refusals.note("PUBLISH", "NOPERM no channel");
  EXPECT_EQ(refusals.text({.user = "me", .prefix = "shop"}),
            "its user me may not run GET, TIME nor use channels shop:to:*; to grant it: ACL SETUSER me &shop:to:* +get "
            "+time");
  Refusals renamed;
  renamed.note("evalsha", "ERR unknown command 'EVALSHA'");
  EXPECT_EQ(renamed.text({}), "it has no command named EVALSHA: it is too old, or rename-command took it away");
}

class RefusalsTest : public RedisFixture {
 protected:
  RefusalsTest() { config_.timeout = 2s; }  // nothing here is about a Redis that is late
  bool comes_to_say(const std::string& words) {
    return run_.run_until([&] {
      return std::ranges::any_of(notices_, [&](const Notice& notice) { return notice.text.find(words) != words.npos; });
    });
  }
  void may(std::string_view rule) { ASSERT_FALSE(server_.run({"ACL", "SETUSER", "default", rule}).is_error()) << rule; }

  test::RedisServer server_;
};

class RefusalsOfOptions : public RedisFixture {
 protected:
  RefusalsOfOptions() { config_.timeout = 2s; }
};

bool is_for_messages_or_knowledge(std::string_view command) {
  return command == "publish" || command == "subscribe" || command == "info" || command == "pubsub|numsub";
}

TEST_F(RefusalsTest, of_a_command_keep_it_down_until_it_is_granted) {
  std::vector<std::string> commands{"evalsha", "script|load"};
  commands.insert(commands.end(), kScriptCommands.begin(), kScriptCommands.end());
  for (const std::string& command : commands) {
    if (is_for_messages_or_knowledge(command)) continue;
    SCOPED_TRACE(command);
    notices_.clear();
    may("-" + command);
    open(server_.port());
    ASSERT_TRUE(comes_to_say("ACL SETUSER default +" + command));
    EXPECT_THAT(notices_, SizeIs(1)) << notices_.back().text;
    EXPECT_THAT(notices_[0].text, HasSubstr(" is down: its user default may not run "));
    EXPECT_FALSE(redis_->up());
    EXPECT_THAT(redis_->lacks(), ElementsAre("+" + command));
    EXPECT_GE(redis_->counts().of(FailureKind::noperm), 1u);
    may("+" + command);
    ASSERT_TRUE(comes_up());
    EXPECT_THAT(redis_->lacks(), IsEmpty());
    redis_.reset();
  }
}

TEST_F(RefusalsTest, of_several_commands_are_one_line) {
  for (const auto* rule : {"-time", "-publish", "-rpush"}) may(rule);
  open(server_.port());
  ASSERT_TRUE(comes_to_say("may not run PUBLISH, RPUSH, TIME; to grant it: ACL SETUSER default +publish +rpush +time"));
  EXPECT_THAT(notices_, SizeIs(1));
}

TEST_F(RefusalsTest, that_come_later_take_it_down) {
  open(server_.port());
  ASSERT_TRUE(comes_up());
  may("-time");
  may("-evalsha");
  EXPECT_EQ(answer_to(kEcho, {"x"}), "!noperm");
  ASSERT_TRUE(goes_down());
  ASSERT_TRUE(comes_to_say("may not run EVALSHA"));
  may("+evalsha");
  ASSERT_TRUE(run_.run_until([&] { return redis_->lacks() == std::vector<std::string>{"+time"}; }));
  may("+time");
  EXPECT_TRUE(comes_up());
}

TEST_F(RefusalsTest, of_keys_keep_it_down) {
  may("resetkeys");
  may("~another:*");
  open(server_.port());
  ASSERT_TRUE(comes_to_say("may not use keys penstock:*; to grant it: ACL SETUSER default ~penstock:*"));
  may("~penstock:*");
  EXPECT_TRUE(comes_up());
}

TEST_F(RefusalsTest, of_channels_are_told_and_calls_go_on) {
  may("resetchannels");
  open(server_.port());
  ASSERT_TRUE(
      comes_to_say("its user default may not use channels penstock:to:*; to grant it: ACL SETUSER default "
                   "&penstock:to:*"));
  EXPECT_THAT(notices_, SizeIs(1));
  EXPECT_TRUE(redis_->up());
  EXPECT_FALSE(redis_->messages_come());
  EXPECT_EQ(answer_to(kEcho, {"x"}), "x");
  redis_->publish_to_all("github lost");
  EXPECT_EQ(answer_to(kEcho, {"x"}), "x") << "a message that is refused does no harm";
  may("&penstock:to:*");
  ASSERT_TRUE(run_.run_until([&] {
    redis_->tick(false);
    return redis_->messages_come();
  }));
  EXPECT_THAT(messages_come_, ElementsAre(true));
  EXPECT_THAT(notices_.back().text, HasSubstr("nothing is refused any more"));
  EXPECT_EQ(downs_, 0);
}

TEST_F(RefusalsTest, of_one_way_of_messages_are_enough) {
  for (const std::string command : {"publish", "subscribe"}) {
    SCOPED_TRACE(command);
    notices_.clear();
    may("-" + command);
    open(server_.port());
    ASSERT_TRUE(comes_to_say("ACL SETUSER default +" + command));
    EXPECT_TRUE(redis_->up());
    EXPECT_FALSE(redis_->messages_come());
    EXPECT_THAT(notices_, SizeIs(1));
    may("+" + command);
    redis_.reset();
  }
}

TEST_F(RefusalsTest, of_channels_that_come_later_are_noticed) {
  open(server_.port());
  ASSERT_TRUE(run_.run_until([&] { return redis_->subscribed(); }));
  may("resetchannels");
  ASSERT_TRUE(run_.run_until([&] { return !redis_->messages_come(); }));
  EXPECT_THAT(messages_come_, ElementsAre(false));
  EXPECT_TRUE(redis_->up());
}

TEST_F(RefusalsTest, of_what_tells_what_redis_forgot_are_told) {
  may("-info");
  may("-pubsub");
  open(server_.port());
  ASSERT_TRUE(
      comes_to_say("may not run INFO, PUBSUB NUMSUB; to grant it: ACL SETUSER default +info +pubsub|numsub. Until"));
  EXPECT_TRUE(redis_->up());
  EXPECT_TRUE(redis_->messages_come());
}

TEST_F(RefusalsOfOptions, of_a_command_with_another_name_say_so) {
  for (const std::string command : {"EVALSHA", "TIME", "SCRIPT"}) {
    SCOPED_TRACE(command);
    const test::RedisServer server({"--rename-command", command, "X" + command});
    notices_.clear();
    open(server.port());
    ASSERT_TRUE(run_.run_until([&] { return !notices_.empty(); }));
    EXPECT_THAT(notices_[0].text, HasSubstr(" is down: it has no command named " + command));
    EXPECT_FALSE(redis_->up());
    redis_.reset();
  }
}

/// The rule of the docs is enough, and each word of it is needed.
TEST_F(RefusalsTest, need_no_more_than_the_rules_of_the_docs) {
  config_.user = "penstock";
  config_.password = "secret";
  std::vector<std::string> all{"ACL", "SETUSER", "penstock", "reset", "on", ">secret"}, rules;
  std::istringstream words(acl_rules(config_));
  for (std::string word; words >> word;) rules.push_back(word);
  const auto set = [&](std::string_view but) {
    std::vector<std::string_view> command(all.begin(), all.end());
    for (const auto& rule : rules) {
      if (rule != but) command.push_back(rule);
    }
    ASSERT_FALSE(server_.run(command).is_error());
  };
  set({});
  open(server_.port());
  ASSERT_TRUE(run_.run_until([&] { return redis_->up() && redis_->subscribed(); }));
  EXPECT_THAT(notices_, IsEmpty());
  redis_->publish_to_all("github line");
  EXPECT_TRUE(run_.run_until([&] { return !messages_.empty(); }));
  redis_.reset();
  for (const auto& rule : rules) {
    SCOPED_TRACE(rule);
    set(rule);
    open(server_.port());
    EXPECT_TRUE(run_.run_until([&] { return redis_->lacks() == std::vector<std::string>{rule}; }));
    redis_.reset();
  }
}

}  // namespace
}  // namespace penstock::redis
