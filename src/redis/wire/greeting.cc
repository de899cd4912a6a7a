// SPDX-License-Identifier: Apache-2.0
// See greeting.h. INFO may be refused: then it stays unknown which server answers.
#include "redis/wire/greeting.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

#include "redis/wire/command.h"
#include "redis/wire/self_test.h"

namespace penstock::redis {

namespace {

constexpr std::string_view kOfCluster = "c-";  // lua/begin.lua knows it
constexpr std::size_t kIdSize = 16;            // 64 bits of an id tell servers apart
constexpr int kOldest = 5;                     // before, no script may write once it has read the clock
constexpr std::size_t kLongestVersion = 32;

/// A server that does not say its version is tried.
bool is_too_old(std::string_view version) {
  int major = kOldest;
  std::from_chars(version.data(), version.data() + version.size(), major);
  return major < kOldest;
}

/// The server's id becomes part of keys' values, so only characters that Redis uses in ids are accepted.
std::string_view id_in(std::string_view info) {
  auto id = field_of_info(info, "run_id");
  if (id.empty()) id = field_of_info(info, "master_replid");
  id = id.substr(0, kIdSize);
  const auto is_plain = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-'; };
  return std::ranges::all_of(id, is_plain) ? id : std::string_view();
}

}  // namespace

std::string_view field_of_info(std::string_view info, std::string_view name) {
  while (!info.empty()) {
    const auto line = info.substr(0, info.find('\r'));
    if (line.starts_with(name) && line.substr(name.size()).starts_with(':')) return line.substr(name.size() + 1);
    info.remove_prefix(std::min(info.size(), line.size() + 2));
  }
  return {};
}

std::vector<std::string> Greeting::begin() {
  std::vector<std::string> commands;
  const auto say = [&](Said said, std::string bytes) {
    unanswered_.push_back(said);
    commands.push_back(std::move(bytes));
  };
  if (!config_.user.empty()) {
    say(Said::login, command({"AUTH", config_.user, config_.password}));
  } else if (!config_.password.empty()) {
    say(Said::login, command({"AUTH", config_.password}));
  }
  say(Said::info, command({"INFO", "server"}));
  const bool by_sentinel = config_.sentinel.has_value() && wanted_ == Server::redis;
  if (by_sentinel) say(Said::role, command({"INFO", "replication"}));
  if (config_.database != 0) say(Said::database, command({"SELECT", std::to_string(config_.database)}));
  say(Said::name, command({"CLIENT", "SETNAME", config_.prefix + ":" + std::to_string(::getpid())}));
  return commands;
}

std::expected<std::string, Failure> Greeting::next(const Outcome& outcome) {
  const Said said = unanswered_.front();
  unanswered_.pop_front();
  if (said == Said::info || said == Said::info_again) return take_info(said, outcome);
  if (said == Said::role) return check_role(outcome);
  if (!outcome && said != Said::name) return std::unexpected(outcome.error());
  return {};
}

/// If the server does not tell its own id, the replication id of its data is the next best.
std::expected<std::string, Failure> Greeting::take_info(Said said, const Outcome& outcome) {
  if (!outcome && !Refusals().note("info", outcome.error().text)) return std::unexpected(outcome.error());
  if (!outcome) {
    no_info_ = outcome.error().text;
    return {};
  }
  if (auto why = reason_unusable(outcome->text())) return std::unexpected(std::move(*why));
  if (wanted_ == Server::sentinel) return {};
  server_id_ = id_in(outcome->text());
  if (!config_.cluster.empty() && !server_id_.empty()) server_id_.insert(0, kOfCluster);
  if (said == Said::info_again || !server_id_.empty() || !wants_id_) return {};
  unanswered_.push_back(Said::info_again);
  return command({"INFO", "replication"});
}

std::optional<Failure> Greeting::reason_unusable(std::string_view info) const {
  const auto mode = field_of_info(info, "redis_mode"), version = field_of_info(info, "redis_version");
  if (is_too_old(version))
    return Failure{FailureKind::unsupported, "it is Redis " + std::string(version.substr(0, kLongestVersion)) +
                                                 ", and Penstock needs 5.0 or a " + "later one: replace it"};
  if (mode == "cluster" && config_.cluster.empty()) return failure_of_cluster();
  if (wanted_ == Server::sentinel && mode != "sentinel")
    return Failure{FailureKind::unsupported, "it is no Sentinel", Advice::no_sentinel};
  if (wanted_ == Server::redis && mode == "sentinel")
    return Failure{FailureKind::unsupported, "it is a Sentinel", Advice::sentinel};
  return std::nullopt;
}

/// A master that was demoted, or that its sentinels have not promoted yet, would grant what nobody else knows of.
std::expected<std::string, Failure> Greeting::check_role(const Outcome& outcome) const {
  const bool master = !outcome || field_of_info(outcome->text(), "role") == "master";
  if (!master)
    return std::unexpected(Failure{FailureKind::readonly, "it is a replica, though a sentinel calls it the master"});
  return {};
}

}  // namespace penstock::redis
