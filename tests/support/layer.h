// SPDX-License-Identifier: Apache-2.0
// What stands between a blocking or polled socket of the tests and its bytes, where that is not nothing: TLS. Used by
// the sockets of tests/support and of tests/system, which so need no TLS library.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace penstock::test {

class Layer {
 public:
  virtual ~Layer() = default;
  /// As ::send and ::recv do it, with errno.
  virtual ssize_t send(const char* bytes, std::size_t size) = 0;
  virtual ssize_t receive(char* room, std::size_t space) = 0;
  /// Bytes that were received and can be had without the socket.
  virtual bool has_more() const = 0;
  /// Says that nothing more is sent, before the socket is closed.
  virtual void say_goodbye() = 0;
  /// Says something that is no byte of what the layer carries.
  virtual void speak_aside() = 0;
  /// Whom the peer has proved to be; empty: nobody.
  virtual std::string peer() const = 0;
};

/// Puts a layer on a connection that was accepted, on its own thread. Nothing: that failed, and it is to be closed.
using Wrap = std::function<std::unique_ptr<Layer>(int fd)>;

}  // namespace penstock::test
