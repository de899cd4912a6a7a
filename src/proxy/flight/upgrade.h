// SPDX-License-Identifier: Apache-2.0
// A request with `Upgrade`, between take-off and landing: dial, send its head, read the response's head. A 101 that
// names a requested protocol turns it into a tunnel; any other response passes as a response. The connection is not
// reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/body_decoder.h"
#include "http/line_buffer.h"
#include "loop/stream.h"
#include "loop/timer.h"
#include "proxy/exchange/attempt.h"
#include "proxy/exchange/attempt_events.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/open_tunnels.h"
#include "proxy/exchange/services.h"
#include "proxy/flight/dialer.h"
#include "proxy/flight/relay.h"
#include "proxy/flight/response_relay.h"

namespace penstock::proxy {

class Upgrade final : public Attempt, private DialerEvents, private loop::StreamEvents {
 public:
  /// It is one of `tunnels` once it is a tunnel.
  Upgrade(const Services& services, AttemptEvents& events, Exchange& exchange, OpenTunnels& tunnels,
          tls::ClientIdentities& identities);

  void take_off() override { dialer_.start(); }
  void resume() override;
  void go_on() override { relay_.go_on(); }
  void make_room() override { relay_.make_room(Relay::kRested); }
  void keep_time() override;
  void abort(const http::Refusal& refusal) override;
  void conclude() override { answer_.conclude(); }
  AttemptResult result() const override { return relay_.is_open() ? relay_.result() : answer_.result(); }

 private:
  void on_dialled(std::unique_ptr<loop::Stream> upstream) override;
  void on_not_dialled(const http::Refusal& refusal) override;
  void on_read(std::string_view bytes) override;
  void on_drained() override {}
  void on_end() override;
  void on_gone() override;

  std::string head() const;
  void read_head(std::string_view bytes);
  void wait_for_room();
  void read_body(std::string_view bytes);
  void pass_head();
  void complete();
  void switch_protocols(std::string_view behind);
  void broken();
  bool answered() const { return answer_.answered(); }
  void fail(http::Reason why, const std::string& details) { fail({.why = why, .details = details}); }
  void fail(const http::Refusal& refusal);
  void keep_own_time();
  void on_time();
  std::int64_t deadline() const;
  void client_or_upstream_is_idle();

  const Services& services_;
  AttemptEvents& events_;
  Exchange& exchange_;
  Dialer dialer_;
  Relay relay_;
  std::unique_ptr<loop::Stream> upstream_;  // until the relay takes it
  http::LineBuffer lines_;
  ResponseRelay answer_;
  std::optional<http::BodyDecoder> decoder_;
  loop::Timer timer_;
  loop::Timer rest_;  // ends a rest of the upstream, see ResponseRelay::rests_until()
  std::int64_t sent_ = 0;
  std::int64_t moved_ = 0;  // when the last body byte moved
};

}  // namespace penstock::proxy
