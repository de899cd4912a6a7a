// SPDX-License-Identifier: Apache-2.0
// A CONNECT that was answered with 200 before anything was dialled, because a client sends its first bytes only then.
// They tell what it carries: plain requests, or TLS to be taken over (tls_takeover.h) with requests in it; each request
// is then limited by itself. Anything else becomes a tunnel.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "http/request_head.h"
#include "loop/stream.h"
#include "loop/timer.h"
#include "proxy/client/outer_connect.h"
#include "proxy/client/takeover_reports.h"
#include "proxy/dispatch/admission.h"
#include "proxy/exchange/services.h"
#include "proxy/intercept/tls_takeover.h"

namespace penstock::proxy {

/// What a ConnectSniffer asks of the client's connection, and its result: on_requests_inside(), on_tunnel() or
/// on_lost() is called, once, and may destroy the ConnectSniffer.
class ConnectSnifferEvents {
 public:
  /// Gives the stream away for a TLS takeover, with what was read of it in `early`.
  virtual std::unique_ptr<loop::Stream> lend_stream(std::string& early) = 0;
  /// Gets a stream back, which reads as if `early` came next.
  virtual void return_stream(std::unique_ptr<loop::Stream> stream, std::string_view early) = 0;

  virtual void on_requests_inside(std::unique_ptr<OuterConnect> connect) = 0;
  /// Neither a request nor TLS that can be taken over: the CONNECT is to be accepted as a tunnel.
  virtual void on_tunnel(http::RequestHead head, Admission::Tunnels tunnels) = 0;
  /// The takeover failed and the stream is gone, or the client was silent for too long: to be closed.
  virtual void on_lost() = 0;

 protected:
  ~ConnectSnifferEvents() = default;
};

class ConnectSniffer final : private TlsTakeoverEvents {
 public:
  /// The patience with a silent client begins now.
  ConnectSniffer(const Services& services, Admission::Opening&& opening, http::RequestHead&& head,
                 TakeoverReports reports, ConnectSnifferEvents& events);

  /// All that was read so far, unless it is empty. Not to be called while the stream is lent.
  void sniff(std::string_view bytes);

 private:
  void on_intercepted(std::unique_ptr<loop::Stream> stream) override;
  void on_h2_only(std::unique_ptr<loop::Stream> stream, std::string early) override;
  void on_not_intercepted(Handshake result, const std::string& details) override;

  void on_silence();
  void take_over();
  void become_tunnel();
  void serve_inside(std::int64_t intercepted_at);

  const Services& services_;
  Admission::Opening opening_;
  http::RequestHead head_;
  TakeoverReports reports_;
  ConnectSnifferEvents& events_;
  loop::Timer patience_;
  std::unique_ptr<TlsTakeover> takeover_;                     // null: TLS inside passes as a tunnel
  Admission::Tunnels tunnels_ = Admission::Tunnels::as_ever;  // if it becomes a tunnel
};

}  // namespace penstock::proxy
