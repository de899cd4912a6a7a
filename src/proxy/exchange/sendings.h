// SPDX-License-Identifier: Apache-2.0
// How often one request was sent, until when it may be sent again, and the answer that its client gets if it is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "proxy/exchange/kept_answer.h"
#include "proxy/exchange/retry_policy.h"
#include "proxy/exchange/said_of_limits.h"

namespace penstock::proxy {

struct Sendings {
  int attempts = 1;             ///< the current or last one included; not those over connections that were dead already
  int failures = 0;             ///< attempts that were followed by another one because they had failed
  bool stale = false;           ///< the last one was over such a connection, so that the next one needs a fresh one
  bool waited = false;          ///< Exchange::limited_by is of a wait after the first take-off
  Again why = Again::no;        ///< why it waits again; no: it does not, or its connection was dead already
  std::int64_t deadline = 0;    ///< nothing is sent again after it; arrival + queue.maxWait
  std::int64_t back_since = 0;  ///< when it went back to wait; 0: it does not wait again
  std::size_t holding = 0;      ///< bytes in memory of an answer that is held back as it comes
  SaidOfLimits said;
  std::unique_ptr<KeptAnswer> answer;  ///< the last whole one that was held back, until another is passed on; or null
};

}  // namespace penstock::proxy
