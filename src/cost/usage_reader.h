// SPDX-License-Identifier: Apache-2.0
// Reads what a request has cost from the body of its answer while it passes: a JSON body, or a stream of events each of
// which is one. Allocates nothing. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cost/amount.h"
#include "cost/event_stream.h"
#include "cost/json_scanner.h"

namespace penstock::cost {

/// What an answer's Content-Type says of where its numbers stand.
enum class BodyShape : std::uint8_t { none, json, events };

/// `application/json` and types that end in `+json` are JSON, `text/event-stream` is events; letters of either case,
/// parameters are ignored.
BodyShape body_shape(std::string_view content_type);

class UsageReader {
 public:
  /// `amount` must live as long as this.
  UsageReader(const Amount& amount, BodyShape shape) : amount_(&amount), scanner_(amount.paths()), shape_(shape) {}

  void feed(std::string_view bytes);
  /// What was found so far.
  std::optional<Amount::Found> found() const { return amount_->in(scanner_, std::nullopt); }

 private:
  const Amount* amount_;
  JsonScanner scanner_;
  EventStream events_;
  BodyShape shape_;
};

}  // namespace penstock::cost
