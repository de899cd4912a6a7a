// SPDX-License-Identifier: Apache-2.0
// See cost_reading.h.
#include "proxy/exchange/cost_reading.h"

#include <algorithm>
#include <utility>

#include "http/grammar.h"

namespace penstock::proxy {

namespace {

/// A body in a coding is not what it says.
cost::BodyShape shape_of(const http::Fields& fields) {
  const auto coding = fields.find("content-encoding");
  if (coding && !http::equal_ignoring_case(*coding, "identity")) return cost::BodyShape::none;
  return cost::body_shape(fields.find("content-type").value_or(""));
}

/// Of a request events are no JSON.
cost::BodyShape request_shape(const http::Fields& fields) {
  const auto shape = shape_of(fields);
  return shape == cost::BodyShape::json ? shape : cost::BodyShape::none;
}

std::optional<std::uint64_t> size_of(const http::RequestHead& head) {
  if (head.body == http::BodyKind::chunked) return std::nullopt;
  return head.has_body() ? head.content_length : 0;
}

/// None is wrong: they were checked when the configuration was read.
void add_all(cost::Amount& into, const std::vector<std::string>& entries, cost::Side side) {
  for (const auto& entry : entries) {
    [[maybe_unused]] const auto added = into.add(entry, side);
  }
}

}  // namespace

std::shared_ptr<const BodyTerms> body_terms_of(const UpstreamSettings& settings) {
  const bool names_group = settings.group && settings.group->by == GroupRule::By::json;
  const bool counts = counts_cost(settings);
  if (!counts && !names_group) return nullptr;
  auto terms = std::make_shared<BodyTerms>();
  terms->names_group = names_group && terms->estimate.keep_text(settings.group->pattern);
  if (!counts) return terms;
  terms->most = most_cost(settings);
  terms->adds_usage = settings.cost->stream_usage;
  terms->entries = settings.cost->estimate;
  add_all(terms->estimate, terms->entries, cost::Side::request);
  add_all(terms->actual, settings.cost->actual, cost::Side::response);
  return terms;
}

CostReading::CostReading(std::shared_ptr<const BodyTerms> terms, const http::RequestHead& head)
    : terms_(std::move(terms)),
      reader_(terms_->estimate, request_shape(head.fields)),
      size_(size_of(head)),
      is_json_(request_shape(head.fields) == cost::BodyShape::json),
      needs_body_(head.has_body() && !head.expect_continue &&
                  (is_json_ || (!size_ && terms_->estimate.counts_bytes()))) {}

void CostReading::wait(loop::Loop& loop, const Patience& patience, const http::RequestHints& hints,
                       std::function<void()> enter) {
  most_ = patience.bytes;
  hints_ = hints;
  began_to_wait_ = loop.now();
  timer_ = std::make_unique<loop::Timer>(loop, std::move(enter));
  if (patience.until) timer_->start(*patience.until);
}

void CostReading::change(std::shared_ptr<const BodyTerms> terms, std::string_view all) {
  if (!terms) return timer_->start(0);
  terms_ = std::move(terms);
  reader_ = cost::EstimateReader(terms_->estimate, is_json_ ? cost::BodyShape::json : cost::BodyShape::none);
  fed_ = 0;
  body_came(all, false);
}

// From a call of the client's connection the exchange may not end, as it does if its upstream refuses it.
void CostReading::body_came(std::string_view all, bool last) {
  const std::string_view readable = all.substr(0, most_);
  if (readable.size() > fed_) reader_.feed(readable.substr(fed_));
  fed_ = std::max(fed_, readable.size());
  if (timer_ && (last || fed_ == most_)) timer_->start(0);
}

void CostReading::enter(std::int64_t now, std::size_t size, bool whole) {
  if (timer_) waited_ = Duration{now - began_to_wait_};
  timer_.reset();
  if (whole) size_ = size;
  const auto found = reader_.estimate(size_ ? size_ : std::optional<std::uint64_t>(size));
  entry_ = found.entry;
  estimate_ = has_cost() ? std::min(found.units, terms_->most) : 1;
}

std::string_view CostReading::estimated_by() const {
  return entry_ && *entry_ < terms_->entries.size() ? std::string_view(terms_->entries[*entry_]) : std::string_view();
}

void CostReading::answer_begins(const http::Fields& fields) {
  usage_.reset();
  if (const auto shape = shape_of(fields); reads_answers() && shape != cost::BodyShape::none)
    usage_.emplace(terms_->actual, shape);
}

CostReading::Actual CostReading::actual(bool whole) const {
  const auto found = usage_ ? usage_->found() : std::nullopt;
  if (!found) return {.units = estimate_};
  const auto units = cost::plausible_cost(found->units, terms_->most);
  if (!units) return {.units = estimate_, .implausible = true};
  return {.units = whole ? *units : std::max(*units, estimate_)};
}

}  // namespace penstock::proxy
