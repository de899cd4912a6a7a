// SPDX-License-Identifier: Apache-2.0
// A request made in-process, and its answer: what Proxy::submit() takes and gives. Bodies are whole, in memory.
#pragma once

#include <string>
#include <vector>

namespace penstock {

struct Field {
  std::string name;
  std::string value;
  bool operator==(const Field&) const = default;
};

struct Request {
  std::string method = "GET";  ///< any but CONNECT
  std::string url;             ///< absolute: http[s]://host[:port]/path?query
  std::vector<Field> fields;   ///< end-to-end fields; Host and framing are Penstock's own
  std::string body;
};

/// Penstock's own refusals look like any other answer, and carry `Proxy-Status`.
struct Response {
  int status = 0;
  std::string reason;
  std::vector<Field> fields;
  std::string body;
  std::vector<Field> trailers;
};

}  // namespace penstock
