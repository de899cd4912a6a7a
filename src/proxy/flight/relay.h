// SPDX-License-Identifier: Apache-2.0
// The open part of a tunnel: bytes both ways between two streams until both sides have closed, and then the end of the
// exchange. Copies nothing that the kernel takes at once, and keeps at most one read of each direction. It rests while
// the client has nothing to ask: without a slot, which it needs again before the upstream hears more of the client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "access/address.h"
#include "http/refusal.h"
#include "loop/stream.h"
#include "loop/timer.h"
#include "penstock/event.h"
#include "penstock/snapshot.h"
#include "proxy/exchange/attempt_events.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/services.h"
#include "tls/client_hello.h"

namespace penstock::proxy {

class Relay final : HalfClosedTunnel {
 public:
  /// What opened it. Behind a CONNECT the client's TLS hello is read along, and an upstream that never says a byte has
  /// failed; behind a 101 it has spoken already.
  enum class After : std::uint8_t { connect, upgrade };

  /// Counts itself and its bytes in `all` once it is open.
  Relay(const Services& services, AttemptEvents& events, Exchange& exchange, TunnelTotals& all, After after);
  ~Relay();

  /// From now on it ends the exchange by itself.
  void open(std::unique_ptr<loop::Stream> client, std::unique_ptr<loop::Stream> upstream);
  bool is_open() const { return open_; }
  /// What came before it was open, and has not been passed on.
  void pass_from_client(std::string_view bytes) { pass(client_, bytes); }
  void pass_from_upstream(std::string_view bytes) { pass(upstream_, bytes); }
  /// It has a slot again.
  void go_on();
  /// It goes so that others find room; `why` is for people.
  void make_room(std::string_view why) override;
  static constexpr std::string_view kRested = "closed to let others in: it had rested longest (maxTunnels)";
  /// For another's sake or for none: from outside.
  void abort(const http::Refusal& refusal);
  /// Of one whose client has closed its side: whether it may go so that others find room.
  bool may_make_room() const override;
  /// Likewise: whether this client is at its near end; nothing: any is.
  bool is_of(const std::optional<access::Address>& client) const override;
  /// Also when its time-outs may be others.
  void keep_time();

  /// Its views live as long as the passage.
  void describe(Event& event) const;

 private:
  struct Side final : loop::StreamEvents {
    explicit Side(Relay& its_passage) : relay(its_passage) {}
    void on_read(std::string_view more) override { relay.pass(*this, more); }
    void on_gone() override { relay.gone(*this); }
    void on_drained() override { relay.drained(*this); }
    void on_end() override { relay.ended(*this); }

    Relay& relay;
    std::unique_ptr<loop::Stream> stream;
    std::uint64_t bytes = 0;  // that came from it
    bool has_ended = false;   // it sends no more
  };

  enum class State : std::uint8_t { busy, resting, wants_slot };

  void pass(Side& from, std::string_view bytes);
  bool may_pass(const Side& from, std::string_view bytes);
  void cut();
  void drained(Side& side);
  void ended(Side& side);
  void gone(Side& side);
  void end(bool client_first);
  Side& other(const Side& side) { return &side == &client_ ? upstream_ : client_; }
  void moved();
  bool stalls();
  void on_time();
  void rest();
  void stop_idling(std::int64_t now);
  bool spoke() const { return upstream_spoke_ || upstream_.bytes > 0; }
  void finish(bool well, http::Why why, std::string_view details, Outcome outcome);
  std::int64_t end_deadline() const;
  std::int64_t rest_deadline() const;

  const Services& services_;
  AttemptEvents& events_;
  Exchange& exchange_;
  TunnelTotals& all_;
  loop::Timer timer_;
  std::int64_t moved_ = 0;   // when a byte last did
  std::size_t untaken_;      // by both sides, when last looked at since then
  std::int64_t rested_ = 0;  // when the dispatcher was last told that it does
  State state_ = State::busy;
  bool awaits_ = false;                     // the last byte came from the client: an answer is awaited
  std::string held_;                        // of the client, until there is a slot
  std::uint64_t heard_ = 0;                 // bytes of the upstream when the client ended
  std::optional<access::Address> address_;  // of the client, from then on
  std::optional<std::list<HalfClosedTunnel*>::iterator> half_closed_;
  bool open_ = false;
  bool upstream_spoke_;  // before it was open
  tls::ClientHello hello_;
  bool hello_wanted_;
  Side client_, upstream_;
};

}  // namespace penstock::proxy
