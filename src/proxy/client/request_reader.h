// SPDX-License-Identifier: Apache-2.0
// The reading side of a client's connection: parses requests, some of them ahead, and hands them on one at a time, each
// with its body. What may not be parsed yet stays unread, and the stream is read no further than is useful.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/request_parser.h"
#include "loop/iteration_end.h"
#include "loop/stream.h"
#include "loop/timer.h"
#include "proxy/exchange/services.h"

namespace penstock::proxy {

/// What the connection makes of what was read. None of these may destroy the RequestReader.
class RequestReaderEvents {
 public:
  enum class Takes : std::uint8_t {
    nothing_more,  ///< the connection is closing
    nothing,       ///< not now
    body,          ///< more of the body of the request being served
    ahead,         ///< a request that waits until those before it are answered
    request,       ///< a request that is served at once
  };
  virtual Takes takes() const = 0;

  /// A request is to be served now. False: its body may not come yet.
  virtual bool on_request(http::RequestHead&& head) = 0;
  /// A part of its body. False: no more of it may come now.
  virtual bool on_body(std::string_view bytes) = 0;
  virtual void on_body_end(http::Fields&& trailers) = 0;

 protected:
  ~RequestReaderEvents() = default;
};

class RequestReader final : private http::RequestSink {
 public:
  /// What may come behind the request being served, until it is answered.
  enum class Behind : std::uint8_t {
    http,
    maybe_tunnel,  ///< the request may be upgraded
    tunnel,        ///< the request is a CONNECT
  };

  /// `going_on` is asked when there is something to do at the end of the iteration: to call resume(), or to refuse what
  /// could not be parsed.
  RequestReader(const Services& services, loop::IterationEnd& going_on, RequestReaderEvents& events);

  /// Reads from this stream from the next call of read() or resume() on. It must outlive that, or detach() comes first.
  void attach(loop::Stream& stream);
  /// Neither reads nor parses any more, until attach().
  void detach();
  /// These bytes came.
  void read(std::string_view bytes);
  /// Parses what is unread, if it may be parsed now.
  void resume();
  /// Forgets the CONNECT: what is unread begins a connection inside it.
  void restart();

  /// Begins the oldest request that was read ahead. False: there is none.
  bool begin_next();
  /// More of the body may be read.
  void body_wanted();
  /// The request is answered: HTTP follows, unless it was a CONNECT.
  void answered();
  /// A CONNECT was refused, so HTTP follows. False: bytes for the tunnel have come; they must never be parsed.
  bool leave_tunnel();

  Behind behind() const { return behind_; }
  bool may_parse() const;
  bool has_ahead() const { return !ahead_.empty(); }
  /// True if the body of the request being served has come whole.
  bool body_whole() const { return body_whole_; }
  /// True if the next request's head has begun.
  bool in_head() const { return ahead_.empty() && parser_.in_message(); }
  /// The bytes that the parser may not have yet.
  const std::string& unread() const { return unread_; }
  std::string take_unread();

  /// True if parsing has failed; to be refused once all earlier requests are answered.
  bool failed() const { return failed_; }
  /// Valid if failed().
  const http::Refusal& refusal() const { return parser_.refusal(); }
  bool failed_head_method() const { return parser_.failed_head_method(); }

 private:
  void on_head(http::RequestHead&& head) override;
  void on_body(std::string_view bytes) override;
  void on_complete(http::Fields&& trailers) override;

  void parse(std::string_view bytes);
  bool begin(http::RequestHead&& head);
  bool may_read_ahead() const;
  bool wants_bytes() const;
  /// Lets other work go first.
  void breathe();
  bool breathes() const { return breath_ && breath_->running(); }

  const Services& services_;
  loop::IterationEnd& going_on_;
  RequestReaderEvents& events_;
  loop::Stream* stream_ = nullptr;  // null: nothing is read
  http::RequestParser parser_;
  std::unique_ptr<loop::Timer> breath_;   // runs while parsing pauses until the next iteration; null: it never has
  std::size_t pieces_ = 0;                // pieces of a body since parsing began in this iteration
  std::string unread_;                    // bytes read that the parser may not have yet
  std::vector<http::RequestHead> ahead_;  // requests read ahead; only the last may have a body
  std::size_t ahead_bytes_ = 0;
  Behind behind_ = Behind::http;
  bool body_whole_ = true;
  bool reading_ = false;
  bool failed_ = false;
};

}  // namespace penstock::proxy
