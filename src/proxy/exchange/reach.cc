// SPDX-License-Identifier: Apache-2.0
// See reach.h.
#include "proxy/exchange/reach.h"

#include <algorithm>

namespace penstock::proxy {

namespace {
constexpr flow::Time kWhileOneTries = 1'000'000;  // what a newcomer is told to wait then

constexpr flow::Time kFirstPause = 1'000'000;  // as of Gate
constexpr int kMostDoublings = 20;

/// A name that does not resolve may be one of many, and a certificate does not get better by waiting. Of time-outs only
/// those before the request was sent come here.
bool is_failure_to_connect(http::Reason why) {
  using http::Reason;
  return why == Reason::connection_refused || why == Reason::connection_timeout ||
         why == Reason::connection_terminated || why == Reason::destination_unroutable ||
         why == Reason::tls_protocol_error || why == Reason::read_timeout;
}
}  // namespace

/// Once it is lost, whatever a try fails of before it is sent says that it is lost still: or else all that wait would
/// fail of it, one after the other.
void Reach::failed(flow::Ticket ticket, flow::Time took_off, http::Reason why) {
  if (!lost() && !is_failure_to_connect(why)) return;
  const flow::Time now = loop_.now();
  if (!breaker_.failed(now, took_off, settings_.failures)) return;
  if (!queue_->is_of_quota) return queue_->stop_alone(ticket, settings_.max_pause);
  next_try_ = now + std::min(kFirstPause << std::min(stops_++, kMostDoublings), settings_.max_pause.count());
}

/// Once the pause is over, a newcomer may try, unless another does.
std::optional<http::Refusal> Reach::judge() const {
  if (!lost()) return std::nullopt;
  const flow::Time now = loop_.now();
  const bool is_tried = !queue_->is_of_quota && queue_->scheduler().gates().is_tried();
  if (now >= next_try() && !is_tried) return std::nullopt;
  return http::refusal_until(http::Reason::unreachable, upstream_ + " cannot be reached",
                             Duration{next_try() > now ? next_try() - now : kWhileOneTries});
}

/// Of a try that is still under way a second later nothing is known: the next one may go.
std::optional<http::Refusal> Reach::judge_try() {
  if (auto refusal = judge()) return refusal;
  next_try_ = loop_.now() + kWhileOneTries;
  return std::nullopt;
}

}  // namespace penstock::proxy
