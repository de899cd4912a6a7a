// SPDX-License-Identifier: Apache-2.0
// Going up and down, and calling scripts by their digests.
#include "redis/client/redis.h"

#include <utility>

#include "redis/client/scripts.h"
#include "redis/wire/command.h"

namespace penstock::redis {

namespace {

constexpr std::size_t kDigestSize = 40;

}  // namespace

std::string channel_of(const RedisConfig& config, std::string_view who) {
  return config.prefix + ":to:" + std::string(who);
}

Redis::Redis(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
             std::span<const std::string_view> scripts, std::string_view who, RedisEvents& events, NoticeSink notices)
    : loop_(loop),
      config_(config),
      scripts_(scripts),
      events_(events),
      notices_(std::move(notices), place_of(config), loop.now()),
      digests_(scripts.size() + 1),
      self_test_(loop.now()),
      mailbox_(loop, resolver, network, config, {channel_of(config, who), channel_of(config, kAllProcesses)}, *this),
      session_(loop, resolver, network, config, Connection::For::commands, *this) {
  digests_.back() = kSelfTestDigest;
  session_.dial();
}

Redis::~Redis() = default;

// Coming up.

void Redis::on_ready() {
  for (std::size_t i = 0; i < digests_.size(); ++i) load(i);
  test();
}

/// The self-test comes after the caller's scripts.
std::string_view Redis::text_of(std::size_t script) const {
  return script == scripts_.size() ? kSelfTestScript : scripts_[script];
}

/// The reply to SCRIPT LOAD is the digest under which Redis knows the script.
void Redis::load(std::size_t script) {
  auto loaded = [this, script](const Outcome& outcome, std::int64_t) {
    Refusals found;
    if (!outcome && found.note("script|load", outcome.error().text)) return give_up(found);
    if (!outcome) return session_.end(outcome.error());
    if (outcome->text().size() != kDigestSize) return session_.end({FailureKind::protocol, "it does not load scripts"});
    digests_[script] = outcome->text();
  };
  send({.command = command({"SCRIPT", "LOAD", text_of(script)}), .done = std::move(loaded)});
}

/// What counts is that everything scripts do is possible. PING would not tell: a replica, a Redis whose memory or disk
/// is full, and one whose user may call next to nothing all answer it.
void Redis::test() {
  self_test_.begin(loop_.now());
  const std::string key = config_.prefix + ":{probe}:", outside = config_.prefix + ":probe";
  send({.command = command({"EVALSHA", digests_.back(), "2", key, outside, channel_of(config_, "probe")}),
        .done = [this](const Outcome& outcome, std::int64_t) { tested(outcome); },
        .script = scripts_.size()});
}

void Redis::tested(const Outcome& outcome) {
  self_test_.end();
  if (session_.ended()) return;
  Refusals found;
  if (!outcome) {
    if (!found.note("evalsha", outcome.error().text)) return session_.end(outcome.error());
  } else if (outcome->kind() != Reply::Kind::array) {
    return session_.end({FailureKind::protocol, "it does not run scripts"});
  } else {
    for (auto words = outcome->elements(); words.left() > 0;) {
      const auto called = words.next().text(), why = words.next().text();
      if (!found.note(called, why)) return session_.end(failure_of(why));
    }
  }
  if (const auto& no_info = session_.greeting().no_info(); !no_info.empty()) found.note("info", no_info);
  if (found.stop_scripts()) return give_up(found);
  rights_.tested(found);
  if (!up_) return come_up();
  tell_news();
}

/// An error reply says that something is refused or unknown. The self-test finds out whether this concerns one call
/// only or all of them.
void Redis::suspect(const Call& call, FailureKind kind) {
  const bool may_be = kind == FailureKind::noperm || kind == FailureKind::error;
  if (!may_be || call.script == scripts_.size() || !up_) return;
  if (self_test_.suspect(loop_.now())) test();
}

void Redis::give_up(const Refusals& found) {
  rights_.tested(found);
  session_.end({FailureKind::noperm, found.text(config_)});
}

void Redis::tick(bool in_use) {
  if (!up_ || self_test_.running()) return;
  if (!rights_.messages_pass_the_test() || (in_use && self_test_.is_due(loop_.now()))) test();
}

void Redis::come_up() {
  up_ = true;
  session_.works();
  rights_.messages_told();
  mailbox_.open();
  notices_.up(loop_.now());
  events_.on_up();
  tell_news();
}

// Messages.

void Redis::on_hears(bool hears) {
  if (hears) rights_.subscribed();
  events_.on_hears(hears);
  if (hears) tell_news();
}

void Redis::on_subscribe_failed(const Failure& why) {
  if (rights_.subscribe_failed(why.text)) tell_news();
}

void Redis::tell_news() {
  if (!up_) return;
  const auto [refused, messages_come] = rights_.take_news();
  if (refused && refused->none()) {
    notices_.say(LogLevel::info, "nothing is refused any more");
  } else if (refused) {
    const std::string_view until = refused->stop_messages()
                                       ? ". Until then limits of upstreams with a semaphore or a counter go by whenDown"
                                       : ". Until then each new semaphore waits for half a lease, and what Redis has "
                                         "forgotten is not noticed as surely";
    notices_.say(LogLevel::warn, refused->text(config_) + std::string(until));
  }
  if (messages_come) events_.on_messages(*messages_come);
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
  if (up_) send({.command = command({"PUBLISH", channel_of(config_, kAllProcesses), payload}), .done = nothing});
}

void Redis::send(Call call) {
  ++counts_.calls;
  session_.send(std::move(call));
}

void Redis::count(FailureKind kind) {
  ++counts_.errors[static_cast<std::size_t>(kind)];
  events_.on_failure(kind);
}

void Redis::on_reply(Call call, const Outcome& outcome) {
  events_.on_round_trip(loop_.now() - call.sent);
  if (repeat(call, outcome)) return;
  if (outcome || !is_outage(outcome.error().kind)) {
    if (!outcome && up_) {
      count(outcome.error().kind);
      suspect(call, outcome.error().kind);
    }
    return call.done(outcome, call.sent);
  }
  session_.end(outcome.error());
  call.done(outcome, call.sent);
}

/// A script that Redis has forgotten was not executed: it is loaded and called once more.
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
  notices_.down(loop_.now(), why.text);
  session_.dial_later();
  mailbox_.close();
  if (std::exchange(up_, false)) events_.on_down();
  const Outcome none = std::unexpected(why);
  for (auto& call : unanswered) {
    if (call.script) call.done(none, call.sent);
  }
}

}  // namespace penstock::redis
