// SPDX-License-Identifier: Apache-2.0
// One client connection of the admin port: reads its requests, one at a time, and writes the answers; AdminServer
// decides what the pages say. For admin_server.cc only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/request_parser.h"
#include "http/response_writer.h"
#include "loop/loop.h"
#include "loop/stream.h"
#include "loop/timer.h"

namespace penstock::observe {

class AdminConnection final : loop::StreamEvents, http::RequestSink {
 public:
  struct Answer {
    int status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::string body;
    std::string allow = {};
    http::Fields more = {};  ///< of the head
    /// If given, the body has no end: once the head is written, the connection's stream belongs to this one, and the
    /// connection ends.
    std::function<void(std::unique_ptr<loop::Stream>)> taker = {};
  };

  class Pages {
   public:
    /// Null: the answer comes later, through answer_later(), unless the connection has ended by then.
    virtual std::optional<Answer> answer(std::uint64_t connection, const http::RequestHead& head,
                                         std::string_view path) = 0;
    /// Must destroy the connection.
    virtual void ended(std::uint64_t connection) = 0;

   protected:
    ~Pages() = default;
  };

  AdminConnection(std::uint64_t id, loop::Loop& loop, std::unique_ptr<loop::Stream> stream, Pages& pages);

  /// May destroy the connection.
  void answer_later(const Answer& answer);

  /// No answer is awaited, being made, or still being read by the client.
  bool is_idle() const { return phase_ != Phase::answering && stream_->queued() == 0; }
  bool has_asked() const { return has_asked_; }
  Endpoint peer() const { return stream_->peer(); }
  std::int64_t last_moved() const { return last_moved_; }

 private:
  enum class Phase : std::uint8_t {
    resting,
    asking,     ///< a request head has begun, or is awaited
    asked,      ///< head_ is a whole request, to be answered
    answering,  ///< the answer to it is under way
    ending,     ///< the connection ends after what is written
    taken,      ///< the connection ends, and another one has its stream
  };

  void on_read(std::string_view bytes) override;
  void on_gone() override;
  void on_drained() override {}
  void on_head(http::RequestHead&& head) override;
  void on_body(std::string_view) override {}
  void on_complete(http::Fields&&) override;

  void advance();
  bool read_request();
  void answer_request();
  void write(const Answer& answer);
  void refuse(const http::Refusal& refusal);
  void await_head();
  void rest();
  void begin_endless(const Answer& answer);
  void end();
  void hand_over();

  const std::uint64_t id_;
  loop::Loop& loop_;
  std::unique_ptr<loop::Stream> stream_;
  Pages& pages_;
  http::RequestParser parser_;
  loop::Timer idle_;
  std::string unread_;
  std::function<void(std::unique_ptr<loop::Stream>)> taker_;
  http::RequestHead head_;
  std::int64_t last_moved_ = 0;
  Phase phase_ = Phase::resting;
  bool has_asked_ = false;  // has sent a whole request, at any time
};

}  // namespace penstock::observe
