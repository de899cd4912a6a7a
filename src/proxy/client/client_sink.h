// SPDX-License-Identifier: Apache-2.0
// The response sink of a client's connection: writes one answer at a time to the client, and decides whether the
// connection may stay open behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/response_writer.h"
#include "loop/stream.h"
#include "proxy/client/client_access.h"
#include "proxy/client/request_reader.h"
#include "proxy/dispatch/dispatcher.h"
#include "proxy/exchange/response_sink.h"

namespace penstock::proxy {

/// What the connection learns of its answers.
class ClientSinkEvents {
 public:
  /// The client was told to send the body of its request.
  virtual void on_continue_sent() = 0;
  /// The answer is written. `keeps`: another request may follow.
  virtual void on_answered(bool keeps) = 0;
  /// The answer broke off in the middle: the client must see that.
  virtual void on_broken() = 0;
  /// Gives the stream away for good, with what was read of it in `early`.
  virtual std::unique_ptr<loop::Stream> give_stream(std::string& early) = 0;

 protected:
  ~ClientSinkEvents() = default;
};

class ClientSink final : public ResponseSink {
 public:
  /// `held`: what all requests of this client hold of caps.pendingMemory.
  ClientSink(const Services& services, const Dispatcher& dispatcher, const ClientAccess& access, RequestReader& reader,
             HeldBytes held, ClientSinkEvents& events);

  /// Writes to this stream, which must outlive the answer.
  void attach(loop::Stream& stream) { stream_ = &stream; }
  /// A request is to be answered.
  void begin(http::AnswerTo request);
  /// Answers 200 to a CONNECT whose exchange begins later, if it becomes a tunnel.
  void answer_connect();
  /// The connection closes after this answer.
  void close_behind() { answering_.keep_alive = false; }
  /// The connection closes after the next answer.
  void close_after_answers() { closes_after_answers_ = true; }
  /// The head of the answer is written.
  bool answer_has_begun() const { return answer_begun_; }
  /// False: nothing can follow the request that is being answered.
  bool keeps_connection() const { return answering_.keep_alive; }

  void answer_interim(int status, std::string_view reason, const http::Fields& fields) override;
  void answer_head(int status, std::string_view reason, const http::Fields& fields,
                   std::optional<std::uint64_t> length) override;
  bool has_room() const override { return stream_->queued() < loop::Stream::kHighWater; }
  std::size_t untaken() const override { return stream_->unread_by_peer(); }
  void answer_body(std::string_view bytes) override;
  void body_wanted() override { reader_.body_wanted(); }
  PinnedPools* pinned_pools() override { return &pinned_pools_; }
  std::string_view user() const override { return access_.user(); }
  std::string_view client_name() const override { return access_.name(); }
  void tell_id(std::string_view id) override;
  const HeldBytes& held() const override { return held_; }
  bool gives_hints() const override { return access_.gives_hints(); }
  std::unique_ptr<loop::Stream> hand_over(std::string& early) override;
  std::unique_ptr<loop::Stream> give_away(std::string& early) override { return events_.give_stream(early); }
  void answer_end(const http::Fields& trailers) override;
  void answer_broken() override { events_.on_broken(); }
  void answer_refusal(const http::Refusal& refusal) override;

 private:
  bool is_last_if_refused() const;
  void answered(bool keeps);

  const Services& services_;
  const Dispatcher& dispatcher_;
  const ClientAccess& access_;
  RequestReader& reader_;
  const HeldBytes held_;
  ClientSinkEvents& events_;
  loop::Stream* stream_ = nullptr;
  http::ResponseWriter writer_;
  http::AnswerTo answering_;
  PinnedPools pinned_pools_;
  bool answer_begun_ = false;
  bool connect_answered_ = false;  // the 200 was sent before the exchange, which is a tunnel
  bool closes_after_answers_ = false;
};

}  // namespace penstock::proxy
