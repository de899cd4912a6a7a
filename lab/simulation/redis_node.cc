// SPDX-License-Identifier: Apache-2.0
// Which commands are refused, in the order of Redis' checks, and with its error texts.
#include "simulation/redis_node.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace penstock::simulation {

namespace {

constexpr std::size_t kShownArguments = 128;  // bytes
constexpr std::string_view kShortOfMemory = "OOM command not allowed when used memory > 'maxmemory'.";
constexpr std::string_view kKeys = "keys", kChannels = "channels";

std::string unknown(Words words) {
  std::string text =
      "ERR unknown command '" + std::string(words[0].substr(0, kShownArguments)) + "', with args beginning with: ";
  std::string arguments;
  for (std::size_t i = 1; i < words.size() && arguments.size() < kShownArguments; ++i) {
    arguments += "'" + std::string(words[i].substr(0, kShownArguments - arguments.size())) + "' ";
  }
  return text + arguments;
}

std::string unknown_part(const RedisCommand& command, std::string_view part) {
  std::string name(command.name);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  return "ERR unknown subcommand '" + std::string(part.substr(0, kShownArguments)) + "'. Try " + name + " HELP.";
}

std::string full_name(const RedisCommand& command, Words words) {
  std::string name(command.name);
  return !command.parts.empty() && words.size() > 1 ? name + "|" + lowered(words[1]) : name;
}

bool calls_script_with_keys(const RedisCommand& command, Words words) {
  return command.name.starts_with("eval") && words.size() > 2 && words[2] != "0";
}

/// By which a cluster chooses the node. A number of keys that makes no sense is complained of later.
Words keys_of(const RedisCommand& command, Words words) {
  if (command.is(RedisCommand::kHasKey)) return words.subspan(1, 1);
  if (!calls_script_with_keys(command, words)) return {};
  const auto count = redis_integer(words[2]).value_or(0);
  const bool possible = count > 0 && count <= static_cast<std::int64_t>(words.size()) - 3;
  return possible ? words.subspan(3, static_cast<std::size_t>(count)) : Words();
}

}  // namespace

RedisNode::RedisNode(Clock clock, std::string run_id, RedisChannels::Send send)
    : clock_(std::move(clock)), run_id_(std::move(run_id)), channels_(std::move(send)), scripts_(*this) {}

RedisKeys& RedisNode::keys(std::size_t database) {
  constexpr std::int64_t kMicroseconds = 1000;
  if (!script_of_) now_ = clock_();
  RedisKeys& keys = databases_.at(database);
  keys.set_now(now_ / kMicroseconds);
  return keys;
}

void RedisNode::execute(RedisPeer& peer, Words words, Answer& answer) {
  ++commands_;
  const RedisCommand* command = find_redis_command(words[0]);
  if (!command) return answer.error(unknown(words));
  if (words.size() > 1 && !command->has_part(words[1])) return answer.error(unknown_part(*command, words[1]));
  if (!command->takes(words.size())) {
    return answer.error("ERR wrong number of arguments for '" + std::string(command->name) + "' command");
  }
  const std::string refused = refusal(peer, *command, words);
  if (!refused.empty()) peer.asking = false;
  if (!refused.empty()) return answer.error(refused);
  if (command->name == "asking") return RedisDialogue{*this, peer}.run(*command, words, answer);
  run_for(peer, *command, words, answer);
  peer.asking = false;
}

void RedisNode::run_for(RedisPeer& peer, const RedisCommand& command, Words words, Answer& answer) {
  if (command.run) return run(command, peer.database, words, answer);
  RedisDialogue{*this, peer}.run(command, words, answer);
}

void RedisNode::run(const RedisCommand& command, std::size_t database, Words words, Answer& answer) {
  RedisReach reach{.keys = keys(database), .channels = channels_, .now = now_};
  command.run(reach, words, answer);
}

/// The error; empty: the command is not refused.
std::string RedisNode::refusal(const RedisPeer& peer, const RedisCommand& command, Words words) {
  using C = RedisCommand;
  if (!peer.let_in && !command.is(C::kBeforeLogin)) return "NOAUTH Authentication required.";
  if (!refusals_.denied.empty() && !command.is(C::kBeforeLogin)) {
    const std::string begin = "NOPERM this user has no permissions to ";
    const std::string name = full_name(command, words);
    if (refusals_.denies(command.name) || refusals_.denies(name)) return begin + "run the '" + name + "' command";
    const bool has_key = command.is(C::kHasKey) || calls_script_with_keys(command, words);
    if (has_key && refusals_.denies(kKeys)) return begin + "access one of the keys used as arguments";
    if (command.is(C::kHasChannel) && refusals_.denies(kChannels)) {
      return begin + "access one of the channels used as arguments";
    }
  }
  if (slots_) {
    std::string elsewhere = slots_->refusal(keys_of(command, words), peer.asking, keys(0));
    if (!elsewhere.empty()) return elsewhere;
  }
  if (refusals_.out_of_memory && command.is(C::kNeedsMemory)) return std::string(kShortOfMemory);
  if (!refusals_.writes.empty() && command.is(C::kWrites)) return refusals_.writes;
  if (channels_.count(peer.id) > 0 && !command.is(C::kWhileSubscribed)) {
    return "ERR Can't execute '" + full_name(command, words) +
           "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context";
  }
  const bool is_greeting = command.is(C::kBeforeLogin) || command.name == "info" || command.name == "select";
  return is_greeting ? std::string() : refusals_.all;
}

void RedisNode::call_from_script(Words words, Answer& answer) {
  const RedisCommand* command = find_redis_command(words[0]);
  const bool known = command && (words.size() == 1 || command->has_part(words[1]));
  if (!known) return answer.error("ERR Unknown Redis command called from script");
  if (!command->takes(words.size())) return answer.error("ERR Wrong number of args calling Redis command from script");
  if (const auto refused = refusal_to_script(*command, words); !refused.empty()) return answer.error(refused);
  if (command->is(RedisCommand::kWrites)) script_has_written_ = true;
  if (command->run) return run(*command, script_of_->database, words, answer);
  RedisDialogue{*this, *script_of_}.run(*command, words, answer);
}

std::string_view RedisNode::refusal_to_script(const RedisCommand& command, Words words) {
  using C = RedisCommand;
  if (command.is(C::kNotInScripts)) return "ERR This Redis command is not allowed from script";
  if (!refusals_.denied.empty()) {
    if (refusals_.denies(command.name)) {
      return "ERR The user executing the script can't run this command or subcommand";
    }
    if (command.is(C::kHasKey) && refusals_.denies(kKeys)) {
      return "ERR The user executing the script can't access at least one of the keys mentioned in the command "
             "arguments";
    }
    if (command.is(C::kHasChannel) && refusals_.denies(kChannels)) {
      return "ERR The user executing the script can't publish to the channel mentioned in the command";
    }
  }
  if (!refusals_.writes.empty() && command.is(C::kWrites)) return refusals_.writes;
  if (refusals_.out_of_memory && command.is(C::kNeedsMemory) && !script_has_written_) return kShortOfMemory;
  if (slots_ && command.is(C::kHasKey)) return slots_->refusal_to_script(words[1], script_of_->asking, keys(0));
  return {};
}

}  // namespace penstock::simulation
