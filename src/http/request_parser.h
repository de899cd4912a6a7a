// SPDX-License-Identifier: Apache-2.0
// Parses HTTP/1 requests from a client's bytes: llhttp in strict mode, plus the checks and the caps that it lacks.
// Judges the message, not its target (target.h does). One parser per connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "http/fields.h"
#include "http/refusal.h"
#include "http/request_head.h"
#include "penstock/config.h"

namespace penstock::http {

/// Receives the parser's events, from inside consume(). The parser must outlive the call.
class RequestSink {
 public:
  virtual void on_head(RequestHead&& head) = 0;
  /// Decoded: no chunk framing. The view is valid during the call.
  virtual void on_body(std::string_view bytes) = 0;
  virtual void on_complete(Fields&& trailers) = 0;

 protected:
  ~RequestSink() = default;
};

class RequestParser {
 public:
  enum class State : std::uint8_t {
    hungry,  ///< everything was consumed; more is needed
    paused,  ///< stopped after on_complete or by pause(); call consume() with the remaining bytes
    failed,  ///< see refusal(); the connection must be closed after the answer
  };
  struct Progress {
    std::size_t consumed;
    State state;
  };

  /// `caps` must outlive the parser, and may change between two calls: the new caps apply to all bytes from then on.
  RequestParser(const CapsConfig& caps, RequestSink& sink);
  RequestParser(const CapsConfig&& caps, RequestSink& sink) = delete;
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  /// Feeds bytes. Stops after each complete request (`paused`), so that the caller decides when to read the next one;
  /// bytes that were not consumed stay with the caller. The next consume() goes on. After a request that ends the
  /// connection (`keep_alive` false) all further bytes are swallowed unread.
  Progress consume(std::string_view bytes);

  /// From inside on_head or on_body: stops at the next possible byte. A message without further bytes still completes.
  void pause();

  /// Forgets everything: the next bytes begin a connection. Not from inside consume().
  void restart();

  /// True if a request has begun and is not complete: a connection that ends now cuts it off.
  bool in_message() const;
  /// True if the current request's head is complete, and its body or trailers are being read.
  bool in_body() const;

  /// Why parsing failed. Valid in State::failed only.
  const Refusal& refusal() const;
  /// True if the head that failed is of a HEAD request: its answer has no body.
  bool failed_head_method() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::http
