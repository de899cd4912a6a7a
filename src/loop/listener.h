// SPDX-License-Identifier: Apache-2.0
// A listening TCP socket that hands over accepted connections as Streams. Dropping it stops accepting.
#pragma once

#include <expected>
#include <functional>
#include <memory>

#include "loop/loop.h"
#include "loop/stream.h"
#include "penstock/config.h"
#include "penstock/error.h"

struct uv_tcp_s;

namespace penstock::loop {

class Listener {
 public:
  using OnConnection = std::function<void(std::unique_ptr<Stream>)>;

  static std::expected<std::unique_ptr<Listener>, Error> listen(Loop& loop, const Endpoint& endpoint,
                                                                OnConnection on_connection);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// With the port that was really bound.
  Endpoint bound() const;

 private:
  Listener(Loop& loop, uv_tcp_s* tcp, OnConnection on_connection);

  Loop& loop_;
  uv_tcp_s* tcp_;
  OnConnection on_connection_;
};

}  // namespace penstock::loop
