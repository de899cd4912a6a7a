// SPDX-License-Identifier: Apache-2.0
// See outcome_metrics.h.
#include "observe/outcome_metrics.h"

#include <algorithm>

namespace penstock::observe {
namespace {

constexpr std::array kOutcomeNames = {
    std::pair{Outcome::success, "success"},
    std::pair{Outcome::http_error, "http_error"},
    std::pair{Outcome::upstream_error, "upstream_error"},
    std::pair{Outcome::client_gone, "client_gone"},
    std::pair{Outcome::client_gone_pending, "client_gone_pending"},
    std::pair{Outcome::refused, "refused"},
};

std::size_t place_of(Outcome outcome) { return static_cast<std::size_t>(outcome) - 1; }

}  // namespace

OutcomeMetrics::OutcomeMetrics(OutcomeFamilies& families, std::string label)
    : families_(families), label_(std::move(label)) {
  static_assert(kOutcomeNames.size() == kOutcomes);
  for (const auto& [outcome, name] : kOutcomeNames) {
    requests_[place_of(outcome)] = {families.requests, {{"upstream", label_}, {"outcome", name}}};
  }
  after_refusal_ = {families.sent_again, {{"upstream", label_}, {"why", "refusal"}}};
  after_failure_ = {families.sent_again, {{"upstream", label_}, {"why", "failure"}}};
  unreadable_ = {families.unreadable, {{"upstream", label_}}};
  for (const int code : kRefusing) upstream_refusal(code);
}

void OutcomeMetrics::record(const Event& event) {
  if (event.kind == EventKind::refused) refusal(event.refusal).Increment();
  if (event.kind == EventKind::complete || event.kind == EventKind::error) said_there(event);
  if (event.attempts > 1) sent_again(event);
  if (event.outcome != Outcome::none) requests_[place_of(event.outcome)]->Increment();
  if (event.status >= kFirstCode && event.status < kFirstCode + kCodes) response(event.status).Increment();
}

/// Of all its attempts at once, when the request has ended.
void OutcomeMetrics::said_there(const Event& event) {
  for (const int code : event.refusals) upstream_refusal(code).Increment();
  if (event.unreadable_fields > 0) unreadable_->Increment(event.unreadable_fields);
}

/// All at once, when the request has ended.
void OutcomeMetrics::sent_again(const Event& event) {
  after_failure_->Increment(event.failures);
  after_refusal_->Increment(event.attempts - 1 - event.failures);
}

prometheus::Counter& OutcomeMetrics::response(int code) {
  auto& counter = responses_[static_cast<std::size_t>(code - kFirstCode)];
  if (!counter) counter = {families_.responses, {{"upstream", label_}, {"code", std::to_string(code)}}};
  return *counter;
}

prometheus::Counter& OutcomeMetrics::upstream_refusal(int code) {
  auto known = std::ranges::find(upstream_refusals_, code, [](const auto& one) { return one.first; });
  if (known == upstream_refusals_.end()) {
    Series<prometheus::Counter> made(families_.upstream_refusals,
                                     {{"upstream", label_}, {"code", std::to_string(code)}});
    known = upstream_refusals_.emplace(known, code, std::move(made));
  }
  return *known->second;
}

prometheus::Counter& OutcomeMetrics::refusal(std::string_view kind) {
  auto known = std::ranges::find(refusals_, kind, [](const auto& one) -> std::string_view { return one.first; });
  if (known == refusals_.end()) {
    Series<prometheus::Counter> made(families_.refusals, {{"upstream", label_}, {"kind", std::string{kind}}});
    known = refusals_.emplace(known, kind, std::move(made));
  }
  return *known->second;
}

}  // namespace penstock::observe
