// SPDX-License-Identifier: Apache-2.0
// Going up and down, calling scripts by their digests, and notices that are kept rare.
#include "redis/client/redis.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "redis/client/scripts.h"

namespace penstock::redis {

namespace {

constexpr std::int64_t kBetweenReminders = 60'000'000;
constexpr std::int64_t kBetweenNotices = 10'000'000;  // for a Redis that comes and goes
constexpr std::int64_t kBetweenSuspicions = 1'000'000;
constexpr std::int64_t kBetweenTests = 10'000'000;  // while nothing is wrong
constexpr std::size_t kDigestSize = 40;

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
      digests_(scripts.size() + 1),
      down_since_(loop.now()),
      mailbox_(
          loop, resolver, network, config, {channel_of(config, who), channel_of(config, kAllProcesses)},
          [this](std::string_view payload) { events_.on_message(payload); },
          [this](const loop::Addresses& addresses) { events_.on_found(addresses); },
          [this](bool hears) { heard(hears); }, [this](const Failure& why) { unheard(why); }),
      backoff_(loop, network.draw(), [this] { dial(); }) {
  suspected_at_ = loop.now() - kBetweenSuspicions;
  digests_.back() = kSelfTestDigest;
  dial();
}

Redis::~Redis() = default;

// Coming up.

void Redis::dial() {
  connection_ = std::make_unique<Connection>(loop_, resolver_, network_, config_, Connection::For::commands, attempt_++,
                                             static_cast<ConnectionEvents&>(*this));
}

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
    if (!outcome) return connection_->end(outcome.error());
    if (outcome->text().size() != kDigestSize)
      return connection_->end({FailureKind::protocol, "it does not load scripts"});
    digests_[script] = outcome->text();
  };
  send({.command = command({"SCRIPT", "LOAD", text_of(script)}), .done = std::move(loaded)});
}

/// What counts is that everything scripts do is possible. PING would not tell: a replica, a Redis whose memory or disk
/// is full, and one whose user may call next to nothing all answer it.
void Redis::test() {
  testing_ = true;
  tested_at_ = loop_.now();
  const std::string key = config_.prefix + ":{probe}:", outside = config_.prefix + ":probe";
  send({.command = command({"EVALSHA", digests_.back(), "2", key, outside, channel_of(config_, "probe")}),
        .done = [this](const Outcome& outcome, std::int64_t) { tested(outcome); },
        .script = scripts_.size()});
}

void Redis::tested(const Outcome& outcome) {
  testing_ = false;
  if (connection_->ended()) return;
  Refusals found;
  if (!outcome) {
    if (!found.note("evalsha", outcome.error().text)) return connection_->end(outcome.error());
  } else if (outcome->kind() != Reply::Kind::array) {
    return connection_->end({FailureKind::protocol, "it does not run scripts"});
  } else {
    for (auto words = outcome->elements(); words.left() > 0;) {
      const auto called = words.next().text(), why = words.next().text();
      if (!found.note(called, why)) return connection_->end(failure_of(why));
    }
  }
  if (!connection_->no_info().empty()) found.note("info", connection_->no_info());
  if (found.stop_scripts()) return give_up(found);
  refused_ = found;
  if (!up_) return come_up();
  messages_changed();
}

/// An error reply says that something is refused or unknown. The self-test finds out whether this concerns one call
/// only or all of them.
void Redis::suspect(const Call& call, FailureKind kind) {
  const bool may_be = kind == FailureKind::noperm || kind == FailureKind::error;
  if (!may_be || call.script == scripts_.size() || !up_ || testing_) return;
  if (loop_.now() - suspected_at_ < kBetweenSuspicions) return;
  suspected_at_ = loop_.now();
  test();
}

void Redis::give_up(const Refusals& found) {
  refused_ = found;
  connection_->end({FailureKind::noperm, found.text(config_)});
}

void Redis::tick(bool in_use) {
  if (!up_ || testing_) return;
  if (refused_.stop_messages() || (in_use && loop_.now() - tested_at_ >= kBetweenTests)) test();
}

void Redis::come_up() {
  up_ = true;
  backoff_.succeeded();
  told_that_they_come_ = messages_come();
  mailbox_.open();
  tell_up();
  down_since_.reset();
  events_.on_up();
  messages_changed();
}

// Messages.

void Redis::heard(bool hears) {
  if (hears) {
    subscribed_ = true;
    unheard_ = {};
  }
  events_.on_hears(hears);
  if (hears) messages_changed();
}

void Redis::unheard(const Failure& why) {
  if (!unheard_.note("subscribe", why.text)) return;
  subscribed_ = false;
  messages_changed();
}

Refusals Redis::all_refused() const {
  Refusals all = refused_;
  all.add(unheard_);
  return all;
}

/// Reports changes once both connections have been tried.
void Redis::messages_changed() {
  if (!up_ || !subscribed_) return;
  const auto refused = all_refused();
  if (refused != told_refusals_) {
    told_refusals_ = refused;
    tell_refusals();
  }
  const bool come = messages_come();
  if (std::exchange(told_that_they_come_, come) != come) events_.on_messages(come);
}

void Redis::tell_refusals() {
  const std::string whose = "Redis at " + place_ + ": ";
  if (told_refusals_.none()) return notices_({LogLevel::info, whose + "nothing is refused any more"});
  const std::string_view until = told_refusals_.stop_messages()
                                     ? ". Until then limits of upstreams with a semaphore or a counter go by whenDown"
                                     : ". Until then each new semaphore waits for half a lease, and what Redis has "
                                       "forgotten is not noticed as surely";
  notices_({LogLevel::warn, whose + told_refusals_.text(config_) + std::string(until)});
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
  connection_->send(std::move(call));
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
  connection_->end(outcome.error());
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
  if (!down_since_) down_since_ = loop_.now();
  tell_down(why);
  backoff_.later();
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
