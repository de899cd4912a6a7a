// SPDX-License-Identifier: Apache-2.0
// One client's connection: reads requests, some ahead of their turn, has them served one after the other, and writes
// the answers in that order. What it may not take it leaves unread. A CONNECT in which requests may be is the same
// connection, from there on (inside_connect.cc). Owned by Clients.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/request_parser.h"
#include "http/response_writer.h"
#include "loop/iteration_end.h"
#include "loop/stream.h"
#include "loop/timer.h"
#include "proxy/client/authenticator.h"
#include "proxy/client/client_timeouts.h"
#include "proxy/dispatch/dispatcher.h"
#include "proxy/exchange/response_sink.h"
#include "proxy/intercept/tls_takeover.h"

namespace penstock::proxy {

class Clients;

inline constexpr std::string_view kEstablished = "HTTP/1.1 200 Connection established\r\n\r\n";

class ClientConnection final : private loop::StreamEvents,
                               private http::RequestSink,
                               private ResponseSink,
                               private TlsTakeoverEvents {
 public:
  /// `from`: where the client is. If its network may not use the proxy, its first request is refused. `held`: by all of
  /// its requests.
  ClientConnection(Clients& clients, Dispatcher& dispatcher, const Services& services,
                   std::unique_ptr<loop::Stream> stream, const access::Address& from, HeldBytes held);
  ~ClientConnection();

  /// From now on each answer is the connection's last.
  void close_after_answers() { closes_after_answers_ = true; }
  /// Closes if no request is under way. It may be gone from Clients when this returns.
  void close_if_idle();
  /// Whom to let in is another matter now, from the next request on; what it may take its time for, at once.
  void reevaluate_access();
  /// Whether its first request is still to come.
  bool is_new() const { return new_; }
  /// Whether it has a request that is no exchange yet, for its password is being checked.
  bool is_authenticating() const { return authenticating_ != nullptr; }

 private:
  void on_read(std::string_view bytes) override;
  void on_gone() override;
  void on_drained() override;

  void on_head(http::RequestHead&& head) override;
  void on_body(std::string_view bytes) override;
  void on_complete(http::Fields&& trailers) override;

  void answer_interim(int status, std::string_view reason, const http::Fields& fields) override;
  void answer_head(int status, std::string_view reason, const http::Fields& fields,
                   std::optional<std::uint64_t> length) override;
  bool has_room() const override;
  std::size_t untaken() const override { return stream_->unread_by_peer(); }
  void answer_body(std::string_view bytes) override;
  void body_wanted() override;
  PinnedPools* pinned_pools() override { return &pinned_pools_; }
  std::string_view user() const override { return user_; }
  const HeldBytes& held() const override { return held_; }
  bool gives_hints() const override { return services_.verdict.gives_hints(from_); }
  std::unique_ptr<loop::Stream> hand_over(std::string& early) override;
  std::unique_ptr<loop::Stream> give_away(std::string& early) override;
  void answer_end(const http::Fields& trailers) override;
  void answer_broken() override;
  void answer_refusal(const http::Refusal& refusal) override;

  void on_intercepted(std::unique_ptr<loop::Stream> stream) override;
  void on_h2_only(std::unique_ptr<loop::Stream> stream, std::string early) override;
  void on_not_intercepted(Handshake result, const std::string& details) override;

  /// A CONNECT that was answered before anything was dialled. What is inside is still to be seen.
  struct Opened {
    Admission::Opening what;
    http::RequestHead head;
    loop::Timer patience;
    std::unique_ptr<TlsTakeover> interception;                 // nothing: TLS inside is not for us
    Admission::Tunnels tunnels = Admission::Tunnels::as_ever;  // should it become one
  };

  /// The CONNECT that all requests come inside.
  struct Outside {
    http::Target target;
    http::Fields credentials;
  };

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
  bool bypasses(const http::Target& outside);
  void sniff();
  void intercept();
  void serve_inside();
  void on_first_request_in_tls();
  void on_silent_close();
  void report_handshake(const http::Target& outside, Handshake result, std::string_view details = {});
  void report_rejection(const http::Target& outside, Handshake result, CertificateRejections::Sign sign,
                        std::string details);
  void become_tunnel();
  void on_sniff_timeout();
  void parse(std::string_view bytes);
  bool may_parse() const;
  bool wants_bytes() const;
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
  http::RequestParser parser_;
  http::ResponseWriter writer_;
  http::AnswerTo answering_;
  PinnedPools pinned_pools_;
  loop::IterationEnd going_on_;
  loop::Timer breath_;      // of the loop, while there is more to parse than one turn should have
  std::size_t pieces_ = 0;  // of a body, since parsing began in this turn
  ClientTimeouts timeouts_;
  std::size_t untaken_ = 0;               // of our answers, when patience was over last
  std::string unread_;                    // bytes that the parser may not have yet
  std::vector<http::RequestHead> ahead_;  // requests whose turn has not come; only the last may have a body
  std::size_t ahead_bytes_ = 0;
  Exchange* exchange_ = nullptr;  // under way; nothing also while a refused body is still to be read
  bool serving_ = false;          // a request's turn has begun and its answer has not ended
  bool body_whole_ = true;        // of the request being served
  bool connecting_ = false;       // it is a CONNECT, or was until this turn: what comes behind it is not HTTP
  std::unique_ptr<Authenticating> authenticating_;
  std::string user_;  // that the last request has named, where users must
  std::unique_ptr<Opened> opened_;
  std::unique_ptr<Outside> outside_;
  std::int64_t intercepted_at_ = 0;  // when, as long as no request has come since
  bool connect_answered_ = false;    // the 200 was said, and a tunnel is wanted
  bool upgrading_ = false;           // it may become a tunnel: what comes behind it may not be HTTP
  bool reading_ = false;
  bool failed_ = false;  // the parser has; its refusal comes when all before it are answered
  bool closing_ = false;
  bool closes_after_answers_ = false;
  bool new_ = true;  // no request has come yet
  const access::Address from_;
  bool client_allowed_;
};

}  // namespace penstock::proxy
