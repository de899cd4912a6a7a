// SPDX-License-Identifier: Apache-2.0
// A request made in-process and its answer, as Proxy::submit() takes and returns them. Bodies are whole, in memory.
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
  std::vector<Field> fields;   ///< end-to-end fields; Penstock sets Host and framing itself
  std::string body;
};

/// An answer of the upstream, or a refusal by Penstock, which has a `Proxy-Status` field.
struct Response {
  int status = 0;
  std::string reason;
  std::vector<Field> fields;
  std::string body;
  std::vector<Field> trailers;
};

}  // namespace penstock
