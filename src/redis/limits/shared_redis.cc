// SPDX-License-Identifier: Apache-2.0
// Generation names, labels, presence, and whose memory Redis has.
#include "redis/limits/shared_redis.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>
#include <utility>

#include "flow/group_hash.h"
#include "flow/limiter.h"
#include "redis/client/make_servers.h"
#include "redis/client/scripts.h"

namespace penstock::redis {

namespace {

constexpr std::int64_t kPresence = 1'000'000;       // interval of what is said of this process (µs)
constexpr std::int64_t kMostProcesses = 1'000'000;  // a Redis that says more is wrong

std::string new_name(Network& network) {
  const auto digits = flow::GroupHash::digits_of(network.draw());
  return {digits.data(), digits.size()};
}

std::string text_of(const base::SipKey& key) {
  std::string text;
  for (const std::uint64_t half : {key.first, key.second}) {
    const auto digits = flow::GroupHash::digits_of(half);
    text.append(digits.data(), digits.size());
  }
  return text;
}

std::optional<base::SipKey> label_key_in(std::string_view text) {
  constexpr std::size_t kHalf = std::tuple_size_v<flow::GroupHash::Digits>;
  base::SipKey key;
  const auto read = [&](std::size_t at, std::uint64_t& into) {
    const char* const end = text.data() + at + kHalf;
    return std::from_chars(text.data() + at, end, into, 16).ptr == end;
  };
  const bool whole = text.size() == 2 * kHalf && read(0, key.first) && read(kHalf, key.second);
  return whole ? std::optional(key) : std::nullopt;
}

}  // namespace

std::span<const std::string_view> scripts() { return kScripts; }

SharedRedis::SharedRedis(loop::Loop& loop, loop::Resolver& resolver, const RedisConfig& config, RedisEvents& events,
                         std::function<void(int)> on_processes, NoticeSink notices, Network& network,
                         std::string process_name)
    : loop_(loop),
      config_(config),
      on_processes_(std::move(on_processes)),
      notices_(std::move(notices)),
      process_name_(process_name.empty() ? new_name(network) : std::move(process_name)),
      all_(config.prefix + ":processes"),
      processes_(config),
      up_since_(loop.now() - kPresence),
      said_present_(loop.now() - kPresence),
      servers_(make_servers(loop, resolver, network, config, kScripts, process_name_, events, notices_)) {}

std::string_view SharedRedis::fresh_generation(std::string_view id, std::int64_t latest, std::string_view since) {
  fresh_ = process_name_ + "." + std::to_string(++generations_);
  if (!id.empty() || latest > 0) fresh_.append("@").append(id);
  if (latest > 0) fresh_.append("@").append(std::to_string(latest)).append(since);
  return fresh_;
}

void SharedRedis::share_labels(base::SipKey* key) {
  if (std::exchange(labels_, key) != key) agree_on_labels();
}

void SharedRedis::agree_on_labels() {
  if (!labels_) return;
  const std::string name = config_.prefix + ":labels";
  Redis* const redis = servers_->server_for(slot_of(name));
  if (!redis) return;
  redis->agree(name, text_of(*labels_), [this](const Outcome& outcome, std::int64_t) {
    const auto key = outcome ? label_key_in(outcome->text()) : std::nullopt;
    if (key && labels_) *labels_ = *key;
  });
}

std::int64_t SharedRedis::soon() {
  constexpr std::int64_t kApart = 5'000, kCount = (kPresence - flow::kHorizon) / kApart;
  return loop_.now() + flow::kHorizon + turn_++ % kCount * kApart;
}

void SharedRedis::came_up() {
  if (servers_->up()) starting_ = false;
  look_whose_memory();
  agree_on_labels();
}

/// The first call on each connection, so that every later call knows whether this server has forgotten anything. Nodes
/// of a cluster are not asked: keys come to them and go with their slots.
void SharedRedis::look_whose_memory() {
  const bool has_just_begun = !std::exchange(was_up_, true);
  if (has_just_begun) {
    say_present();
  } else {
    up_since_ = loop_.now();
  }
  if (in_cluster()) return;
  const std::string key = config_.prefix + ":born";
  const Redis* const redis = servers_->find_server(slot_of(key));
  const auto id = redis ? redis->server_id() : std::string_view();
  if (id.empty()) return;
  const std::string channel = channel_of(config_, kAllProcesses);
  const std::string_view keys[] = {key}, arguments[] = {id, has_just_begun ? "1" : "0", channel};
  call(Script::born, keys, arguments, [](const Outcome&, std::int64_t) {});
}

/// Called at once when the process begins, so that others know of it. Right after a return it is put off: Redis has
/// calls enough then.
void SharedRedis::say_present() {
  if (!is_presence_due(loop_.now())) return;
  const std::string_view keys[] = {all_}, arguments[] = {process_name_};
  call(Script::present, keys, arguments, [this](const Outcome& outcome, std::int64_t) {
    if (outcome) note_processes(outcome->integer());
  });
}

std::string_view SharedRedis::presence_key(std::int64_t now) {
  return !in_cluster() && is_presence_due(now) ? std::string_view(all_) : std::string_view();
}

bool SharedRedis::is_presence_due(std::int64_t now) {
  if (now - said_present_ < kPresence / 2 || now - up_since_ < 2 * flow::kHorizon) return false;
  said_present_ = now;
  return true;
}

/// A failed or undecided ask does not count this process, so it says by a call of its own that it is there.
void SharedRedis::presence_answered(const Outcome& outcome) {
  constexpr int kBefore = 14;  // what book.lua answers before the number of processes
  std::int64_t count = 0;
  if (outcome) {
    auto elements = outcome->elements();
    for (int i = 0; i < kBefore; ++i) elements.next();
    count = elements.next().integer();
  }
  if (count > 0) return note_processes(count);
  said_present_ -= kPresence;
  say_present();
}

void SharedRedis::note_processes(std::int64_t count) {
  if (count <= 0) return;
  processes_.saw(loop_.now(), static_cast<int>(std::min<std::int64_t>(count, kMostProcesses)));
  if (on_processes_) on_processes_(processes_.seen());
}

/// A process that has never reached Redis does not know how many processes share its limits.
void SharedRedis::say_divided() {
  if (starting_ || was_up_ || config_.when_down != WhenDown::share) return;
  if (std::string text = processes_.divided(); !text.empty()) notice(LogLevel::warn, std::move(text));
}

}  // namespace penstock::redis
