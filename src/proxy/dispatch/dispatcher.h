// SPDX-License-Identifier: Apache-2.0
// The middle of the proxy: has each request judged, hands it to its upstream, starts it when the upstream says so, and
// ends each exchange, in one place, with one outcome. Owns the exchanges and the upstreams. The loop's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string_view>

#include "access/address.h"
#include "http/refusal.h"
#include "http/request_head.h"
#include "penstock/snapshot.h"
#include "proxy/dispatch/admission.h"
#include "proxy/dispatch/attempt_factory.h"
#include "proxy/dispatch/costs.h"
#include "proxy/dispatch/draining.h"
#include "proxy/dispatch/event_reporter.h"
#include "proxy/dispatch/foresight.h"
#include "proxy/dispatch/resending.h"
#include "proxy/dispatch/upstreams.h"
#include "proxy/exchange/attempt_events.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/exchange_table.h"
#include "proxy/exchange/pending_memory.h"
#include "proxy/exchange/response_sink.h"
#include "proxy/exchange/services.h"

namespace penstock::proxy {

class Dispatcher final : QueueEvents, AttemptEvents {
 public:
  explicit Dispatcher(Services services);
  ~Dispatcher();

  /// Accepts a request. Null: it was refused, and the sink was told. Otherwise the exchange lives until the sink is
  /// told of its end or abandons it. `outside`: the target of the CONNECT that the request came in; null: none.
  Exchange* accept(ResponseSink& sink, http::RequestHead&& head, const http::Target* outside = nullptr,
                   Admission::Tunnels tunnels = Admission::Tunnels::as_ever);
  /// For a CONNECT that is to be answered at once, because each request in it is limited. Nullopt: accept() it.
  std::optional<Admission::Opening> opening(const http::RequestHead& head, bool gives_hints) const;
  /// Emits the event of a request that was refused before it became an exchange. Returns its id if the answer is to
  /// have it. `request`: its fields, as far as they are known.
  std::optional<EventReporter::Name> report_refused(const http::Refusal& refusal, const Stranger& from = {},
                                                    const http::Fields& request = {});
  /// Counts the result of a TLS takeover, and emits an event if it failed.
  void report_handshake(const HandshakeReport& what);

  /// The sink has appended to `body`, or marked it whole.
  void body_came(Exchange& exchange);
  /// True if more of the body should be read now.
  bool wants_body(const Exchange& exchange) const;
  /// The sink has room for more of the answer.
  void resume(Exchange& exchange);
  /// The rest of the request is malformed or late: refuses the request, or breaks off an answer that has begun.
  void reject(Exchange& exchange, const http::Refusal& why_not);
  /// The sink is gone: it is not called again.
  void abandon(Exchange& exchange);

  /// The configuration and the upstream pools have changed. They apply to requests from now on, and to requests under
  /// way as far as that undoes no decision.
  void change();

  /// Frees a slot of the connection quota: closes the tunnel whose client (this one; nullopt: any) closed its side the
  /// longest ago. False: there is no such tunnel.
  bool make_room(const std::optional<access::Address>& client) { return attempts_.tunnels().make_room(client); }

  /// Ends all pauses of the upstream or quota of that name, here and in other processes. False: this process knows of
  /// none; nullopt: it knows no such upstream.
  std::optional<bool> end_pauses(std::string_view upstream);

  /// When a request would leave that came now; the error is what it would be told. It spends nothing.
  std::expected<Foresight, http::Refusal> ahead(const AheadQuery& query, Foresee what = Foresee::departure);

  /// Refuses new requests from now on; `when_empty` is called once no exchange is left.
  void drain(std::move_only_function<void()> when_empty);
  /// Refuses pending exchanges and breaks off those in flight.
  void end_all();

  bool draining() const { return draining_.under_way(); }
  void snapshot(Snapshot& into, const SnapshotExtent& extent = {}) const;
  /// The requests that wait at the upstream of that name; nullopt: there is none.
  std::optional<UpstreamDetails> details(std::string_view upstream);

 private:
  void completed(Exchange& exchange, const AttemptResult& result) override;
  void failed(Exchange& exchange, const AttemptFailure& failure, const AttemptResult& result) override;
  void stalled(Exchange& exchange, std::string_view details, const AttemptResult& result) override;
  void requeue(Exchange& exchange) override;
  bool send_again(Exchange& exchange, Again why, std::unique_ptr<KeptAnswer>& answer) override;
  bool holds(Exchange& exchange, std::size_t bytes) override { return resending_.holds(exchange, bytes); }
  void passes_on(Exchange& exchange) override { resending_.passes_on(exchange); }

  void on_start(const flow::Commands::Start& command) override;
  void on_refuse(const flow::Commands::Refuse& command) override;
  void on_resume(flow::RequestId id) override;
  void on_close(flow::RequestId id) override;
  void on_paused(UpstreamQueue& queue) override;
  void on_permits_lost(const UpstreamQueue& queue, flow::Booking::Scope scope, flow::LaneKey lane,
                       std::size_t count) override;

  Exchange* enter(Exchange& exchange, const http::RequestHints& hints);
  Exchange* refuse(Exchange& exchange, const http::Refusal& why_not);

  void give_last_answer(Exchange& exchange, const http::Refusal& otherwise);
  void end(Exchange& exchange, const Ending& ending);

  Services services_;
  Admission admission_;
  EventReporter reporter_;
  Upstreams upstreams_;
  AttemptFactory attempts_;
  PendingMemory memory_;
  Resending resending_;
  Costs costs_;
  ExchangeTable exchanges_;  // their attempts use all that is above
  std::uint64_t hints_dropped_ = 0;
  Draining draining_;
};

}  // namespace penstock::proxy
