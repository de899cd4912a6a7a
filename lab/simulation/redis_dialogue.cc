// SPDX-License-Identifier: Apache-2.0
// Commands about the connection itself: the client, the server, scripts, channels.
#include <optional>
#include <string>
#include <vector>

#include "simulation/redis_node.h"

namespace penstock::simulation {

namespace {

using Own = void (RedisDialogue::*)(Words, Answer&);

struct OwnCommand {
  RedisCommand command;
  Own run;
};

constexpr unsigned kOnlyHere = RedisCommand::kNotInScripts;

constexpr OwnCommand kOwn[]{
    {{"auth", -2, kOnlyHere | RedisCommand::kBeforeLogin, nullptr}, &RedisDialogue::auth},
    {{"quit", -1, kOnlyHere | RedisCommand::kBeforeLogin | RedisCommand::kWhileSubscribed, nullptr},
     &RedisDialogue::quit},
    {{"select", 2, RedisCommand::kReads, nullptr}, &RedisDialogue::select},
    {{"ping", -1, RedisCommand::kWhileSubscribed, nullptr}, &RedisDialogue::ping},
    {{"info", -1, RedisCommand::kReads, nullptr}, &RedisDialogue::info},
    {{"client", -2, kOnlyHere, nullptr, "id getname setname no-evict"}, &RedisDialogue::client},
    {{"cluster", -2, kOnlyHere, nullptr, "slots keyslot"}, &RedisDialogue::cluster},
    {{"asking", 1, kOnlyHere, nullptr}, &RedisDialogue::asking},
    {{"flushall", -1, RedisCommand::kWrites, nullptr}, &RedisDialogue::flushall},
    {{"script", -2, kOnlyHere, nullptr, "load exists flush"}, &RedisDialogue::script},
    {{"eval", -3, kOnlyHere, nullptr}, &RedisDialogue::eval},
    {{"evalsha", -3, kOnlyHere, nullptr}, &RedisDialogue::evalsha},
    {{"subscribe", -2, kOnlyHere | RedisCommand::kHasChannel | RedisCommand::kWhileSubscribed, nullptr},
     &RedisDialogue::subscribe},
    {{"unsubscribe", -1, kOnlyHere | RedisCommand::kWhileSubscribed, nullptr}, &RedisDialogue::unsubscribe},
};
constexpr std::size_t kCount = std::size(kOwn);

constexpr std::array<RedisCommand, kCount> only_commands() {
  std::array<RedisCommand, kCount> commands{};
  for (std::size_t i = 0; i < kCount; ++i) commands[i] = kOwn[i].command;
  return commands;
}
constexpr auto kOwnCommands = only_commands();

constexpr std::string_view kNoCluster = "ERR This instance has cluster support disabled";

std::string wrong_count(std::string_view command) {
  return "ERR wrong number of arguments for '" + std::string(command) + "' command";
}

}  // namespace

RedisCommands connection_commands() { return kOwnCommands; }

void RedisDialogue::run(const RedisCommand& command, Words words, Answer& answer) {
  (this->*kOwn[&command - kOwnCommands.data()].run)(words, answer);
}

void RedisDialogue::auth(Words words, Answer& answer) {
  if (words.size() > 3) return answer.error("ERR syntax error");
  const bool names_user = words.size() == 3;
  if (!names_user && !node.has_password()) {
    return answer.error(
        "ERR AUTH <password> called without any password configured for the default user. Are you sure your "
        "configuration is correct?");
  }
  const auto user = names_user ? words[1] : std::string_view("default");
  const bool known = user == node.user_ && (!node.has_password() || words.back() == node.password_);
  if (!known) return answer.error("WRONGPASS invalid username-password pair or user is disabled.");
  peer.let_in = true;
  answer.ok();
}

void RedisDialogue::select(Words words, Answer& answer) {
  const auto number = integer_word(words[1], answer);
  if (!number) return;
  if (*number < 0 || *number >= static_cast<std::int64_t>(RedisNode::kDatabases)) {
    return answer.error("ERR DB index is out of range");
  }
  peer.database = static_cast<std::size_t>(*number);
  answer.ok();
}

void RedisDialogue::ping(Words words, Answer& answer) {
  if (words.size() > 2) return answer.error(wrong_count("ping"));
  if (!node.script_of_ && node.channels_.count(peer.id) > 0) {
    const std::string_view told[] = {"pong", words.size() == 2 ? words[1] : ""};
    return answer.texts(told);
  }
  if (words.size() == 2) return answer.text(words[1]);
  answer.status("PONG");
}

/// What Penstock's client reads, and what people look for.
void RedisDialogue::info(Words, Answer& answer) {
  answer.text(std::string("# Server\r\nredis_version:7.0.15\r\nredis_mode:") +
              (node.slots_ ? "cluster" : "standalone") + "\r\nrun_id:" + node.run_id_ +
              "\r\n\r\n# Replication\r\nrole:" + (node.refusals_.writes.starts_with("READONLY") ? "slave" : "master") +
              "\r\n");
}

/// The subcommands that need to do nothing.
void RedisDialogue::client(Words words, Answer& answer) {
  if (same_word(words[1], "id")) return answer.integer(static_cast<std::int64_t>(peer.id));
  if (same_word(words[1], "getname")) return peer.name.empty() ? answer.nil() : answer.text(peer.name);
  if (same_word(words[1], "setname") && words.size() == 3) {
    peer.name = words[2];
    return answer.ok();
  }
  if (same_word(words[1], "no-evict") && words.size() == 3) return answer.ok();
  answer.error(wrong_count("client|" + lowered(words[1])));
}

void RedisDialogue::cluster(Words words, Answer& answer) {
  if (!node.slots_) return answer.error(kNoCluster);
  if (same_word(words[1], "slots") && words.size() == 2) return node.slots_->tell(answer);
  if (same_word(words[1], "keyslot") && words.size() == 3) return answer.integer(RedisSlots::slot_of(words[2]));
  answer.error(wrong_count("cluster|" + lowered(words[1])));
}

void RedisDialogue::asking(Words, Answer& answer) {
  if (!node.slots_) return answer.error(kNoCluster);
  peer.asking = true;
  answer.ok();
}

void RedisDialogue::quit(Words, Answer& answer) {
  peer.leaves = true;
  answer.ok();
}

void RedisDialogue::flushall(Words, Answer& answer) {
  for (auto& keys : node.databases_) keys.clear();
  answer.ok();
}

// Scripts.

void RedisDialogue::script(Words words, Answer& answer) {
  if (same_word(words[1], "load")) {
    if (words.size() != 3) return answer.error(wrong_count("script|load"));
    const std::string digest = node.scripts_.load(words[2], answer);
    return digest.empty() ? void() : answer.text(digest);
  }
  if (same_word(words[1], "exists")) {
    answer.array(words.size() - 2);
    for (const auto digest : words.subspan(2)) answer.integer(node.scripts_.knows(digest));
    return;
  }
  node.scripts_.forget_all();
  answer.ok();
}

void RedisDialogue::eval(Words words, Answer& answer) {
  const std::string digest = node.scripts_.load(words[1], answer);
  if (!digest.empty()) call_script(digest, words, answer);
}

void RedisDialogue::evalsha(Words words, Answer& answer) { call_script(words[1], words, answer); }

void RedisDialogue::call_script(std::string_view digest, Words words, Answer& answer) {
  const auto given = words.subspan(3);
  const auto count = integer_word(words[2], answer);
  if (!count) return;
  if (*count > static_cast<std::int64_t>(given.size())) {
    return answer.error("ERR Number of keys can't be greater than number of args");
  }
  if (*count < 0) return answer.error("ERR Number of keys can't be negative");
  const auto keys = static_cast<std::size_t>(*count);
  node.now_ = node.clock_();
  node.script_of_ = &peer;
  node.script_has_written_ = false;
  const auto database = peer.database;
  const bool known = node.scripts_.run(digest, given.first(keys), given.subspan(keys), answer);
  peer.database = database;
  node.script_of_ = nullptr;
  if (!known) return answer.error("NOSCRIPT No matching script. Please use EVAL.");
  ++node.scripts_called_;
}

// Channels: each channel gets an answer of its own.

void RedisDialogue::subscribe(Words words, Answer& answer) {
  for (const auto channel : words.subspan(1)) {
    node.channels_.subscribe(peer.id, channel);
    answer.array(3);
    answer.text("subscribe");
    answer.text(channel);
    answer.integer(static_cast<std::int64_t>(node.channels_.count(peer.id)));
  }
}

void RedisDialogue::unsubscribe(Words words, Answer& answer) {
  const auto left = [&](const std::string_view* channel) {
    answer.array(3);
    answer.text("unsubscribe");
    if (channel) {
      answer.text(*channel);
    } else {
      answer.nil();
    }
    answer.integer(static_cast<std::int64_t>(node.channels_.count(peer.id)));
  };
  const std::vector<std::string> all =
      words.size() > 1 ? std::vector<std::string>(words.begin() + 1, words.end()) : node.channels_.of(peer.id);
  for (const std::string_view channel : all) {
    node.channels_.unsubscribe(peer.id, channel);
    left(&channel);
  }
  if (all.empty()) left(nullptr);
}

}  // namespace penstock::simulation
