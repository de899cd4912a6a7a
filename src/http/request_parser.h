// SPDX-License-Identifier: Apache-2.0
// Reads HTTP/1 requests from a client's bytes: llhttp in strict mode, plus the checks and the caps that it lacks.
// Judges the message, not where it wants to go (target.h does). One parser per connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "http/fields.h"
#include "http/refusal.h"
#include "penstock/config.h"

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

/// What the parser tells, from inside consume(). The parser must outlive the call.
class RequestSink {
 public:
  virtual void on_head(RequestHead&& head) = 0;
  /// Decoded: no chunk framing. The view lives for the call.
  virtual void on_body(std::string_view bytes) = 0;
  virtual void on_complete(Fields&& trailers) = 0;

 protected:
  ~RequestSink() = default;
};

class RequestParser {
 public:
  enum class State : std::uint8_t {
    hungry,  ///< took everything, wants more
    paused,  ///< stopped after on_complete, or where pause() asked for it; call consume() with what is left over
    failed,  ///< see refusal(); the connection must be closed after the answer
  };
  struct Progress {
    std::size_t consumed;
    State state;
  };

  /// `caps` outlives it, and may change between two calls: what comes from then on is held to the new ones.
  RequestParser(const CapsConfig& caps, RequestSink& sink);
  RequestParser(const CapsConfig&& caps, RequestSink& sink) = delete;
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  /// Feeds bytes. Stops after each complete request (`paused`), so the caller decides when to read the next; bytes
  /// not consumed stay the caller's. The next consume() goes on. After a request that ends the connection
  /// (`keep_alive` false) whatever follows is swallowed unread.
  Progress consume(std::string_view bytes);

  /// From inside on_head or on_body: stop at the next possible byte. A message that has no byte left still completes.
  void pause();

  /// Forgets everything: what comes next begins a connection. Not from inside consume().
  void restart();

  /// Whether a request has begun and is not complete: a connection that ends now was cut.
  bool in_message() const;
  /// Whether the head under way is complete (the body is being read).
  bool in_body() const;

  /// Why it failed. Valid in State::failed only.
  const Refusal& refusal() const;
  /// Whether what failed in its head was a HEAD: its answer has no body.
  bool failed_head_method() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace penstock::http
