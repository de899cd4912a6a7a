// SPDX-License-Identifier: Apache-2.0
// What the dispatcher knows of an exchange between take-off and landing, be it a request's flight or a tunnel. It says
// how it ended once, to the dispatcher, who then drops it.
#pragma once

#include "http/refusal.h"
#include "penstock/event.h"

namespace penstock::proxy {

class Attempt {
 public:
  virtual ~Attempt() = default;

  virtual void take_off() = 0;
  /// More of the request's body has come, or its end.
  virtual void body_came() {}
  /// The requester has room again.
  virtual void resume() {}
  /// It had rested, and has a slot again.
  virtual void go_on() {}
  /// It rests, and is closed for the sake of others.
  virtual void make_room() {}
  /// Its time-outs may be others now.
  virtual void keep_time() = 0;
  /// Ends it at once: the requester gets the refusal, or half an answer.
  virtual void abort(const http::Refusal& refusal) = 0;

  virtual bool answered() const = 0;  ///< the final head was passed on
  virtual int status() const = 0;     ///< 0: not answered
  /// Adds what moved so far. Its views live as long as the journey.
  virtual void describe(Event& event) const = 0;
};

}  // namespace penstock::proxy
