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
  if (!config_.redis || !config_.redis->path.empty() || access::parse_address(config_.redis->host)) return;
  redis_lookup_ = resolver_.ask(config_.redis->host,
                                [this](const loop::LookupResult& found) { close(found.value_or(loop::Addresses{})); });
}

void LiveVerdict::close(const loop::Addresses& of_redis) {
  const std::size_t before = closed_.size();
  for (const auto& text : of_redis) {
    if (std::ranges::count(closed_, text, &Endpoint::address) == 0) closed_.push_back({text, config_.redis->port});
  }
  if (closed_.size() > before) judge_anew();
}

}  // namespace penstock::app
