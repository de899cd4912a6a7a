// SPDX-License-Identifier: Apache-2.0
// See retry_policy.h.
#include "proxy/exchange/retry_policy.h"

#include <algorithm>

#include "http/rate_limit_fields.h"

namespace penstock::proxy {

namespace {

bool is_covered(RetryConfig::Failures failures, const http::RequestHead& head) {
  const auto& method = head.method;
  if (failures == RetryConfig::Failures::off) return false;
  if (method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "TRACE") return true;
  if (failures == RetryConfig::Failures::safe) return false;
  return method == "PUT" || method == "DELETE" || head.fields.find("idempotency-key");
}

const RetryConfig& retry_of(const UpstreamSettings& settings, const SentRequest& sent) {
  return sent.retry ? *sent.retry : settings.retry;
}
const Obey& obey_of(const UpstreamSettings& settings, const SentRequest& sent) {
  return sent.obey ? *sent.obey : settings.obey;
}

/// A 403 may as well forbid the request, unless it names a wait, or the file its status.
bool was_not_carried_out(const UpstreamSettings& settings, const SentRequest& sent, int status,
                         const http::RateLimitWord& word) {
  if (!word.refused || obey_of(settings, sent) == Obey::off) return false;
  if (status != 403 || word.names_wait) return true;
  return !std::ranges::equal(settings.pause_on, kRefusals) && http::may_refuse(status, settings.pause_on);
}

bool may_go_again(const UpstreamSettings& settings, const SentRequest& sent) {
  return sent.has_its_body && sent.attempts < retry_of(settings, sent).attempts && sent.now < sent.deadline;
}

}  // namespace

/// With `obey: off` nothing would hold the next attempt back, so a refusal is passed on.
Again judge_answer(const UpstreamSettings& settings, const SentRequest& sent, const http::ResponseHead& head,
                   std::int64_t wall) {
  if (!may_be_for_again(head.status) || !may_go_again(settings, sent)) return Again::no;
  const auto word = http::read_rate_limit(head, wall, obey_of(settings, sent), settings.pause_on);
  const auto pause = std::min(word.pause.value_or(Duration{0}), settings.max_pause);
  if (sent.now + pause.count() > sent.deadline) return Again::no;
  if (head.status == 429 || head.status == 403) {
    const bool again = retry_of(settings, sent).refusals && was_not_carried_out(settings, sent, head.status, word);
    return again ? Again::refused : Again::no;
  }
  return is_covered(retry_of(settings, sent).failures, sent.head) ? Again::failed : Again::no;
}

Again judge_break(const UpstreamSettings& settings, const SentRequest& sent) {
  const bool again = may_go_again(settings, sent) && is_covered(retry_of(settings, sent).failures, sent.head);
  return again ? Again::failed : Again::no;
}

}  // namespace penstock::proxy
