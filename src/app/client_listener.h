// SPDX-License-Identifier: Apache-2.0
// The listener for clients, and what stays known of it when it is closed. For the engine.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>

#include "loop/listener.h"
#include "loop/loop.h"
#include "penstock/config.h"
#include "penstock/error.h"

namespace penstock::app {

class ClientListener {
 public:
  /// Listens at `endpoint`, or at the socket handed over (-1: none), as loop::Listener does. Once.
  std::expected<void, Error> open(loop::Loop& loop, const Endpoint& endpoint, loop::Listener::OnConnection on_client,
                                  int handed_over);
  /// Accepts no more clients.
  void close();

  /// The endpoint with the port that was really bound.
  const Endpoint& bound() const { return bound_; }
  /// How often file descriptors ran short.
  std::uint64_t pauses() const { return listener_ ? listener_->pauses() : pauses_; }

 private:
  std::unique_ptr<loop::Listener> listener_;  // null: not opened, or closed
  Endpoint bound_;
  std::uint64_t pauses_ = 0;  // once it is closed
};

}  // namespace penstock::app
