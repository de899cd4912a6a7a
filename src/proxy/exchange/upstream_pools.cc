// SPDX-License-Identifier: Apache-2.0
// Shared pools are made at start, a client's own pool when it is needed.
#include "proxy/exchange/upstream_pools.h"

#include <algorithm>
#include <cassert>
#include <string_view>
#include <system_error>
#include <utility>

#include "http/grammar.h"
#include "loop/fd_limit.h"

namespace penstock::proxy {

namespace {
constexpr std::size_t kMostClaimed = 16;
constexpr std::size_t kMostOwnIdle = 8;      // one upstream may be several hosts to which the client logs in by turns
constexpr std::size_t kFilesForOneKept = 8;  // an eighth: half of what clients leave when descriptors are few

bool is_scheme(std::string_view word) {
  return http::equal_ignoring_case(word, "NTLM") || http::equal_ignoring_case(word, "Negotiate");
}

/// Whether any word of a list of challenges is such a scheme. If only a realm has that name, the cost is a connection
/// that is not shared.
bool names_scheme(std::string_view challenges) {
  constexpr std::string_view kBetween = " \t,";
  while (!challenges.empty()) {
    const auto size = std::min(challenges.find_first_of(kBetween), challenges.size());
    if (is_scheme(challenges.substr(0, size))) return true;
    challenges.remove_prefix(std::min(size + 1, challenges.size()));
  }
  return false;
}

bool any_names_scheme(const http::Fields& fields, std::string_view name) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (http::equal_ignoring_case(fields[i].name, name) && names_scheme(fields[i].value)) return true;
  }
  return false;
}
}  // namespace

bool logs_in_connection(const http::Fields& request) { return any_names_scheme(request, "Authorization"); }
bool asks_to_log_in_connection(const http::Fields& answer) { return any_names_scheme(answer, "WWW-Authenticate"); }

UpstreamPools::UpstreamPools(loop::Loop& loop, const Config& config, const access::DialGuard& guard)
    : loop_(loop), guard_(guard) {
  change(config);
}

void UpstreamPools::change(const Config& config) {
  const auto before = std::exchange(pools_, {});
  add(config.unmatched.tls);
  for (const auto& upstream : config.upstreams) add(upstream.settings.tls);
  for (const auto& old : before) {
    const auto same = [&](const Kept& kept) { return kept.tls == old.tls && kept.stamp == old.stamp; };
    const auto kept = std::ranges::find_if(pools_, same);
    kept == pools_.end() ? leaving_.push_back(old.pool) : void(kept->pool = old.pool);
  }
  for (auto& kept : pools_) {
    if (!kept.pool) kept.pool = make(kept.tls);
    kept.pool->keep_at_most(idle_of_each());
  }
  sweep();
}

void UpstreamPools::add(const TlsConfig& tls) {
  const auto same = [&](const Kept& kept) { return kept.tls == tls; };
  if (std::ranges::none_of(pools_, same)) pools_.push_back({tls, stamp_of(tls), nullptr});
}

UpstreamPools::Stamp UpstreamPools::stamp_of(const TlsConfig& tls) {
  Stamp stamp;
  for (const auto* file : {&tls.ca, &tls.client_cert, &tls.client_key}) {
    std::error_code none;
    if (!file->empty()) stamp.push_back(std::filesystem::last_write_time(*file, none));
  }
  return stamp;
}

/// Transfers do not own their pool, and the one that started them may use another pool by now; hence idle().
void UpstreamPools::sweep() {
  std::erase_if(leaving_, [](const Pool& pool) { return pool.use_count() == 1 && pool->idle(); });
  for (const auto& kept : pools_) kept.pool->sweep();
}

const UpstreamPools::Pool& UpstreamPools::of(const TlsConfig& tls) const {
  const auto found = std::ranges::find(pools_, tls, &Kept::tls);
  assert(found != pools_.end());
  return found->pool;
}

/// Idle connections must leave enough file descriptors to other uses, which cannot close them.
std::size_t UpstreamPools::idle_of_each() const {
  const auto files = static_cast<std::size_t>(loop::most_open_files());
  return std::max<std::size_t>(files / kFilesForOneKept / pools_.size(), 1);
}

UpstreamPools::Pool UpstreamPools::make(const TlsConfig& tls) const {
  return std::make_shared<transfer::Pool>(loop_, guard_, tls);
}

UpstreamPools::Pool UpstreamPools::make_own(const TlsConfig& tls) const {
  auto own = make(tls);
  own->keep_at_most(kMostOwnIdle);
  return own;
}

void PinnedPools::claim(const std::string& upstream) {
  const bool known = std::ranges::count(claimed_, upstream, &Claimed::upstream) > 0;
  if (claimed_.size() < kMostClaimed && !known) claimed_.push_back({upstream, {}, nullptr});
}

/// The replaced pool may be inside on_done() of a transfer whose request is sent again here, so it is only retired.
transfer::Pool* PinnedPools::to(const std::string& upstream, const TlsConfig& tls, const UpstreamPools::Pool& shared,
                                UpstreamPools& connections) {
  const auto claimed = std::ranges::find(claimed_, upstream, &Claimed::upstream);
  if (claimed == claimed_.end()) return nullptr;
  if (!claimed->pool || claimed->beside.lock() != shared) {
    if (claimed->pool) connections.retire(std::move(claimed->pool));
    claimed->pool = connections.make_own(tls);
    claimed->beside = shared;
  }
  return claimed->pool.get();
}

}  // namespace penstock::proxy
