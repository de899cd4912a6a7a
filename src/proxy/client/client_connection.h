// SPDX-License-Identifier: Apache-2.0
// One client's connection: has the requests that its RequestReader reads served one at a time, and writes the answers
// in the same order. Requests inside a CONNECT are served by the same object. Owned by Clients.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "http/request_parser.h"
#include "http/response_writer.h"
#include "loop/iteration_end.h"
#include "loop/stream.h"
#include "proxy/client/authenticator.h"
#include "proxy/client/client_timeouts.h"
#include "proxy/client/connect_sniffer.h"
#include "proxy/client/outer_connect.h"
#include "proxy/client/request_reader.h"
#include "proxy/dispatch/dispatcher.h"
#include "proxy/exchange/response_sink.h"

namespace penstock::proxy {

class Clients;

inline constexpr std::string_view kEstablished = "HTTP/1.1 200 Connection established\r\n\r\n";

class ClientConnection final : private loop::StreamEvents,
                               private RequestReaderEvents,
                               private ResponseSink,
                               private ConnectSnifferEvents {
 public:
  /// `from`: the client's address; if it may not use the proxy, the first request is refused. `held`: what all requests
  /// of this client hold of caps.pendingMemory.
  ClientConnection(Clients& clients, Dispatcher& dispatcher, const Services& services,
                   std::unique_ptr<loop::Stream> stream, const access::Address& from, HeldBytes held);
  ~ClientConnection();

  /// Closes the connection after its next answer.
  void close_after_answers() { closes_after_answers_ = true; }
  /// Closes if no request is under way. Clients may have removed the connection when this returns.
  void close_if_idle();
  /// The configuration has changed: access is judged anew from the next request on, new time-outs apply at once.
  void reevaluate_access();
  /// True until its first request has come.
  bool is_new() const { return new_; }
  /// True while a request waits for the check of its password; it is no exchange yet.
  bool is_authenticating() const { return authenticating_ != nullptr; }

 private:
  void on_read(std::string_view bytes) override;
  void on_gone() override;
  void on_drained() override;

  Takes takes() const override;
  bool on_request(http::RequestHead&& head) override;
  bool on_body(std::string_view bytes) override;
  void on_body_end(http::Fields&& trailers) override;

  void answer_interim(int status, std::string_view reason, const http::Fields& fields) override;
  void answer_head(int status, std::string_view reason, const http::Fields& fields,
                   std::optional<std::uint64_t> length) override;
  bool has_room() const override;
  std::size_t untaken() const override { return stream_->unread_by_peer(); }
  void answer_body(std::string_view bytes) override;
  void body_wanted() override { reader_.body_wanted(); }
  PinnedPools* pinned_pools() override { return &pinned_pools_; }
  std::string_view user() const override { return user_; }
  const HeldBytes& held() const override { return held_; }
  bool gives_hints() const override { return services_.verdict.gives_hints(from_); }
  std::unique_ptr<loop::Stream> hand_over(std::string& early) override;
  std::unique_ptr<loop::Stream> give_away(std::string& early) override;
  void answer_end(const http::Fields& trailers) override;
  void answer_broken() override;
  void answer_refusal(const http::Refusal& refusal) override;

  std::unique_ptr<loop::Stream> lend_stream(std::string& early) override;
  void return_stream(std::unique_ptr<loop::Stream> stream, std::string_view early) override;
  void on_requests_inside(std::unique_ptr<OuterConnect> connect) override;
  void on_tunnel(http::RequestHead head, Admission::Tunnels tunnels) override;
  void on_lost() override;

  /// A request whose password is being checked.
  struct Authenticating {
    http::RequestHead head;
    std::unique_ptr<Authenticator::Check> check;
  };

  void begin(http::RequestHead&& head);
  const http::Fields& credentials_of(const http::RequestHead& head) const;
  bool is_let_in(http::RequestHead& head);
  bool on_authenticated(const Authenticator::Verdict& verdict);
  void await_authentication(http::RequestHead& head);
  void end_authentication(const Authenticator::Verdict& verdict);
  void admit(http::RequestHead&& head);
  void refuse_arrival(const http::Refusal& refusal);
  bool open_at_once(http::RequestHead& head);
  void after_reading();
  void go_on();
  void serve_next();
  void refuse_unread(const http::Refusal& refusal);
  void answered();
  void keep_time();
  ClientTimeouts::For awaited() const;
  void on_timed_out();
  void close_politely();
  void leave();
  std::string& out() { return stream_->out(); }

  Clients& clients_;
  Dispatcher& dispatcher_;
  const Services& services_;
  std::unique_ptr<loop::Stream> stream_;
  const HeldBytes held_;
  http::ResponseWriter writer_;
  http::AnswerTo answering_;
  PinnedPools pinned_pools_;
  loop::IterationEnd going_on_;
  RequestReader reader_;
  ClientTimeouts timeouts_;
  std::size_t untaken_ = 0;       // bytes of our answers not taken when the time-out last fired
  Exchange* exchange_ = nullptr;  // under way; null also while a refused request's body is read
  bool serving_ = false;          // a request has begun and its answer has not ended
  std::unique_ptr<Authenticating> authenticating_;
  std::string user_;                         // of the last request; empty if access.users is not set
  std::unique_ptr<ConnectSniffer> sniffer_;  // null: no CONNECT is being sniffed
  std::unique_ptr<OuterConnect> outer_;      // null: the requests come in none
  bool connect_answered_ = false;            // the 200 was sent before the exchange, which is a tunnel
  bool closing_ = false;
  bool closes_after_answers_ = false;
  bool new_ = true;  // no request has come yet
  const access::Address from_;
  bool client_allowed_;
};

}  // namespace penstock::proxy
