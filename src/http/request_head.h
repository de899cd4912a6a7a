// SPDX-License-Identifier: Apache-2.0
// The head of a request as it was parsed, and what its fields mean for its framing and its connection.
#pragma once

#include <cstdint>
#include <string>

#include "http/fields.h"

namespace penstock::http {

enum class BodyKind : std::uint8_t { none, length, chunked };

struct RequestHead {
  std::string method;
  std::string target;  ///< raw, as it stood in the request line
  Fields fields;
  std::uint64_t content_length = 0;  ///< with BodyKind::length
  BodyKind body = BodyKind::none;    ///< `length` also for Content-Length: 0
  std::uint8_t minor_version = 1;    ///< HTTP/1.minor: 0 or 1; a later one counts as 1
  bool keep_alive = true;            ///< what version and Connection ask for
  bool expect_continue = false;      ///< `Expect: 100-continue`, in HTTP/1.1 and with a body to wait for

  std::string upgrade;  ///< the protocols that it asks to change to, as far as they may be passed on (upgrade.h)

  bool has_body() const { return body == BodyKind::chunked || (body == BodyKind::length && content_length > 0); }
};

}  // namespace penstock::http
