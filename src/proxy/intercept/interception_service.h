// SPDX-License-Identifier: Apache-2.0
// What all TLS takeovers share: the certificate cache, the certificate rejections, and handshake slots. A handshake
// takes a good part of a millisecond on the loop, so few begin at once, and each client connection waits for a slot.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "loop/iteration_end.h"
#include "loop/timer.h"
#include "penstock/config.h"
#include "penstock/event.h"
#include "proxy/intercept/certificate_rejections.h"
#include "tls/certificate_cache.h"

namespace penstock::proxy {

/// The result of a client's TLS handshake with us in the place of another host.
enum class Handshake : std::uint8_t {
  done,
  rejected,    ///< the client rejected our certificate with an alert
  left,        ///< the client left after our certificate, without an alert: some reject in this way
  failed,      ///< failed in another way
  impossible,  ///< we have no certificate for the host
  overdue,     ///< it got no handshake slot in time
  timed_out,   ///< timeouts.header
  bypassed,    ///< not tried: the client gets a tunnel (intercept.bypassOnPin, intercept.h2Only)
};

class InterceptionService {
 public:
  /// Empty `notices`: none are sent.
  explicit InterceptionService(loop::Loop& loop, NoticeSink notices = {});

  /// Without an authority there are no certificates, and every takeover is impossible.
  void change(const InterceptConfig& config, std::shared_ptr<const tls::Authority> authority);

  /// Sends a notice, once for each host, that a client gets a tunnel because it speaks only HTTP/2.
  void tell_of_h2(const std::string& host);

  /// A handshake slot, or the wait for one: `begin` is called once, in order. Dropping it leaves the queue.
  class HandshakeSlot {
   public:
    HandshakeSlot(InterceptionService& interception, std::move_only_function<void()> begin);
    ~HandshakeSlot();
    HandshakeSlot(const HandshakeSlot&) = delete;

   private:
    friend class InterceptionService;
    InterceptionService& interception_;
    std::move_only_function<void()> begin_;
  };

  tls::CertificateCache leaves;
  CertificateRejections rejections;

 private:
  void give_slots();

  loop::Loop& loop_;
  const NoticeSink notices_;
  std::set<std::string> told_of_;  // hosts with a notice
  std::deque<HandshakeSlot*> waiting_;
  loop::IterationEnd soon_;
  loop::Timer next_;        // runs the rest in the next iteration
  std::int64_t until_ = 0;  // the end of this iteration's budget; 0: not begun
};

}  // namespace penstock::proxy
