// SPDX-License-Identifier: Apache-2.0
// See rights.h.
#include "redis/client/rights.h"

#include <utility>

namespace penstock::redis {

void Rights::subscribed() {
  subscribed_ = true;
  subscribe_refused_ = {};
}

bool Rights::subscribe_failed(std::string_view why) {
  if (!subscribe_refused_.note("subscribe", why)) return false;
  subscribed_ = false;
  return true;
}

Refusals Rights::refused() const {
  Refusals all = refused_;
  all.add(subscribe_refused_);
  return all;
}

Rights::News Rights::take_news() {
  News news;
  if (!subscribed_) return news;
  if (auto all = refused(); all != reported_) news.refused = reported_ = std::move(all);
  const bool come = messages_come();
  if (std::exchange(reported_that_they_come_, come) != come) news.messages_come = come;
  return news;
}

}  // namespace penstock::redis
