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
  for (std::size_t i = 0; i < kRefusing.size(); ++i) {
    upstream_refusals_[i] = {families.upstream_refusals,
                             {{"upstream", label_}, {"code", std::to_string(kRefusing[i])}}};
  }
}

void OutcomeMetrics::record(const Event& event) {
  if (event.kind == EventKind::refused) refusal(event.refusal).Increment();
  if (event.kind == EventKind::complete || event.kind == EventKind::error) refused_there(event);
  if (event.attempts > 1) sent_again(event);
  if (event.outcome != Outcome::none) requests_[place_of(event.outcome)]->Increment();
  if (event.status >= kFirstCode && event.status < kFirstCode + kCodes) response(event.status).Increment();
}

/// Only an answer of the upstream has a first byte: a 503 without one is our own.
void OutcomeMetrics::refused_there(const Event& event) {
  if (!event.first_byte) return;
  const auto code = std::ranges::find(kRefusing, event.status);
  if (code != kRefusing.end()) upstream_refusals_[static_cast<std::size_t>(code - kRefusing.begin())]->Increment();
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

prometheus::Counter& OutcomeMetrics::refusal(std::string_view kind) {
  auto known = std::ranges::find(refusals_, kind, [](const auto& one) -> std::string_view { return one.first; });
  if (known == refusals_.end()) {
    Series<prometheus::Counter> made(families_.refusals, {{"upstream", label_}, {"kind", std::string{kind}}});
    known = refusals_.emplace(known, kind, std::move(made));
  }
  return *known->second;
}

}  // namespace penstock::observe
