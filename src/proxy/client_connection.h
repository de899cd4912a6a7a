// SPDX-License-Identifier: Apache-2.0
// One client's connection: reads requests, some ahead of their turn, has them served one after the other, and writes
// the answers in that order. What it may not take it leaves unread. Owned by Clients.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/request_parser.h"
#include "http/response_writer.h"
#include "loop/stream.h"
#include "loop/timer.h"
#include "loop/turn_end.h"
#include "proxy/dispatcher.h"
#include "proxy/requester.h"

namespace penstock::proxy {

class Clients;

class ClientConnection final : private loop::StreamEvents, private http::RequestSink, private Requester {
 public:
  /// `welcome`: whether its network may use the proxy; if not, its first request is refused.
  ClientConnection(Clients& clients, Dispatcher& dispatcher, const Services& services,
                   std::unique_ptr<loop::Stream> stream, bool welcome);
  ~ClientConnection();

  /// From now on each answer is the connection's last.
  void wind_down() { winding_down_ = true; }
  /// Closes if no request is under way. It may be gone from Clients when this returns.
  void close_if_idle();

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
  OwnConnections* own_connections() override { return &own_connections_; }
  std::unique_ptr<loop::Stream> hand_over(std::string& early) override;
  std::unique_ptr<loop::Stream> give_away(std::string& early) override;
  void answer_end(const http::Fields& trailers) override;
  void answer_broken() override;
  void answer_refusal(const http::Refusal& refusal) override;

  /// A CONNECT that was answered before anything was dialled. What is inside is still to be seen.
  struct Opened {
    http::Target outside;
    http::RequestHead head;
    bool may_be_silent;
    loop::Timer patience;
  };

  void begin(http::RequestHead&& head);
  bool open_at_once(http::RequestHead& head);
  void look_inside();
  void serve_inside();
  void become_tunnel();
  void heard_nothing();
  void parse(std::string_view bytes);
  bool may_parse() const;
  bool wants_bytes() const;
  void go_on();
  void serve_next();
  void answer_malformed();
  void answered();
  void leave();
  std::string& out() { return stream_->out(); }

  Clients& clients_;
  Dispatcher& dispatcher_;
  const Services& services_;
  std::unique_ptr<loop::Stream> stream_;
  http::RequestParser parser_;
  http::ResponseWriter writer_;
  http::AnswerTo answering_;
  OwnConnections own_connections_;
  loop::TurnEnd going_on_;
  std::string unread_;                    // bytes that the parser may not have yet
  std::vector<http::RequestHead> ahead_;  // requests whose turn has not come; only the last may have a body
  std::size_t ahead_bytes_ = 0;
  Exchange* exchange_ = nullptr;  // under way; nothing also while a refused body is still to be read
  bool serving_ = false;          // a request's turn has begun and its answer has not ended
  bool body_whole_ = true;        // of the request being served
  bool connecting_ = false;       // it is a CONNECT, or was until this turn: what comes behind it is not HTTP
  std::unique_ptr<Opened> opened_;
  std::unique_ptr<http::Target> outside_;  // all requests come inside a CONNECT to there
  bool greeted_ = false;                   // the 200 was said, and a tunnel is wanted
  bool upgrading_ = false;                 // it may become a tunnel: what comes behind it may not be HTTP
  bool reading_ = false;
  bool failed_ = false;  // the parser has; its refusal comes when all before it are answered
  bool closing_ = false;
  bool winding_down_ = false;
  const bool welcome_;
};

}  // namespace penstock::proxy
