// SPDX-License-Identifier: Apache-2.0
// What the interceptions of all clients share: the leaves, who does not take them, and turns. A handshake takes a good
// part of a millisecond of the loop, so few begin at once, and each client connection waits for its turn.
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

/// What a client's handshake with us, in the place of another host, came to.
enum class Handshake : std::uint8_t {
  done,
  rejected,    ///< the client says that it does not take our certificate
  left,        ///< it went when it had seen our certificate, without a word: some reject in this way
  failed,      ///< otherwise
  impossible,  ///< we have no certificate for the host
  overdue,     ///< we came to no turn
  timed_out,   ///< timeouts.header
  bypassed,    ///< none was tried: it gets a tunnel (intercept.bypassOnPin, intercept.h2Only)
};

class InterceptionService {
 public:
  /// Nothing of `notices`: nobody wants them.
  explicit InterceptionService(loop::Loop& loop, NoticeSink notices = {});

  /// Nothing of an authority: none is intercepted any more.
  void change(const InterceptConfig& config, std::shared_ptr<const tls::Authority> authority);

  /// A client gets a tunnel to this host because it speaks HTTP/2 alone: says so, once for each host.
  void tell_of_h2(const std::string& host);

  /// Taken in order. Dropping it withdraws from the queue.
  class Turn {
   public:
    Turn(InterceptionService& interceptor, std::move_only_function<void()> begin);
    ~Turn();
    Turn(const Turn&) = delete;

   private:
    friend class InterceptionService;
    InterceptionService& interceptor_;
    std::move_only_function<void()> begin_;
  };

  tls::CertificateCache leaves;
  CertificateRejections rejections;

 private:
  void take_turns();

  loop::Loop& loop_;
  const NoticeSink notices_;
  std::set<std::string> told_of_;  // hosts
  std::deque<Turn*> waiting_;
  loop::IterationEnd soon_;
  loop::Timer next_;        // of the loop's turns
  std::int64_t until_ = 0;  // this one is ours; 0: none of it yet
};

}  // namespace penstock::proxy
