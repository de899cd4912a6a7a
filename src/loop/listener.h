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

namespace penstock::loop {

class Listener {
 public:
  using OnConnection = std::function<void(std::unique_ptr<Stream>)>;

  static std::expected<std::unique_ptr<Listener>, Error> listen(Loop& loop, const Endpoint& endpoint, OnConnection on_connection);
  virtual ~Listener() = default;

  /// With the port that was really bound.
  virtual Endpoint bound() const = 0;
};

}  // namespace penstock::loop
