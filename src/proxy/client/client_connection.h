// SPDX-License-Identifier: Apache-2.0
// One client's connection: has the requests that its RequestReader reads served one at a time, so that its ClientSink
// writes the answers in the same order. Requests inside a CONNECT are served by the same object. Owned by Clients.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "http/request_head.h"
#include "loop/iteration_end.h"
#include "loop/stream.h"
#include "proxy/client/authenticator.h"
#include "proxy/client/client_access.h"
#include "proxy/client/client_sink.h"
#include "proxy/client/client_timeouts.h"
#include "proxy/client/connect_sniffer.h"
#include "proxy/client/outer_connect.h"
#include "proxy/client/request_reader.h"
#include "proxy/dispatch/dispatcher.h"

namespace penstock::proxy {

class ClientConnection;

/// The owner of the connections.
class ClientConnectionEvents {
 public:
  /// The connection has nothing to do any more. It is on the call stack, so it must be destroyed later.
  virtual void on_left(ClientConnection& connection) = 0;

 protected:
  ~ClientConnectionEvents() = default;
};

class ClientConnection final : private loop::StreamEvents,
                               private RequestReaderEvents,
                               private ClientSinkEvents,
                               private ConnectSnifferEvents {
 public:
  /// `access`: of the client; if it may not use the proxy, the first request is refused. `held`: what all requests of
  /// this client hold of caps.pendingMemory.
  ClientConnection(ClientConnectionEvents& events, Dispatcher& dispatcher, const Services& services,
                   std::unique_ptr<loop::Stream> stream, ClientAccess access, HeldBytes held);

  /// Closes the connection after its next answer.
  void close_after_answers() { sink_.close_after_answers(); }
  /// Closes if no request is under way. The connection may have left when this returns.
  void close_if_idle();
  /// The configuration has changed: access is judged again from the next request on, new time-outs apply at once.
  void reevaluate_access();
  /// True until its first request has come.
  bool is_new() const { return new_; }
  /// True while a request waits for the check of its password; it is no exchange yet.
  bool is_authenticating() const { return std::holds_alternative<std::unique_ptr<Authenticating>>(phase_); }

 private:
  void on_read(std::string_view bytes) override;
  void on_gone() override;
  void on_drained() override;

  Takes takes() const override;
  bool on_request(http::RequestHead&& head) override;
  bool on_body(std::string_view bytes) override;
  void on_body_end(http::Fields&& trailers) override;

  void on_continue_sent() override;
  void on_answered(bool keeps) override;
  void on_broken() override;
  std::unique_ptr<loop::Stream> give_stream(std::string& early) override;

  std::unique_ptr<loop::Stream> lend_stream(std::string& early) override;
  void return_stream(std::unique_ptr<loop::Stream> stream, std::string_view early) override;
  void on_requests_inside(std::unique_ptr<OuterConnect> connect) override;
  void on_tunnel(http::RequestHead head, Admission::Tunnels tunnels) override;
  void on_lost() override;

  // The phases: Idle, then Authenticating where a password must be checked, then Serving, then Idle again, or Closing.
  // A CONNECT that is answered at once goes to SniffingConnect, and on to Idle, for requests inside it, or to Serving,
  // as a tunnel. Every phase may end in Closing.

  struct Idle {};

  /// The request's password is being checked.
  struct Authenticating {
    http::RequestHead head;
    std::unique_ptr<Authenticator::Check> check;
  };

  struct Serving {
    Exchange* exchange = nullptr;  // null also while a refused request's body is read

    Exchange& take() { return *std::exchange(exchange, nullptr); }
  };

  /// The request is a CONNECT that was answered before it was dialled.
  using SniffingConnect = std::unique_ptr<ConnectSniffer>;

  /// All is answered, and nothing more is read; the stream may be gone.
  struct Closing {};

  void on_verdict(const Authenticator::Verdict& verdict, http::RequestHead&& head);
  void admit(http::RequestHead&& head);
  void accept(http::RequestHead&& head, Admission::Tunnels tunnels);
  void refuse_arrival(const http::Refusal& refusal, const http::Fields& request = {});
  Exchange* exchange() const;
  void after_reading();
  void go_on();
  void refuse_unread(const http::Refusal& refusal);
  void keep_time();
  ClientTimeouts::For awaited() const;
  void on_timer();
  void close_politely();
  void leave();

  ClientConnectionEvents& events_;
  Dispatcher& dispatcher_;
  const Services& services_;
  std::unique_ptr<loop::Stream> stream_;
  ClientAccess access_;
  loop::IterationEnd going_on_;
  RequestReader reader_;
  ClientSink sink_;
  ClientTimeouts timeouts_;
  std::size_t untaken_ = 0;              // bytes of our answers not taken when the time-out last fired
  std::unique_ptr<OuterConnect> outer_;  // null: the requests come in no CONNECT
  bool new_ = true;                      // no request has come yet
  std::variant<Idle, std::unique_ptr<Authenticating>, Serving, SniffingConnect, Closing> phase_;
};

}  // namespace penstock::proxy
