// SPDX-License-Identifier: Apache-2.0
// See distrust.h.
#include "proxy/distrust.h"

#include <algorithm>

namespace penstock::proxy {

namespace {
constexpr std::size_t kMost = 4096;
constexpr int kCertain = 4;
constexpr int kBeforePause = 3;
constexpr Distrust::Time kFirstPause = 100'000;
constexpr Distrust::Time kLongestPause = 5'000'000;
constexpr Distrust::Time kBetweenTurns = 100'000;
constexpr Distrust::Time kBypassLasts = 3'600'000'000;

int certainty_of(Distrust::Sign sign) {
  switch (sign) {
    case Distrust::Sign::broken_off: return 0;
    case Distrust::Sign::left: return 1;
    case Distrust::Sign::alert: break;
  }
  return 2;
}

std::string name_of(const Distrust::Client& client, const std::string& host) {
  return access::to_string(access::client_of(client.address)) + ' ' + host + ' ' + client.user;
}
}  // namespace

Distrust::Known* Distrust::find(const Client& client, const std::string& host) const {
  if (found_.empty()) return nullptr;
  const auto known = found_.find(name_of(client, host));
  return known == found_.end() ? nullptr : &*known->second;
}

void Distrust::forget() {
  all_.clear();
  found_.clear();
}

void Distrust::rejected(const Client& client, const std::string& host, Sign sign, Time now) {
  auto who = name_of(client, host);
  const auto known = found_.find(who);
  if (known != found_.end()) {
    all_.splice(all_.begin(), all_, known->second);
  } else {
    all_.push_front({.who = who});
    found_.emplace(std::move(who), all_.begin());
  }
  auto& one = all_.front();
  // What happened before a bypass that is over is long past.
  if (now - one.since > kBypassLasts) one.in_a_row = one.certainty = 0;
  ++one.in_a_row;
  one.certainty += certainty_of(sign);
  one.since = now;
  if (all_.size() <= kMost) return;
  found_.erase(all_.back().who);
  all_.pop_back();
}

void Distrust::accepted(const Client& client, const std::string& host) {
  if (found_.empty()) return;
  const auto known = found_.find(name_of(client, host));
  if (known == found_.end()) return;
  all_.erase(known->second);
  found_.erase(known);
}

Distrust::Time Distrust::pause_ends(const Client& client, const std::string& host, Time now) const {
  const Known* one = find(client, host);
  if (!one || one->in_a_row < kBeforePause) return now;
  const int doubled = std::min(one->in_a_row - kBeforePause, 10);
  return std::max(now, one->since + std::min(kFirstPause << doubled, kLongestPause));
}

std::unique_ptr<Distrust::Place> Distrust::queue_up(const Client& client, const std::string& host) {
  const Known* one = find(client, host);
  if (!one || one->in_a_row < kBeforePause) return nullptr;
  return std::make_unique<Place>(one->queue, ++last_place_);
}

/// By now there may be trust, or others who reject: neither makes anybody wait who has waited.
Distrust::Time Distrust::ask_turn(const Client& client, const std::string& host, const Place* place, Time now) {
  Known* one = place ? find(client, host) : nullptr;
  if (!one) return now;
  if (one->next_turn > now) return one->next_turn;
  if (!place->is_first()) return now + kBetweenTurns;
  one->next_turn = now + kBetweenTurns;
  return now;
}

bool Distrust::bypasses(const Client& client, const std::string& host, Time now) const {
  const Known* one = bypass_ ? find(client, host) : nullptr;
  return one && one->certainty >= kCertain && now - one->since <= kBypassLasts;
}

}  // namespace penstock::proxy
