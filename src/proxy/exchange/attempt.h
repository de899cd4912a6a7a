// SPDX-License-Identifier: Apache-2.0
// The part of an exchange between take-off and landing as the dispatcher sees it: an HTTP flight, a tunnel or an
// upgrade. An attempt reports its end once, to the dispatcher, which then destroys it.
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
  /// The response sink has room again.
  virtual void resume() {}
  /// A rested tunnel has a slot again.
  virtual void go_on() {}
  /// Closes a resting tunnel to make room for others.
  virtual void make_room() {}
  /// The time-outs may have changed.
  virtual void keep_time() = 0;
  /// Ends the attempt at once: the sink gets the refusal, or a broken response if the head was already passed on.
  virtual void abort(const http::Refusal& refusal) = 0;

  virtual bool answered() const = 0;  ///< the final head has been passed on
  virtual int status() const = 0;     ///< 0: no final head yet
  /// Adds what has moved so far. The views in `event` live as long as the attempt.
  virtual void describe(Event& event) const = 0;
};

}  // namespace penstock::proxy
