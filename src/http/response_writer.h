// SPDX-License-Identifier: Apache-2.0
// Turns an answer into a client's bytes, with framing of our own: Content-Length where the length is known, chunked to
// HTTP/1.1, close-delimited to HTTP/1.0. Appends to a string that the caller sends. One writer per answer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/fields.h"
#include "http/refusal.h"
#include "http/request_parser.h"

namespace penstock::http {

/// What the writer must know of the request that is answered.
struct AnswerTo {
  bool head_method = false;  ///< HEAD: no body, whatever the length says
  std::uint8_t minor_version = 1;
  bool keep_alive = true;  ///< false: say `Connection: close`
};

class ResponseWriter {
 public:
  explicit ResponseWriter(AnswerTo request) : request_(request) {}

  /// A 1xx head (never to HTTP/1.0: writes nothing then).
  void interim(std::string& out, int status, std::string_view reason, const Fields& fields);

  /// The final head. `length`: the body's, where known. Statuses without a body (204, 304) get none.
  /// HEAD and 304 keep a known length in the head.
  void head(std::string& out, int status, std::string_view reason, const Fields& fields,
            std::optional<std::uint64_t> length);
  /// A piece of the body; nothing is written for answers without one, nor beyond the length that head() gave.
  void body(std::string& out, std::string_view bytes);
  /// The end: last chunk and trailers where chunked.
  void end(std::string& out, const Fields& trailers);

  /// Whether the connection may serve another request after this answer: false for close-delimited ones, for bodies
  /// that ended short of their length, and where AnswerTo said so. Valid after head(), for good after end().
  bool keeps_connection() const { return keeps_connection_; }

 private:
  AnswerTo request_;
  std::uint64_t left_ = 0;  // of the body, where its length is known
  bool chunked_ = false;
  bool bodyless_ = false;
  bool keeps_connection_ = true;
};

/// A whole answer of Penstock's own: status line with the reason, Proxy-Status, Retry-After, a one-line text body.
/// Says `Connection: close` unless `request.keep_alive`.
void write_refusal(std::string& out, const Refusal& refusal, std::string_view name, AnswerTo request);

}  // namespace penstock::http
