// SPDX-License-Identifier: Apache-2.0
// Redis words a refusal differently in each version, and in scripts. A few words each are common to all.
#include "redis/wire/self_test.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace penstock::redis {

namespace {

enum class Refused { no, command, name, keys, channels };

Refused refused_by(std::string_view reply) {
  const auto says = [&](std::string_view words) { return reply.find(words) != std::string_view::npos; };
  if (says("unknown command") || says("Unknown Redis command")) return Refused::name;
  if (!reply.starts_with("NOPERM") && !says("The user executing the script can't")) return Refused::no;
  if (says(" channel")) return Refused::channels;
  if (says(" key")) return Refused::keys;
  return Refused::command;
}

std::string as_in_acl(std::string_view command) {
  std::string word(command);
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return c == ' ' ? '|' : std::tolower(c); });
  return word == "pubsub" ? "pubsub|numsub" : word;
}

std::string command_name(std::string word) {
  std::ranges::transform(word, word.begin(), [](unsigned char c) { return c == '|' ? ' ' : std::toupper(c); });
  return word;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string list_of(std::vector<std::string> commands) {
  for (auto& command : commands) command = command_name(std::move(command));
  return joined(commands);
}

void add_one(std::vector<std::string>& all, std::string word) {
  const auto place = std::ranges::lower_bound(all, word);
  if (place == all.end() || *place != word) all.insert(place, std::move(word));
}

std::string keys_of(const RedisConfig& config) { return config.prefix + ":*"; }
std::string channels_of(const RedisConfig& config) { return config.prefix + ":to:*"; }

constexpr std::string_view kForMessages[] = {"publish", "subscribe"};
/// Without these it is not known as surely what Redis has forgotten.
constexpr std::string_view kForKnowledge[] = {"info", "pubsub|numsub"};

bool scripts_need(const std::string& command) {
  return std::ranges::find(kForMessages, command) == std::end(kForMessages) &&
         std::ranges::find(kForKnowledge, command) == std::end(kForKnowledge);
}

}  // namespace

bool Refusals::note(std::string_view command, std::string_view error_reply) {
  switch (refused_by(error_reply)) {
    case Refused::no: return false;
    case Refused::command: add_one(denied_, as_in_acl(command)); break;
    case Refused::name: add_one(unknown_, as_in_acl(command)); break;
    case Refused::keys: keys_ = true; break;
    case Refused::channels: channels_ = true; break;
  }
  return true;
}

bool Refusals::note_subscribe(std::string_view channel, std::string_view error_reply) {
  if (refused_by(error_reply) != Refused::channels) return note("subscribe", error_reply);
  add_one(named_channels_, std::string(channel));
  return true;
}

void Refusals::add(const Refusals& more) {
  for (const auto& command : more.denied_) add_one(denied_, command);
  for (const auto& command : more.unknown_) add_one(unknown_, command);
  for (const auto& channel : more.named_channels_) add_one(named_channels_, channel);
  keys_ |= more.keys_;
  channels_ |= more.channels_;
}

bool Refusals::has(std::string_view command) const {
  return std::ranges::find(denied_, command) != denied_.end() || std::ranges::find(unknown_, command) != unknown_.end();
}

bool Refusals::stop_scripts() const {
  return keys_ || std::ranges::any_of(denied_, scripts_need) || std::ranges::any_of(unknown_, scripts_need);
}

bool Refusals::stop_messages() const {
  return channels_ || std::ranges::any_of(kForMessages, [this](auto command) { return has(command); });
}

std::string Refusals::text(const RedisConfig& config) const {
  const std::string user = config.user.empty() ? "default" : config.user;
  std::vector<std::string> may_not;
  if (!denied_.empty()) may_not.push_back("run " + list_of(denied_));
  if (keys_) may_not.push_back("use keys " + keys_of(config));
  if (channels_) may_not.push_back("use channels " + channels_of(config));
  if (!named_channels_.empty()) may_not.push_back("use channels " + joined(named_channels_));
  std::string text;
  for (const auto& one : may_not) text.append(text.empty() ? "its user " + user + " may not " : " nor ").append(one);
  if (!unknown_.empty())
    text += (text.empty() ? "" : "; ") + std::string("it has no command named ") + list_of(unknown_) +
            ": it is too old, or rename-command took " + (unknown_.size() == 1 ? "it" : "them") + " away";
  if (may_not.empty()) return text;
  text += "; to grant it: ACL SETUSER " + user;
  for (const auto& word : missing(config)) text += " " + word;
  return text;
}

std::vector<std::string> Refusals::missing(const RedisConfig& config) const {
  std::vector<std::string> words;
  if (keys_) words.push_back("~" + keys_of(config));
  if (channels_) words.push_back("&" + channels_of(config));
  for (const auto& channel : named_channels_) words.push_back("&" + channel);
  for (const auto& command : denied_) words.push_back("+" + command);
  for (const auto& command : unknown_) words.push_back("+" + command);
  return words;
}

std::string acl_rules(const RedisConfig& config) {
  std::vector<std::string> commands(kScriptCommands.begin(), kScriptCommands.end());
  for (const auto command : kOwnCommands) add_one(commands, std::string(command));
  if (config.database != 0) add_one(commands, "select");
  for (const auto* command : {"asking", "cluster|slots"}) {
    if (!config.cluster.empty()) add_one(commands, command);
  }
  std::string rules = "~" + keys_of(config) + " &" + channels_of(config);
  for (const auto& command : commands) rules += " +" + command;
  return rules;
}

}  // namespace penstock::redis
