// SPDX-License-Identifier: Apache-2.0
// A layer between a test's blocking or polled socket and its bytes, such as TLS. With this interface, the sockets of
// tests/support and tests/system need no TLS library.
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
  /// Like ::send and ::recv, with errno.
  virtual ssize_t send(const char* bytes, std::size_t size) = 0;
  virtual ssize_t receive(char* room, std::size_t space) = 0;
  /// True if received bytes can be had without reading the socket.
  virtual bool has_more() const = 0;
  /// Tells the peer that nothing more is sent; called before the socket is closed.
  virtual void say_goodbye() = 0;
  /// Sends a message of the layer itself, which carries no payload.
  virtual void speak_aside() = 0;
  /// The identity that the peer has proved; empty: none.
  virtual std::string peer() const = 0;
};

/// Puts a layer on an accepted connection, in that connection's own thread. nullptr: that failed, and the connection is
/// to be closed.
using Wrap = std::function<std::unique_ptr<Layer>(int fd)>;

}  // namespace penstock::test
