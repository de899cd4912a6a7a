// SPDX-License-Identifier: Apache-2.0
// See live_verdict.h.
#include "app/live_verdict.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "access/address.h"
#include "app/reserved_endpoints.h"
#include "loop/local_addresses.h"

namespace penstock::app {

LiveVerdict::LiveVerdict(loop::Resolver& resolver, const Config& config, std::vector<Endpoint> own, NoticeSink notices)
    : resolver_(resolver),
      config_(config),
      own_(std::move(own)),
      notices_(std::move(notices)),
      closed_(reserved_endpoints_of(config.redis)),
      verdict_(config_, own_, closed_) {
  look_around();
}

void LiveVerdict::judge_anew() { verdict_ = access::Verdict(config_, own_, closed_, here_); }

void LiveVerdict::change() {
  learn_addresses();
  close(reserved_endpoints_of(config_.redis));
  find_redis();
  judge_anew();
}

void LiveVerdict::look_around() {
  if (learn_addresses()) judge_anew();
  find_redis();
}

/// True if the addresses changed. If the system cannot list them, keep the last known ones.
bool LiveVerdict::learn_addresses() {
  auto addresses = loop::local_addresses();
  if (!addresses && here_.empty()) {
    notices_({.level = LogLevel::warn,
              .text = "the addresses of this machine cannot be listed: of its own ports and Redis, Penstock knows "
                      "those on loopback only"});
  }
  if (!addresses || *addresses == here_) return false;
  here_ = *std::move(addresses);
  return true;
}

/// If Redis has a host name, the addresses behind it are closed too, old and new: before our own connection goes there,
/// and from time to time.
void LiveVerdict::find_redis() {
  redis_lookups_.clear();
  for (const auto& [name, port] : reserved_endpoints_of(config_.redis)) {
    if (access::parse_address(name)) continue;
    redis_lookups_.push_back(resolver_.ask(name, [this, port](const loop::LookupResult& found) {
      std::vector<Endpoint> there;
      for (const auto& address : found.value_or(loop::Addresses{})) there.push_back({address, port});
      close(there);
    }));
  }
}

void LiveVerdict::close(const std::vector<Endpoint>& of_redis) {
  const std::size_t before = closed_.size();
  for (const auto& one : of_redis) {
    if (std::ranges::count(closed_, one) == 0) closed_.push_back(one);
  }
  if (closed_.size() > before) judge_anew();
}

}  // namespace penstock::app
