// SPDX-License-Identifier: Apache-2.0
// A listening TCP socket that hands over accepted connections as Streams. When file descriptors run short it pauses,
// and new connections wait in the kernel. Dropping it stops accepting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>

#include "base/weak_self.h"
#include "loop/loop.h"
#include "loop/stream.h"
#include "loop/timer.h"
#include "penstock/config.h"
#include "penstock/error.h"

struct uv_poll_s;

namespace penstock::loop {

class Listener {
 public:
  using OnConnection = std::function<void(std::unique_ptr<Stream>)>;

  /// Calls back for every connection. Leaves `spare` descriptors to others, but at most a quarter of all.
  /// `handed_over`: a socket that already listens there; the listener owns it from here on, even on error. -1: none, so
  /// one is bound.
  static std::expected<std::unique_ptr<Listener>, Error> listen(Loop& loop, const Endpoint& endpoint,
                                                                OnConnection on_connection, std::size_t spare = 0,
                                                                int handed_over = -1);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// The endpoint with the port that was really bound.
  Endpoint bound() const;
  /// How often descriptors ran short.
  std::uint64_t pauses() const { return pauses_; }
  /// True while it pauses: descriptors are short, or accepting fails for a reason that is not a single connection's.
  bool pausing() const { return looking_.running(); }

 private:
  Listener(Loop& loop, int fd, OnConnection on_connection, std::size_t spare);

  void accept_some();
  bool accept_one();
  void go_on();
  bool goes_on_after(int error);
  void run_short();
  void pause();
  void look_again();
  void measure();

  Loop& loop_;
  const int fd_;
  uv_poll_s* const poll_;
  OnConnection on_connection_;
  const std::size_t spare_;
  int ceiling_ = 0;  // the first descriptor that is not for clients
  Timer looking_;
  std::uint64_t pauses_ = 0;
  base::WeakSelf<Listener> self_{this};  // on_connection_ may destroy this object
};

}  // namespace penstock::loop
