// SPDX-License-Identifier: Apache-2.0
// Connects to a target: look up its name, judge the addresses and dial one after the other, with TLS for https, within
// `timeouts.connect` and `timeouts.total`. For connections that do not go through libcurl.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "http/refusal.h"
#include "loop/resolver.h"
#include "loop/stream.h"
#include "loop/timer.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/services.h"
#include "tls/client_identity.h"

namespace penstock::proxy {

/// The result of a Dialer: exactly one of these calls. The Dialer may be destroyed in either.
class DialerEvents {
 public:
  virtual void on_dialled(std::unique_ptr<loop::Stream> stream) = 0;
  virtual void on_not_dialled(const http::Refusal& refusal) = 0;

 protected:
  ~DialerEvents() = default;
};

class Dialer final : private loop::StreamEvents {
 public:
  /// `identities` is required for https targets.
  Dialer(const Services& services, const Exchange& exchange, DialerEvents& events,
         tls::ClientIdentities* identities = nullptr);

  /// To be called once the exchange has taken off.
  void start();
  /// Restarts the timer; also to be called when the time-outs may have changed.
  void keep_time();

 private:
  void on_read(std::string_view) override {}
  void on_drained() override {}
  void on_connected() override;
  void on_gone() override;

  void look_up();
  void judge_addresses(const loop::Addresses& addresses);
  void dial();
  void not_connected(loop::DialFailure failure);
  void fail(const http::Refusal& refusal);
  void on_time();

  const Services& services_;
  const Exchange& exchange_;
  DialerEvents& events_;
  loop::Timer timer_;
  std::unique_ptr<loop::Resolver::Lookup> lookup_;
  loop::Addresses addresses_;  // those that may be dialled
  std::size_t dialled_ = 0;    // number of addresses tried so far
  tls::ClientIdentities* const identities_;
  std::shared_ptr<const tls::ClientIdentity> identity_;  // null: no TLS
  std::int64_t connect_by_;
  std::int64_t attempt_ends_;
  std::unique_ptr<loop::Stream> stream_;
};

}  // namespace penstock::proxy
