// SPDX-License-Identifier: Apache-2.0
// Whether a request is to be sent again after what its upstream answered, or after a connection that broke. Pure; whose
// memory the bodies are in, and the budget of failures, are for the caller.
#pragma once

#include <cstdint>
#include <optional>

#include "http/request_head.h"
#include "http/response_head.h"
#include "penstock/config.h"

namespace penstock::proxy {

/// Why a request is sent again.
enum class Again : std::uint8_t {
  no,
  refused,  ///< it was not carried out, so that any method may be repeated
  failed,   ///< it may have been carried out
};

/// A request that was sent, as far as that decides.
struct SentRequest {
  const http::RequestHead& head;
  int attempts = 1;          ///< so far
  bool has_its_body = true;  ///< from the first byte on
  std::int64_t now = 0;      ///< in microseconds, as the deadline
  std::int64_t deadline = 0;
  const RetryConfig* retry = nullptr;  ///< of its route; null: as the settings have it
  const Obey* obey = nullptr;          ///< likewise
};

/// Whether an answer with this status can be a reason.
constexpr bool may_be_for_again(int status) {
  return status == 429 || status == 403 || (status >= 502 && status <= 504) || status == 529;
}

/// After a whole head. `wall`: microseconds since 1970. A refusal whose pause outlasts the deadline is no reason.
Again judge_answer(const UpstreamSettings& settings, const SentRequest& sent, const http::ResponseHead& head,
                   std::int64_t wall);
/// After a connection that broke before a head had come, when the request had been written to it.
Again judge_break(const UpstreamSettings& settings, const SentRequest& sent);

}  // namespace penstock::proxy
