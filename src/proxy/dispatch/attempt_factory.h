// SPDX-License-Identifier: Apache-2.0
// Makes the attempts, each of the kind that its request needs, and keeps what they share: the tunnels that are open,
// and the client identities for TLS without libcurl. Only for the dispatcher.
#pragma once

#include <memory>

#include "proxy/exchange/attempt.h"
#include "proxy/exchange/attempt_events.h"
#include "proxy/exchange/exchange.h"
#include "proxy/exchange/open_tunnels.h"
#include "proxy/exchange/services.h"
#include "tls/client_identity.h"

namespace penstock::proxy {

class AttemptFactory {
 public:
  AttemptFactory(const Services& services, AttemptEvents& events) : services_(services), events_(events) {}

  /// This object must outlive the attempt.
  std::unique_ptr<Attempt> make(Exchange& exchange);
  /// The configuration has changed: files of identities are read again.
  void change() { identities_.forget(); }
  OpenTunnels& tunnels() { return tunnels_; }
  const OpenTunnels& tunnels() const { return tunnels_; }

 private:
  const Services& services_;
  AttemptEvents& events_;
  tls::ClientIdentities identities_;
  OpenTunnels tunnels_;
};

}  // namespace penstock::proxy
