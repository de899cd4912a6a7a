// SPDX-License-Identifier: Apache-2.0
// See greeting.h. INFO may be refused: then it stays unknown which server answers.
#include "redis/wire/greeting.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "redis/wire/command.h"
#include "redis/wire/self_test.h"

namespace penstock::redis {

namespace {

constexpr std::size_t kIdSize = 16;  // 64 bits of an id tell servers apart

/// The value of a field of INFO; empty: there is no such field.
std::string_view field_in(std::string_view info, std::string_view name) {
  while (!info.empty()) {
    const auto line = info.substr(0, info.find('\r'));
    if (line.starts_with(name) && line.substr(name.size()).starts_with(':')) return line.substr(name.size() + 1);
    info.remove_prefix(std::min(info.size(), line.size() + 2));
  }
  return {};
}

/// The server's id becomes part of keys' values, so only characters that Redis uses in ids are accepted.
std::string_view id_in(std::string_view info) {
  auto id = field_in(info, "run_id");
  if (id.empty()) id = field_in(info, "master_replid");
  id = id.substr(0, kIdSize);
  const auto is_plain = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-'; };
  return std::ranges::all_of(id, is_plain) ? id : std::string_view();
}

}  // namespace

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
  if (config_.database != 0) say(Said::database, command({"SELECT", std::to_string(config_.database)}));
  return commands;
}

std::expected<std::string, Failure> Greeting::next(const Outcome& outcome) {
  const Said said = unanswered_.front();
  unanswered_.pop_front();
  if (said == Said::info || said == Said::info_again) return informed(said, outcome);
  if (!outcome) return std::unexpected(outcome.error());
  return {};
}

/// If the server does not tell its own id, the replication id of its data is the next best.
std::expected<std::string, Failure> Greeting::informed(Said said, const Outcome& outcome) {
  if (!outcome && !Refusals().note("info", outcome.error().text)) return std::unexpected(outcome.error());
  if (!outcome) {
    no_info_ = outcome.error().text;
    return {};
  }
  const auto refuse = [](const char* why) { return std::unexpected(Failure{FailureKind::unsupported, why}); };
  const auto mode = field_in(outcome->text(), "redis_mode");
  if (mode == "sentinel") return refuse("a Redis Sentinel is not supported");
  if (mode == "cluster") return refuse("a Redis Cluster is not supported");
  server_id_ = id_in(outcome->text());
  if (said == Said::info_again || !server_id_.empty() || !wants_id_) return {};
  unanswered_.push_back(Said::info_again);
  return command({"INFO", "replication"});
}

}  // namespace penstock::redis
