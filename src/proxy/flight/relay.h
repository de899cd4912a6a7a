// SPDX-License-Identifier: Apache-2.0
// The open part of a tunnel: copies bytes both ways between two streams until both sides have closed, then ends the
// exchange. Copies nothing that the kernel accepts at once, and buffers at most one read per direction. While the
// client asks nothing the tunnel rests and gives up its slot; it needs a slot again before it forwards more client
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/refusal.h"
#include "loop/stream.h"
#include "loop/timer.h"
#include "proxy/exchange/attempt.h"
#include "proxy/exchange/attempt_events.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/open_tunnels.h"
#include "proxy/exchange/services.h"
#include "tls/client_hello.h"

namespace penstock::proxy {

class Relay final : HalfClosedTunnel {
 public:
  /// What opened the tunnel. After a CONNECT the client's TLS hello is parsed, and a tunnel without a byte from the
  /// upstream has failed. After a 101 the upstream has already spoken.
  enum class After : std::uint8_t { connect, upgrade };

  /// The tunnel is one of `tunnels` once it is open.
  Relay(const Services& services, AttemptEvents& events, Exchange& exchange, OpenTunnels& tunnels, After after);

  /// Starts relaying. From now on the relay ends the exchange by itself.
  void open(std::unique_ptr<loop::Stream> client, std::unique_ptr<loop::Stream> upstream);
  bool is_open() const { return entry_.has_value(); }
  /// Bytes that came before the relay was open and have not been passed on.
  void pass_from_client(std::string_view bytes) { pass(client_, bytes); }
  void pass_from_upstream(std::string_view bytes) { pass(upstream_, bytes); }
  /// The tunnel has a slot again.
  void go_on();
  /// Closes the tunnel to make room for others; `why` is for people.
  void make_room(std::string_view why) override;
  static constexpr std::string_view kRested = "closed to let others in: it had rested longest (maxTunnels)";
  /// Ends the tunnel from outside, for the reason given.
  void abort(const http::Refusal& refusal);
  /// If the client has closed its side: whether the tunnel may be closed to make room for others.
  bool may_make_room() const override;
  /// Restarts the timer; also to be called when the time-outs may have changed.
  void keep_time();

  AttemptResult result() const;  ///< empty until it is open

 private:
  struct Side final : loop::StreamEvents {
    explicit Side(Relay& its_passage) : relay(its_passage) {}
    void on_read(std::string_view more) override { relay.pass(*this, more); }
    void on_gone() override { relay.gone(*this); }
    void on_drained() override { relay.drained(*this); }
    void on_end() override { relay.ended(*this); }

    Relay& relay;
    std::unique_ptr<loop::Stream> stream;
    std::uint64_t bytes = 0;  // bytes received from this side
    bool has_ended = false;   // this side sends no more
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
  void park();
  void stop_idling(std::int64_t now);
  bool spoke() const { return upstream_spoke_ || upstream_.bytes > 0; }
  void finish(bool well, const AttemptFailure& otherwise);
  std::int64_t end_deadline() const;
  std::int64_t rest_deadline() const;

  const Services& services_;
  AttemptEvents& events_;
  Exchange& exchange_;
  OpenTunnels& tunnels_;
  loop::Timer timer_;
  std::int64_t moved_ = 0;   // when the last byte moved
  const int status_;         // of the response that opened it
  std::size_t untaken_;      // bytes that the peers had not read when last checked since `moved_`
  std::int64_t rested_ = 0;  // when the upstream was last told that the tunnel rests
  State state_ = State::busy;
  bool awaits_ = false;                      // the last byte came from the client, so an answer is awaited
  std::string held_;                         // client bytes that wait for a slot
  std::uint64_t heard_ = 0;                  // upstream bytes received when the client closed its side
  std::optional<OpenTunnels::Entry> entry_;  // once the tunnel is open
  bool upstream_spoke_;                      // also true if it spoke before the relay was open
  tls::ClientHello hello_;
  bool hello_wanted_;
  Side client_, upstream_;
};

}  // namespace penstock::proxy
