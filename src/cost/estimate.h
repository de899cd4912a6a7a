// SPDX-License-Identifier: Apache-2.0
// What a request will cost, as far as the beginning of its body tells; and whether what an answer says may be counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "cost/amount.h"
#include "cost/json_scanner.h"
#include "cost/usage_reader.h"

namespace penstock::cost {

/// The most units that a request may be said to cost.
inline constexpr int kMostUnits = 1'000'000'000;

struct Estimate {
  int units = 1;                     ///< 1 to kMostUnits
  std::optional<std::size_t> entry;  ///< of the Amount; nothing: none found anything
  bool operator==(const Estimate&) const = default;
};

class EstimateReader {
 public:
  /// `amount` must live as long as this. A body that is no JSON has its size alone.
  EstimateReader(const Amount& amount, BodyShape shape) : amount_(&amount), scanner_(amount.paths()), shape_(shape) {}

  void feed(std::string_view bytes) {
    bytes_ += bytes.size();
    if (shape_ == BodyShape::json) scanner_.feed(bytes);
  }
  /// By what was fed so far. `body_size`: of the whole body, in bytes; nothing: it is not known, and what was fed
  /// counts. Rounded up.
  Estimate estimate(std::optional<std::uint64_t> body_size) const;
  /// Of the path of Amount::keep_text(). A view of this reader's memory.
  std::optional<std::string_view> text() const { return scanner_.text(); }

 private:
  const Amount* amount_;
  JsonScanner scanner_;
  std::uint64_t bytes_ = 0;
  BodyShape shape_;
};

/// An actual cost in whole units, rounded up; nothing: it is below 0, beyond `most`, or no number, and the estimate
/// stands.
std::optional<int> plausible_cost(double units, int most);

}  // namespace penstock::cost
