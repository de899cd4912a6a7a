// SPDX-License-Identifier: Apache-2.0
// How long a client may let us wait, be it for a request, for the rest of a head or for more of a body. Its timer is
// left running while that changes, and looks when it fires: on the usual way of a request nothing is started or
// stopped.
#pragma once

#include <cstdint>

#include "loop/timer.h"
#include "penstock/duration.h"

namespace penstock::proxy {

class ClientTimeouts {
 public:
  enum class For : std::uint8_t { nothing, request, head, body };

  ClientTimeouts(loop::Loop& loop, std::move_only_function<void()> when_over);

  /// What is awaited from now on, and how long; zero is without end. The same again goes on counting.
  void wait_for(For what, Duration limit);
  void wait_for_nothing() { what_ = For::nothing; }
  /// A part of it came: it may take as long once more.
  void moved() { since_ = loop_.now(); }
  For what() const { return what_; }

 private:
  void keep_time();
  void on_time();

  loop::Loop& loop_;
  std::move_only_function<void()> when_over_;
  loop::Timer timer_;
  std::int64_t since_ = 0;
  std::int64_t limit_ = 0;
  For what_ = For::nothing;
};

}  // namespace penstock::proxy
