// SPDX-License-Identifier: Apache-2.0
// Passes on.
#include "redis/booking_office.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <tuple>
#include <utility>

#include "redis/pausing_booker.h"
#include "redis/redis_booker.h"
#include "redis/scripts.h"

namespace penstock::redis {

namespace {

constexpr std::int64_t kTick = 1'000'000;

/// In the order of Script.
constexpr std::array<std::string_view, 8> kScripts{kBookScript,  kUndoScript,  kMovedScript,  kLeaveScript,
                                                   kPauseScript, kResetScript, kHandInScript, kPermitsScript};

std::string new_name(Network& network) {
  const auto digits = flow::GroupHash::digits_of(network.draw());
  return {digits.data(), digits.size()};
}

std::string text_of(const flow::SipKey& key) {
  std::string text;
  for (const std::uint64_t half : {key.first, key.second}) {
    const auto digits = flow::GroupHash::digits_of(half);
    text.append(digits.data(), digits.size());
  }
  return text;
}

std::optional<flow::SipKey> label_key_in(std::string_view text) {
  constexpr std::size_t kHalf = std::tuple_size_v<flow::GroupHash::Digits>;
  flow::SipKey key;
  const auto read = [&](std::size_t at, std::uint64_t& into) {
    const char* const end = text.data() + at + kHalf;
    return std::from_chars(text.data() + at, end, into, 16).ptr == end;
  };
  const bool whole = text.size() == 2 * kHalf && read(0, key.first) && read(kHalf, key.second);
  return whole ? std::optional(key) : std::nullopt;
}

}  // namespace

BookingOffice::BookingOffice(loop::Loop& loop, loop::Resolver& resolver, const RedisConfig& config, OfficeWatch watch,
                             NoticeSink notices, Network& network)
    : loop_(loop),
      config_(config),
      watch_(std::move(watch)),
      notices_(std::move(notices)),
      who_(new_name(network)),
      started_(loop.now()),
      standing_(loop, [this] { count_standing(); }),
      ticker_(loop, [this] { tick(); }),
      redis_(std::make_unique<Redis>(loop, resolver, network, config, kScripts, who_, static_cast<RedisEvents&>(*this),
                                     notices_)) {
  ticker_.start(loop.now() + kTick);
}

BookingOffice::~BookingOffice() = default;

std::unique_ptr<flow::Booker> BookingOffice::make_booker(const std::string& name,
                                                         const std::vector<LimitConfig>& limits,
                                                         flow::BookerEvents& events) {
  auto booker = std::make_unique<RedisBooker>(*this, name, limits, events);
  bookers_[name] = booker.get();
  standing_changed();
  return booker;
}

std::unique_ptr<flow::Booker> BookingOffice::make_pausing_booker(const std::string& name,
                                                                 const std::vector<LimitConfig>& limits) {
  auto booker = std::make_unique<PausingBooker>(*this, name, limits);
  pausing_[name] = booker.get();
  return booker;
}

/// Another may have come in its place.
void BookingOffice::leave(const std::string& name, const flow::Booker& booker) {
  if (const auto known = pausing_.find(name); known != pausing_.end() && known->second == &booker) {
    pausing_.erase(known);
  }
  if (const auto known = bookers_.find(name); known != bookers_.end() && known->second == &booker) {
    bookers_.erase(known);
  }
  standing_changed();
}

std::string_view BookingOffice::fresh_generation() {
  fresh_ = who_ + "." + std::to_string(++generations_);
  return fresh_;
}

void BookingOffice::share_labels(flow::SipKey& key) {
  if (std::exchange(labels_, &key) != &key) agree_on_labels();
}

void BookingOffice::agree_on_labels() {
  if (!labels_) return;
  redis_->agree(config_.prefix + ":labels", text_of(*labels_), [this](const Outcome& outcome, std::int64_t) {
    const auto key = outcome ? label_key_in(outcome->text()) : std::nullopt;
    if (key) *labels_ = *key;
  });
}

void BookingOffice::count_standing() {
  const bool degraded = std::ranges::any_of(bookers_, [](const auto& booker) { return booker.second->degraded(); });
  if (std::exchange(degraded_, degraded) != degraded && watch_.on_degraded) watch_.on_degraded(degraded);
}

/// What one does may lead to others being made, or to their end.
template <typename Use>
void BookingOffice::for_each_booker(Use use) {
  std::vector<std::string> names;
  for (const auto& [name, booker] : bookers_) names.push_back(name);
  for (const auto& name : names) {
    if (const auto found = bookers_.find(name); found != bookers_.end()) use(*found->second);
  }
}

void BookingOffice::on_found(const loop::Addresses& addresses) {
  if (watch_.on_found) watch_.on_found(addresses);
}

void BookingOffice::on_up() {
  starting_ = false;
  if (watch_.on_up) watch_.on_up(true);
  agree_on_labels();
  for_each_booker([](RedisBooker& booker) { booker.redis_up(); });
}

void BookingOffice::on_down() {
  if (watch_.on_up) watch_.on_up(false);
  for_each_booker([](RedisBooker& booker) { booker.redis_down(); });
}

/// "<upstream> <what> …"
void BookingOffice::on_message(std::string_view payload) {
  const std::string name(payload.substr(0, payload.find(' ')));
  if (name.size() == payload.size()) return;
  const auto words = payload.substr(name.size() + 1);
  if (const auto known = bookers_.find(name); known != bookers_.end()) known->second->message(words);
  if (const auto known = pausing_.find(name); known != pausing_.end()) known->second->message(words);
}

void BookingOffice::on_round_trip(std::int64_t microseconds) {
  if (watch_.on_round_trip) watch_.on_round_trip(Duration{microseconds});
}

void BookingOffice::on_failure(FailureKind kind) {
  starting_ = false;
  if (watch_.on_error) watch_.on_error(label(kind));
}

void BookingOffice::tick() {
  const auto now = loop_.now();
  for (auto& [name, booker] : bookers_) booker->tick(now);
  ticker_.start(now + kTick);
}

}  // namespace penstock::redis
