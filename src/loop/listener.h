// SPDX-License-Identifier: Apache-2.0
// A listening TCP socket that hands over accepted connections as Streams. Where file descriptors run short it pauses,
// and whoever connects waits in the kernel. Dropping it stops accepting.
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

  /// CertificateCache `spare` descriptors to others, or a quarter of all where there are few. Called back for every
  /// connection. `handed_over` is a socket that listens there already, and ours from here on; -1: none, so one is
  /// bound.
  static std::expected<std::unique_ptr<Listener>, Error> listen(Loop& loop, const Endpoint& endpoint,
                                                                OnConnection on_connection, std::size_t spare = 0,
                                                                int handed_over = -1);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// With the port that was really bound.
  Endpoint bound() const;
  /// How often descriptors ran short.
  std::uint64_t pauses() const { return pauses_; }
  /// Whether they do now, or accepting fails in a way that no connection is the cause of.
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
  base::WeakSelf<Listener> self_{this};  // whoever is called may drop us
};

}  // namespace penstock::loop
