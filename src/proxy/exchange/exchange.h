// SPDX-License-Identifier: Apache-2.0
// One request from its head to its outcome: what was asked, by which sink, its state, and the body bytes that have come
// but not yet left. The dispatcher owns it and moves it along; its attempt is a separate object.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "flow/scheduler.h"
#include "http/request_head.h"
#include "http/target.h"
#include "proxy/exchange/attempt.h"
#include "proxy/exchange/pending_memory.h"
#include "proxy/exchange/queue_shares.h"
#include "proxy/exchange/request_load.h"
#include "proxy/exchange/response_sink.h"
#include "proxy/exchange/sendings.h"
#include "proxy/exchange/taken_departure.h"
#include "proxy/route/routes.h"

namespace penstock::proxy {

class Upstream;
class UpstreamQueue;

/// Body bytes on their way from the client to the upstream.
class BodyBuffer {
 public:
  void append(std::string_view bytes);
  /// Moves out at most `space` bytes.
  std::size_t take(char* room, std::size_t space);
  std::size_t size() const { return bytes_.size() - taken_; }
  /// The bytes that take() gives next; valid until the next call.
  std::string_view next() const { return std::string_view(bytes_).substr(taken_); }

  /// Puts something before the byte of next() that has this number. Nothing may have been taken yet.
  void insert(std::size_t before, std::string_view bytes) { bytes_.insert(before, bytes); }

  /// From now on keeps what take() gives, to give it again, as long as the body is no longer than that. 0: not at all.
  void keep(std::size_t most);
  /// Gives everything from the start again. False, and nothing happens: some of it is gone.
  bool rewind();
  /// What is in memory begins with the first byte.
  bool from_start() const { return !dropped_; }
  /// What take() gives is kept.
  bool keeps() const { return !dropped_ && most_kept_ > 0; }
  /// So many bytes are in memory, taken or not.
  std::size_t held() const { return bytes_.size(); }

  bool whole = false;                            ///< the end of the body has come
  std::unique_ptr<const http::Fields> trailers;  ///< null: none

 private:
  std::string bytes_;
  std::size_t taken_ = 0;
  std::size_t most_kept_ = 0;
  bool dropped_ = false;
};

/// For its events: where a request comes from, and what its group is called.
struct Origin {
  std::string user;                                ///< the authenticated user of the sink
  std::string_view client;                         ///< of the sink, or in `kept_client`
  std::unique_ptr<const std::string> kept_client;  ///< of what may outlive the sink: a tunnel
  std::string_view trace;  ///< the trace-id of its traceparent, in the exchange's head; empty: none
  std::string group;       ///< its group's name as people may see it

  /// The sink may go before the exchange ends.
  void keep_client() { client = *(kept_client = std::make_unique<const std::string>(client)); }
};

struct Exchange {
  enum class Stage : std::uint8_t { pending, in_flight };

  Exchange(ResponseSink& who, http::RequestHead&& what);
  ~Exchange();

  ResponseSink& sink;
  http::RequestHead head;
  http::Target target;
  std::shared_ptr<const void> tables;  ///< what the target refers to, kept alive when it is no longer in force
  BodyBuffer body;

  std::uint64_t number = 0;     ///< its id in the ExchangeTable
  std::array<char, 11> name{};  ///< its id in events
  Stage stage = Stage::pending;
  bool rests = false;                            ///< is a tunnel without a slot
  flow::LimitIndex limited_by = flow::kNoLimit;  ///< the limit that made the request wait
  Upstream* upstream = nullptr;
  UpstreamQueue* queue = nullptr;                 ///< in which its ticket is good; set with `upstream`
  std::string group;                              ///< empty: the upstream has no groups
  std::unique_ptr<const TakenRoute> taken_route;  ///< null: no route fits
  Origin origin;
  RequestLoad load;
  flow::Ticket ticket;
  TakenDeparture departure;  ///< its current or last one
  Sendings sendings;
  std::int64_t arrived = 0;
  std::int64_t took_off = 0;
  std::int64_t waited = 0;
  PendingMemory::Charge memory;  ///< what it is charged of caps.pendingMemory
  QueueShares::Entry share;
  std::unique_ptr<Attempt> flight;

  std::string_view id() const { return {name.data(), name.size()}; }
  /// Sets the queue in which it will wait, and its route. A tunnel has none: what is asked for in it is not seen. A
  /// route's weight is the least.
  void take_place();
  const RouteTerms& route() const;
  /// Those of its route, or of its upstream.
  const TimeoutConfig& timeouts() const;
  const RetryConfig& retry() const;
  const Obey& obey() const;
  Duration max_wait() const;
  /// In which limits it counts, and with which requests it waits.
  flow::LaneKey lane() const { return flow::LaneKey(group, route().holds ? route().limits : std::string_view()); }
  /// Whether a permit of these lanes may be its own: see LimiterEvents::cut().
  bool is_in(flow::Booking::Scope scope, flow::LaneKey lanes) const;
  /// The memory in bytes that it holds while pending.
  std::size_t bytes() const;
  /// The kernel has accepted the request's head. If that is later than the booked departure, the limiter is told. Only
  /// the first call after a departure counts.
  void leaves(std::int64_t now);
  /// It takes off: of its queue's shares, from now on only the rest of its body counts.
  void leave_shares();
  /// Whether a pause stops the lane in which it would wait.
  bool is_paused(std::int64_t now) const;
  /// Whether the exchange is a tunnel, or may become one.
  bool may_rest() const { return target.tunnel || (!head.upgrade.empty() && !is_permit()); }
  /// Whether it asks for a permit: its flight is then the client's own work.
  bool is_permit() const { return target.permit != http::Target::Permit::none; }
  /// Whether anything is in memory only because the request may be sent again.
  bool keeps() const { return body.keeps() || sendings.answer || sendings.holding > 0; }
  /// Whether the request may be sent twice: a safe method, no body, and not sent again before.
  bool repeatable() const;
};

}  // namespace penstock::proxy
