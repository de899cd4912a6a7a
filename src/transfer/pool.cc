// SPDX-License-Identifier: Apache-2.0
// See pool.h.
#include "transfer/pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace penstock::transfer {

Pool::Pool(loop::Loop& loop, const access::DialGuard& guard, TlsConfig tls, std::chrono::seconds idle)
    : loop_(loop), guard_(guard), tls_(std::move(tls)), idle_(idle) {
  add_handle();
}

Multi& Pool::add_handle() {
  const Trust trust{.authorities = &authorities_, .borrows = !multis_.empty()};
  multis_.push_back(std::make_unique<Multi>(loop_, guard_, tls_, idle_, trust));
  share_what_is_kept();
  return *multis_.back();
}

Multi& Pool::handle_for(const Request& request) {
  if (request.origin.starts_with("https:") && !authorities_.can_lend()) return *multis_.front();
  const auto room = std::ranges::find_if(multis_, [](const auto& multi) { return multi->flying() < kMostFlying; });
  return room != multis_.end() ? **room : add_handle();
}

std::unique_ptr<Transfer> Pool::start(Request&& request, TransferEvents& events) {
  return handle_for(request).start(std::move(request), events);
}

void Pool::keep_at_most(std::size_t count) {
  kept_ = count;
  share_what_is_kept();
}

std::size_t Pool::share_of(std::size_t count, std::size_t handles) {
  return std::max<std::size_t>(std::min(count, kMostKept) / handles, 1);
}

void Pool::share_what_is_kept() {
  for (const auto& multi : multis_) multi->keep_at_most(share_of(kept_, multis_.size()));
}

bool Pool::idle() const {
  return std::ranges::all_of(multis_, [](const auto& multi) { return multi->idle(); });
}

void Pool::sweep() {
  const auto left_behind = [](const auto& multi) { return multi->idle() && !multi->keeps_any(); };
  const auto first = std::next(multis_.begin());
  const auto last = std::remove_if(first, multis_.end(), left_behind);
  if (last == multis_.end()) return;
  multis_.erase(last, multis_.end());
  share_what_is_kept();
}

}  // namespace penstock::transfer
