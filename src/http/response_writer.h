// SPDX-License-Identifier: Apache-2.0
// Serializes a response for a client, with framing of our own: Content-Length if the length is known, chunked for
// HTTP/1.1, close-delimited for HTTP/1.0. Appends to a string that the caller sends. One writer per response.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/fields.h"
#include "http/refusal.h"
#include "http/request_head.h"

namespace penstock::http {

/// `Penstock-Request-Id: ID` as a line; empty for an empty id.
void add_id_line(std::string& out, std::string_view id);

/// What the writer must know of the request.
struct AnswerTo {
  bool head_method = false;  ///< HEAD: no body, whatever the length says
  std::uint8_t minor_version = 1;
  bool keep_alive = true;    ///< false: send `Connection: close`
  std::string_view id = {};  ///< for `Penstock-Request-Id` of the answer, which it must outlive; empty: no such field
};

class ResponseWriter {
 public:
  explicit ResponseWriter(AnswerTo request) : request_(request) {}

  /// A 1xx head; writes nothing for HTTP/1.0, which has none. Of them only a 101, which is final, has the id.
  void interim(std::string& out, int status, std::string_view reason, const Fields& fields);

  /// The final head. `length`: the body's, if known. Statuses without a body (204, 304) get none.
  /// HEAD and 304 keep a known length in the head.
  void head(std::string& out, int status, std::string_view reason, const Fields& fields,
            std::optional<std::uint64_t> length);
  /// A piece of the body. Writes nothing if the response has no body, nor beyond the length given to head().
  void body(std::string& out, std::string_view bytes);
  /// Ends the body: last chunk and trailers if chunked.
  void end(std::string& out, const Fields& trailers);

  /// True if the connection may serve another request: false for close-delimited responses, for bodies shorter than
  /// their length, and if AnswerTo says so. Valid after head(), final after end().
  bool keeps_connection() const { return keeps_connection_; }

 private:
  AnswerTo request_;
  std::uint64_t left_ = 0;  // body bytes left, if the length is known
  bool chunked_ = false;
  bool bodyless_ = false;
  bool keeps_connection_ = true;
};

/// Writes a whole response of Penstock's own: status line with the reason, Proxy-Status, Retry-After, a one-line text
/// body.
/// Sends `Connection: close` unless `request.keep_alive`.
void write_refusal(std::string& out, const Refusal& refusal, std::string_view name, AnswerTo request);

}  // namespace penstock::http
