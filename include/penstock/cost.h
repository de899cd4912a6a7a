// SPDX-License-Identifier: Apache-2.0
// What the requests of an upstream cost, where that is not what they weigh. Plain values, no threads.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace penstock {

/// What a request costs where that is known only afterwards, as with the tokens of a model. The estimate is reserved
/// when the request leaves. When its answer has told the actual cost, the difference is given back, or is a debt which
/// later departures pay.
struct CostConfig {
  std::string unit;  ///< a word such as `tokens`, but not `requests`; limits with this unit count the cost
  /// How it is read from the request: `json:PATH`, `bytes/N`, `openai`, `anthropic` or `gemini`. The first that finds
  /// something counts.
  std::vector<std::string> estimate;
  /// How it is read from the answer: as `estimate`, but for `bytes/N`. Empty: it is what was estimated.
  std::vector<std::string> actual;
  std::optional<int> max;  ///< no cost beyond it counts, 1 to 1e9; nullopt: see most_cost()
  /// `stream_options.include_usage` is added to the JSON body of a chat completion that asks for a stream.
  bool stream_usage = false;
  bool operator==(const CostConfig&) const = default;
};

}  // namespace penstock
