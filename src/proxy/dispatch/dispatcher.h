// SPDX-License-Identifier: Apache-2.0
// The middle of the proxy: judges each request, hands it to its upstream's heart, carries out what the heart commands,
// and ends each exchange, in one place, with one outcome. Owns the exchanges and the upstreams. The loop's thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string_view>

#include "access/address.h"
#include "http/refusal.h"
#include "http/request_parser.h"
#include "http/response_head.h"
#include "penstock/event.h"
#include "penstock/snapshot.h"
#include "proxy/dispatch/admission.h"
#include "proxy/dispatch/upstreams.h"
#include "proxy/exchange/attempt_events.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/exchange_table.h"
#include "proxy/exchange/pending_memory.h"
#include "proxy/exchange/response_sink.h"
#include "proxy/exchange/services.h"
#include "proxy/intercept/interception_service.h"
#include "tls/client_identity.h"

namespace penstock::proxy {

/// `outside`: where the CONNECT leads; `details` are for people, where it came to nothing.
struct HandshakeReport {
  const http::Target& outside;
  Handshake result;
  std::string_view user;
  std::string_view details;
};

class Dispatcher final : UpstreamOwner, AttemptEvents {
 public:
  explicit Dispatcher(Services services);
  ~Dispatcher();

  /// A request came. Nothing: it was refused, and the requester told so. Otherwise the exchange lives until the
  /// requester hears of its end or abandons it. `outside`: where the CONNECT leads that it came in, if it came in one.
  Exchange* accept(ResponseSink& sink, http::RequestHead&& head, const http::Target* outside = nullptr,
                   Admission::Tunnels tunnels = Admission::Tunnels::as_ever);
  /// A CONNECT that shall be answered at once, for what is inside is governed. Nothing: accept() it.
  std::optional<Admission::Opening> opening(const http::RequestHead& head, bool gives_hints) const;
  /// A request that was refused before it was read whole: only to be told of.
  void report_refused(const http::Refusal& refusal);
  /// TLS with a client in the place of an upstream has come to this: counted, and, if it came to nothing, told of.
  void report_handshake(const HandshakeReport& what);

  /// The requester appended to `body`, or marked it whole.
  void body_came(Exchange& exchange);
  /// Whether more of the body should be read now.
  bool wants_body(const Exchange& exchange) const;
  /// The requester has room for more of the answer.
  void resume(Exchange& exchange);
  /// The rest of the request turned out malformed: the requester is told so, or the answer breaks off.
  void reject(Exchange& exchange, const http::Refusal& refusal);
  /// The requester is gone; it hears no more.
  void abandon(Exchange& exchange);

  /// The configuration is another one, and so are its connections: it holds for whoever comes from now on, and for what
  /// is under way as far as it does not undo what was decided.
  void change();

  /// Closes the tunnel whose client, this one or any, closed its side first, so that a seat is free. False: there is
  /// none.
  bool make_room(const std::optional<access::Address>& client);

  /// From now on newcomers are refused; `when_empty` is called once nothing is under way.
  void drain(std::move_only_function<void()> when_empty);
  /// Refuses what is pending and breaks off what is in flight.
  void end_all();

  bool draining() const { return draining_; }
  void snapshot(Snapshot& into) const;

 private:
  void completed(Exchange& exchange) override;
  void failed(Exchange& exchange, http::Why why, std::string_view details, Outcome outcome) override;
  void stalled(Exchange& exchange, std::string_view details) override;
  void requeue(Exchange& exchange) override;
  void observe_pause(const Exchange& exchange, const http::ResponseHead& head) override;
  void park(Exchange& exchange) override;
  void wants_slot(Exchange& exchange) override;
  void mark_spare(Exchange& exchange) override;
  std::list<HalfClosedTunnel*>& half_closed() override { return half_closed_; }

  struct Ending {
    EventKind kind;
    Outcome outcome;
    int status = 0;
    std::string_view error, detail, refusal;
  };

  Exchange* enter(Exchange& exchange, const http::RequestHints& hints);
  std::optional<http::Refusal> find_place(Exchange& exchange, std::size_t entry);
  Exchange* refuse(Exchange& exchange, const http::Refusal& refusal);

  template <typename Call>
  void moved_by(Upstream& upstream, Call call);
  void move(Upstream& upstream, const Change& change) override;
  void cut(Upstream& upstream, flow::Booking::Scope scope, std::string_view group, std::size_t count) override;
  void take_slot(Exchange& exchange);
  void carry_out(Upstream& upstream);
  void start(const flow::Commands::Start& command);
  std::unique_ptr<Attempt> attempt_for(Exchange& exchange);
  void refuse_pending(const flow::Commands::Refuse& command);
  void go_on(ExchangeTable::Id number);
  void make_room(ExchangeTable::Id number);
  void abort(Exchange& exchange, const http::Refusal& why);
  void note_wait(Exchange& exchange) const;
  void end(Exchange& exchange, const Ending& ending);

  Event describe(const Exchange& exchange, EventKind kind) const;
  void emit(const Exchange& exchange, const Ending& ending);
  void count(Totals& totals, Outcome outcome);
  void tell_of(const HandshakeReport& what, Upstream& upstream);
  void tell(Event event);
  void when_drained();
  std::array<char, 11> next_name();

  Services services_;
  Admission admission_;
  Upstreams upstreams_;
  tls::ClientIdentities identities_;
  std::list<HalfClosedTunnel*> half_closed_;
  PendingMemory memory_;
  TunnelTotals tunnels_;  // before the exchanges, which count themselves out of it
  ExchangeTable exchanges_;
  std::uint64_t hints_dropped_ = 0;
  std::uint64_t serial_;
  bool draining_ = false;
  std::move_only_function<void()> when_empty_;
};

}  // namespace penstock::proxy
