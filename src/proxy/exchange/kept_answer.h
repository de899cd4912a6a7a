// SPDX-License-Identifier: Apache-2.0
// An upstream's answer that is held back, whole: its client gets it if the request is not sent again, or in vain, as if
// it had been passed on when it came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "http/fields.h"
#include "proxy/exchange/attempt.h"
#include "proxy/exchange/response_sink.h"
#include "proxy/exchange/retry_policy.h"

namespace penstock::proxy {

class KeptAnswer {
 public:
  static constexpr std::size_t kMost = 64 * 1024;  ///< bytes of its body

  /// `fields` as the client would get them. `length`: of the body, as in ResponseSink.
  KeptAnswer(Again why, const http::ResponseHead& head, http::Fields fields, std::optional<std::uint64_t> length)
      : why_(why), status_(head.status), reason_(head.reason), fields_(std::move(fields)), length_(length) {}

  /// False, and nothing is kept of `bytes`: it is too large.
  bool append(std::string_view bytes);
  /// The answer is whole. `result`: of the attempt that it came by.
  void end(http::Fields trailers, const AttemptResult& result);

  const http::Fields& fields() const { return fields_; }
  /// Whether no waiting cures the error that it names.
  bool incurable() const { return incurable_; }
  void mark_incurable() { incurable_ = true; }
  Again why() const { return why_; }  ///< it is held back
  std::string_view body() const { return body_; }
  const AttemptResult& result() const { return result_; }
  /// The memory in bytes that it holds.
  std::size_t bytes() const;

  /// The request was sent so often by now: the value of our `Proxy-Status`.
  void tell_attempts(std::string proxy_status) { proxy_status_ = std::move(proxy_status); }

  /// Passes on what there is of it: the head and the body, but not the end.
  void begin(ResponseSink& sink) const;
  /// Passes all of it on.
  void give(ResponseSink& sink) const;

 private:
  Again why_;
  int status_;
  std::string reason_, proxy_status_;
  http::Fields fields_, trailers_;
  std::optional<std::uint64_t> length_;
  std::string body_;
  bool incurable_ = false;
  AttemptResult result_;
};

}  // namespace penstock::proxy
