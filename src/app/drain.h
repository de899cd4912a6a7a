// SPDX-License-Identifier: Apache-2.0
// Ends the service of the proxy without breaking off a request, as far as the grace allows. For the engine.
//
//   begin()                 the listener is closed; connections close after their next answer
//     serve_accepted()      until clients that were accepted have sent what they were about to send
//     end_exchanges()       until no exchange is left; new requests are refused
//     close_connections()   until the last answers have reached slow readers
//   done                    every caller of begin() is told
//
//   Out of grace: passwords are checked no more, exchanges are ended, and half a second is left for the last step.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "app/client_listener.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "penstock/duration.h"
#include "penstock/event.h"
#include "proxy/client/authenticator.h"
#include "proxy/client/clients.h"
#include "proxy/dispatch/dispatcher.h"

namespace penstock::app {

class Drain {
 public:
  /// What is drained; must outlive the drain.
  struct Drained {
    ClientListener& listener;
    proxy::Clients& clients;
    proxy::Dispatcher& dispatcher;
    proxy::Authenticator& authenticator;
  };
  /// True if all was finished within the grace.
  using OnDone = std::move_only_function<void(bool in_time)>;

  /// `has_successor`: the listening socket was handed over, so that the next process gets it too.
  Drain(loop::Loop& loop, const Drained& drained, bool has_successor, NoticeSink notices);
  /// Tells those that still wait that it was not finished.
  ~Drain();
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  /// A second call joins the first, whose grace stands; `when_done` may be called at once.
  void begin(Duration grace, OnDone when_done);
  /// True from begin() until all is done.
  bool under_way() const { return !when_done_.empty(); }

 private:
  void serve_accepted();
  bool may_ask_once_more() const;
  void end_exchanges();
  void close_connections();
  void out_of_grace();
  void tell(bool in_time);

  loop::Loop& loop_;
  const Drained drained_;
  const bool has_successor_;
  const NoticeSink notices_;
  std::int64_t since_ = 0;
  std::int64_t leave_by_ = 0;
  bool in_time_ = true;
  bool done_ = false;
  std::vector<OnDone> when_done_;
  loop::Timer grace_timer_;
  loop::Timer serving_timer_;
  loop::Timer closing_timer_;
};

}  // namespace penstock::app
