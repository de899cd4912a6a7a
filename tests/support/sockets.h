// SPDX-License-Identifier: Apache-2.0
// Blocking TCP sockets on loopback, for the far ends in tests. Each call waits a minute at most; an error fails the
// running test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "support/layer.h"

namespace penstock::test {

class Socket {
 public:
  explicit Socket(int fd);
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  /// True if everything was sent; a peer that has gone is not an error.
  bool send(std::string_view bytes);
  /// Empty at the end of the stream.
  std::string read_some(std::size_t most = 64 * 1024);
  /// Returns fewer bytes only if the stream ends before.
  std::string read(std::size_t size);
  /// Up to and including `mark`; if the stream ends before, everything read.
  std::string read_until(std::string_view mark);
  std::string read_to_end();
  /// The bytes that are there without waiting.
  std::string peek();
  /// Whether the stream ended with a reset.
  bool was_reset() const { return reset_; }

  /// From now on bytes go through a layer; false: it could not be put on.
  bool put_on(const Wrap& wrap);
  /// nullptr: no layer.
  Layer* layer() const { return layer_.get(); }

  void shut_down();  ///< sends FIN; reading goes on
  void close();
  void cut();                  ///< closes without the layer's good-bye
  void reset();                ///< sends RST
  void end_reads();            ///< from another thread: a thread that waits for bytes gets the end
  std::uint16_t port() const;  ///< of this end
  int fd() const { return fd_; }

 private:
  bool more();

  int fd_;
  std::unique_ptr<Layer> layer_;
  std::string read_;  // read but not yet returned
  bool reset_ = false;
};

/// Connects to 127.0.0.1.
Socket connect_to(std::uint16_t port);

class ListeningSocket {
 public:
  /// `port`: 0: any that is free; otherwise one that a HeldPort may hold.
  explicit ListeningSocket(int backlog = 4096, std::uint16_t port = 0);
  ListeningSocket(const ListeningSocket&) = delete;
  ~ListeningSocket();

  std::uint16_t port() const { return port_; }
  int fd() const { return fd_; }
  /// Returns a descriptor below zero once any thread has called close().
  Socket accept();
  void close();

 private:
  int fd_;
  std::uint16_t port_;
};

/// How many descriptors this process has open.
std::size_t open_descriptors();

}  // namespace penstock::test
