// SPDX-License-Identifier: Apache-2.0
// See stream_usage.h.
#include "cost/stream_usage.h"

#include "cost/json_scanner.h"

namespace penstock::cost {

// Behind the brace that opens the object: it has a key, so a comma may follow.
std::optional<std::size_t> place_of_stream_options(std::string_view body) {
  static const JsonPaths paths = [] {
    JsonPaths made;
    made.add_text("stream");
    return made;
  }();
  if (body.contains("stream_options")) return std::nullopt;
  JsonScanner scanner(paths);
  scanner.feed(body);
  if (scanner.finish() != JsonScanner::State::whole || scanner.text() != "true") return std::nullopt;
  return body.find('{') + 1;
}

}  // namespace penstock::cost
