// SPDX-License-Identifier: Apache-2.0
// Up and down, scripts by their digests, and few words about it.
#include "redis/redis.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace penstock::redis {

namespace {

constexpr std::int64_t kBetweenReminders = 60'000'000;
constexpr std::int64_t kBetweenNotices = 10'000'000;  // of one that comes and goes
constexpr std::size_t kDigestSize = 40;
constexpr std::string_view kAll = "all";

}  // namespace

std::string channel_of(const RedisConfig& config, std::string_view who) {
  return config.prefix + ":to:" + std::string(who);
}

Redis::Redis(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
             std::span<const std::string_view> scripts, std::string_view who, RedisEvents& events, NoticeSink notices)
    : loop_(loop),
      resolver_(resolver),
      network_(network),
      config_(config),
      scripts_(scripts),
      events_(events),
      notices_(std::move(notices)),
      place_(place_of(config)),
      digests_(scripts.size()),
      down_since_(loop.now()),
      mailbox_(
          loop, resolver, network, config, {channel_of(config, who), channel_of(config, kAll)},
          [this](std::string_view payload) { events_.on_message(payload); },
          [this](const loop::Addresses& addresses) { events_.on_found(addresses); }),
      redial_(loop, network.draw(), [this] { dial(); }) {
  dial();
}

Redis::~Redis() = default;

// Coming up.

void Redis::dial() {
  link_ = std::make_unique<Link>(loop_, resolver_, network_, config_, Link::For::commands, attempt_++,
                                 static_cast<LinkEvents&>(*this));
}

void Redis::on_ready() {
  for (std::size_t i = 0; i < scripts_.size(); ++i) load(i);
  probe();
}

/// Redis itself says by which digest it will know the script.
void Redis::load(std::size_t script) {
  auto loaded = [this, script](const Outcome& outcome, std::int64_t) {
    if (!outcome) return link_->end(outcome.error());
    if (outcome->text().size() != kDigestSize) return link_->end({FailureKind::protocol, "it does not load scripts"});
    digests_[script] = outcome->text();
  };
  send({.command = command({"SCRIPT", "LOAD", scripts_[script]}), .done = std::move(loaded)});
}

/// Being able to write is what counts: a replica, or one whose memory or disk is full, answers PING.
void Redis::probe() {
  auto written = [this](const Outcome& outcome, std::int64_t) {
    if (!outcome) return link_->end(outcome.error());
    come_up();
  };
  send({.command = command({"SET", config_.prefix + ":probe", "1", "PX", "1000"}), .done = std::move(written)});
}

void Redis::come_up() {
  up_ = true;
  redial_.succeeded();
  mailbox_.open();
  tell_up();
  down_since_.reset();
  events_.on_up();
}

// Calls.

bool Redis::call(std::size_t script, std::span<const std::string_view> keys,
                 std::span<const std::string_view> arguments, Call::Done done) {
  if (!up_) return false;
  Call call{.done = std::move(done), .script = script};
  begin_command(call.command, 3 + keys.size() + arguments.size());
  add_word(call.command, "EVALSHA");
  add_word(call.command, digests_[script]);
  add_word(call.command, std::to_string(keys.size()));
  for (const auto key : keys) add_word(call.command, key);
  for (const auto argument : arguments) add_word(call.command, argument);
  send(std::move(call));
  return true;
}

bool Redis::agree(std::string_view key, std::string_view text, Call::Done done) {
  if (!up_) return false;
  send({.command = command({"SET", key, text, "NX"}), .done = [](const Outcome&, std::int64_t) {}});
  send({.command = command({"GET", key}), .done = std::move(done)});
  return true;
}

void Redis::publish_to_all(std::string_view payload) {
  const auto nothing = [](const Outcome&, std::int64_t) {};
  if (up_) send({.command = command({"PUBLISH", channel_of(config_, kAll), payload}), .done = nothing});
}

void Redis::send(Call call) {
  ++counts_.calls;
  link_->send(std::move(call));
}

void Redis::count(FailureKind kind) {
  ++counts_.errors[static_cast<std::size_t>(kind)];
  events_.on_failure(kind);
}

void Redis::on_reply(Call call, const Outcome& outcome) {
  events_.on_round_trip(loop_.now() - call.sent);
  if (repeat(call, outcome)) return;
  if (outcome || !is_outage(outcome.error().kind)) {
    if (!outcome) count(outcome.error().kind);
    return call.done(outcome, call.sent);
  }
  link_->end(outcome.error());
  call.done(outcome, call.sent);
}

/// A script that Redis has forgotten was not executed: it is loaded, and called once more.
bool Redis::repeat(Call& call, const Outcome& outcome) {
  if (outcome || outcome.error().kind != FailureKind::noscript || !call.script) return false;
  if (std::exchange(call.repeated, true)) return false;
  load(*call.script);
  send(std::move(call));
  return true;
}

// Going down.

void Redis::on_ended(const Failure& why, std::deque<Call> unanswered) {
  count(why.kind);
  if (!down_since_) down_since_ = loop_.now();
  tell_down(why);
  redial_.later();
  mailbox_.close();
  if (std::exchange(up_, false)) events_.on_down();
  const Outcome none = std::unexpected(why);
  for (auto& call : unanswered) {
    if (call.script) call.done(none, call.sent);
  }
}

void Redis::tell_down(const Failure& why) {
  const auto now = loop_.now();
  const auto enough = told_up_ ? kBetweenNotices : kBetweenReminders;
  if (told_down_ && now - *told_down_ < enough) return;
  told_down_ = now;
  told_up_ = false;
  notices_({LogLevel::warn, "Redis at " + place_ + " is down: " + why.text});
}

void Redis::tell_up() {
  if (std::exchange(told_up_, true)) return;
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f", static_cast<double>(loop_.now() - *down_since_) / 1e6);
  notices_({LogLevel::info, "Redis at " + place_ + " is up again, after " + seconds + " s"});
}

}  // namespace penstock::redis
