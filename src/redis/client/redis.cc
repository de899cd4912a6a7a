// SPDX-License-Identifier: Apache-2.0
// Going up and down, and calling scripts by their digests.
#include "redis/client/redis.h"

#include <memory>
#include <utility>

#include "redis/client/scripts.h"
#include "redis/wire/command.h"

namespace penstock::redis {

namespace {

constexpr std::size_t kDigestSize = 40;

}  // namespace

std::string channel_of(const RedisConfig& config, std::string_view process) {
  return config.prefix + ":to:" + std::string(process);
}

Redis::Redis(loop::Loop& loop, loop::Resolver& resolver, Network& network, const RedisConfig& config,
             std::span<const std::string_view> scripts, std::string_view process, RedisEvents& events,
             NoticeSink notices, Neighbours* neighbours)
    : loop_(loop),
      config_(config),
      scripts_(scripts),
      events_(events),
      notices_(std::move(notices), place_of(config), loop.now()),
      neighbours_(neighbours),
      digests_(scripts.size() + 1),
      listens_(!neighbours),
      self_test_(loop.now()),
      mailbox_(loop, resolver, network, config, {channel_of(config, process), channel_of(config, kAllProcesses)},
               *this),
      session_(loop, resolver, network, config, Connection::For::commands, *this),
      master_watches_(loop, resolver, network, config, *this) {
  digests_.back() = kSelfTestDigest;
  session_.dial();
}

Redis::~Redis() = default;

// Coming up.

void Redis::on_ready() {
  for (std::size_t i = 0; i < digests_.size(); ++i) load(i);
  test();
}

/// The reply to SCRIPT LOAD is the digest under which Redis knows the script. The self-test comes after the caller's
/// scripts.
void Redis::load(std::size_t script) {
  auto loaded = [this, script](const Outcome& outcome, std::int64_t) {
    Refusals found;
    if (!outcome && found.note("script|load", outcome.error().text)) return give_up(found);
    if (!outcome) return session_.end(outcome.error());
    if (outcome->text().size() != kDigestSize) return session_.end({FailureKind::protocol, "it does not load scripts"});
    digests_[script] = outcome->text();
  };
  const auto text = script == scripts_.size() ? kSelfTestScript : scripts_[script];
  send({.command = command({"SCRIPT", "LOAD", text}), .done = std::move(loaded)});
}

/// What counts is that everything scripts do is possible. PING would not tell: a replica, a Redis whose memory or disk
/// is full, and one whose user may call next to nothing all answer it. ASKING comes first, since it concerns the next
/// command alone.
void Redis::test() {
  self_test_.begin(loop_.now());
  auto found = std::make_shared<Refusals>();
  if (neighbours_) {
    send({.command = command({"ASKING"}), .done = [found](const Outcome& outcome, std::int64_t) {
            if (!outcome) found->note("asking", outcome.error().text);
          }});
  }
  const std::string own = neighbours_ ? neighbours_->find_hash_tag(*this) : "";
  const std::string tag = own.empty() ? "{probe}" : own;
  const std::string key = config_.prefix + ":" + tag + ":",
                    outside = config_.prefix + ":" + (neighbours_ ? tag : "probe");
  send({.command = command({"EVALSHA", digests_.back(), "2", key, outside, channel_of(config_, "probe")}),
        .done = [this, found, has_slots = !neighbours_ || !own.empty()](
                    const Outcome& outcome, std::int64_t) { tested(outcome, std::move(*found), has_slots); },
        .script = scripts_.size()});
}

/// A node of a cluster that has no slot yet can run no script on a key, until ASK leads there. It says so only to a
/// user that may call scripts.
void Redis::tested(const Outcome& outcome, Refusals found, bool has_slots) {
  self_test_.end();
  if (session_.ended()) return;
  if (!outcome) {
    const bool is_elsewhere = is_of_one_slot(outcome.error().kind) && (up_ || !has_slots);  // the test's key
    if (is_elsewhere && up_ && found.none()) return;
    if (!is_elsewhere && !found.note("evalsha", outcome.error().text)) return session_.end(outcome.error());
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
  if (listens_) {
    mailbox_.open(session_.place());
  } else {
    rights_.subscribed();  // the node that listens finds out
  }
  rights_.messages_reported();
  notices_.up(loop_.now());
  events_.on_up();
  tell_news();
}

/// A sentinel that was cut off from the others, and is reached again, may tell of a master before the present one.
void Redis::on_master(const Place& place, std::size_t sentinel, std::optional<std::int64_t> epoch) {
  if (epoch && *epoch <= epoch_) return;
  epoch_ = epoch.value_or(epoch_ + 1);
  session_.master_is(place, sentinel);
}

std::vector<RedisNodeSnapshot> Redis::nodes() const {
  std::vector<RedisNodeSnapshot> all;
  const auto place = config_.sentinel ? session_.place() : place_in(config_);
  if (!place.host.empty() || !place.path.empty()) all.push_back({.name = to_string(place), .up = up_});
  for (auto& sentinel : master_watches_.nodes()) all.push_back(std::move(sentinel));
  return all;
}

// Messages.

void Redis::on_subscribed(bool subscribed) {
  if (subscribed) rights_.subscribed();
  events_.on_subscribed(subscribed);
  if (subscribed) tell_news();
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
  for (const auto& [level, text] : master_watches_.take_news()) notices_.say(level, text);
}

std::vector<std::string> Redis::lacks() const {
  auto all = rights_.refused().missing(config_);
  for (auto& rule : master_watches_.lacks()) all.push_back(std::move(rule));
  return all;
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

void Redis::forward(Call call) {
  call.asking = true;
  call.repeated = false;
  send(std::move(call));
}

void Redis::send(Call call) {
  ++counts_.calls;
  if (call.asking) session_.send({.command = command({"ASKING"}), .done = [](const Outcome&, std::int64_t) {}});
  session_.send(std::move(call));
}

void Redis::count(FailureKind kind) {
  ++counts_.errors[static_cast<std::size_t>(kind)];
  events_.on_failure(kind);
}

void Redis::on_reply(Call call, const Outcome& outcome) {
  events_.on_round_trip(loop_.now() - call.sent);
  if (repeat(call, outcome)) return;
  outcome ? call.done(outcome, call.sent) : failed(std::move(call), outcome.error());
}

/// An error reply may say that something is refused or unknown. The self-test finds out whether this concerns one call
/// only or all of them.
void Redis::failed(Call call, Failure why) {
  const bool is_test = call.script == scripts_.size();  // of this Redis, and of no other
  if (neighbours_ && up_ && !is_test && neighbours_->redirect(*this, call, why)) return;
  if (!neighbours_ && why.kind == FailureKind::moved) why = failure_of_cluster();
  if (is_outage(why.kind) || (!neighbours_ && is_of_one_slot(why.kind))) {
    session_.end(why);
  } else if (up_) {
    count(why.kind);
    const bool is_suspect = why.kind == FailureKind::noperm || why.kind == FailureKind::error;
    if (is_suspect && !is_test && self_test_.suspect(loop_.now())) test();
  }
  call.done(std::unexpected(why), call.sent);
}

/// A script that Redis has forgotten was not executed: it is loaded and called once more.
bool Redis::repeat(Call& call, const Outcome& outcome) {
  if (outcome || outcome.error().kind != FailureKind::noscript || !call.script) return false;
  if (std::exchange(call.repeated, true)) return false;
  load(*call.script);
  send(std::move(call));
  return true;
}

void Redis::set_listens(bool listens) {
  if (std::exchange(listens_, listens) == listens || !up_) return;
  listens ? mailbox_.open(session_.place()) : mailbox_.close();
}

// Going down.

void Redis::retire() {
  retired_ = true;
  notices_.no_longer_needed();
  session_.end({FailureKind::lost, "it is not needed any more"});
}

void Redis::on_ended(const Failure& why, std::deque<Call> unanswered) {
  if (!retired_) {
    count(why.kind);
    notices_.down(loop_.now(), why);
    session_.dial_later();
  }
  mailbox_.close();
  if (std::exchange(up_, false)) events_.on_down();
  const Outcome none = std::unexpected(why);
  for (auto& call : unanswered) {
    if (call.script) call.done(none, call.sent);
  }
}

}  // namespace penstock::redis
