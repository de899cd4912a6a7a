// SPDX-License-Identifier: Apache-2.0
// What the system tests' origin and client share: blocking sockets with deadlines, header lines, and a reader of
// HTTP/1 messages that tolerates nothing. Not the product's parser: it must not share the product's mistakes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/layer.h"

namespace penstock::trial {

using Clock = std::chrono::steady_clock;
using Moment = Clock::time_point;

/// Long enough for a sanitized build on a busy machine; a test that meets it has failed.
inline constexpr std::chrono::seconds kPatience{20};

/// Waits until `condition` holds; false once patience is over.
bool eventually(const std::function<bool()>& condition, Clock::duration patience = kPatience);

bool same_name(std::string_view a, std::string_view b);

struct Line {
  std::string name, value;
  bool operator==(const Line&) const = default;
};

struct Lines : std::vector<Line> {
  std::optional<std::string> find(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;
  bool has(std::string_view name) const { return find(name).has_value(); }
};

/// A body that can be checked wherever it is cut: the bytes at `offset` of an endless sequence.
std::string pattern(std::uint64_t offset, std::size_t size);
bool is_pattern(std::uint64_t offset, std::string_view bytes);

/// A connected TCP socket, owned.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)), layer_(std::move(other.layer_)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(layer_, other.layer_);
    return *this;
  }
  ~Socket() { close(); }

  /// `receive_buffer` and `send_buffer` in bytes; 0: the system's.
  static Socket connect(std::uint16_t port, int receive_buffer = 0, const char* from = nullptr);
  /// On loopback, at this address of it, on a free port, with this backlog.
  static Socket listen(int backlog, std::uint16_t* port, int receive_buffer = 0, const char* at = "127.0.0.1");

  int fd() const { return fd_; }
  /// From now on bytes go through a layer; false: it could not be put on.
  bool put_on(const test::Wrap& wrap);
  /// Nothing: there is none.
  test::Layer* layer() const { return layer_.get(); }

  void close();
  /// Without the layer's good-bye.
  void cut();
  /// The close sends RST.
  void reset();
  void half_close();
  /// What is sent or received from now on fails or ends. From any thread.
  void shut_down();

  /// How many bytes went; fewer than all where the peer is gone or the deadline passed.
  std::size_t send(std::string_view bytes, Moment until = Clock::now() + kPatience);
  /// Appends what there is, waiting for at least a byte. False: the peer is done or gone, or the deadline passed.
  bool receive(std::string& into, Moment until = Clock::now() + kPatience);
  /// Whether the last receive() ended with the peer's FIN or RST, not with the deadline.
  bool ended() const { return ended_; }
  bool was_reset() const { return was_reset_; }

 private:
  ssize_t try_send(std::string_view bytes);
  ssize_t try_receive(char* room, std::size_t space);

  int fd_ = -1;
  std::unique_ptr<test::Layer> layer_;
  bool ended_ = false, was_reset_ = false;
};

/// How a body is delimited.
struct Framing {
  enum class Kind { none, length, chunked, to_end } kind = Kind::none;
  std::uint64_t length = 0;
};

/// Reads heads and bodies from a socket, strictly. What is wrong is kept in `complaint`.
class Reader {
 public:
  using Sink = std::function<void(std::string_view)>;

  explicit Reader(Socket& socket) : socket_(socket) {}

  /// The next head with its empty line; empty: the connection ended (or the deadline passed) before one was whole.
  std::string head(Moment until = Clock::now() + kPatience);
  /// Splits a head into its first line and its fields.
  bool split(std::string_view head, std::string& first, Lines& fields);
  /// Reads a body; false where it was cut.
  bool body(Framing framing, const Sink& sink, Lines& trailers);
  /// What has been read and not been used.
  std::string& buffer() { return buffer_; }
  bool fill(Moment until = Clock::now() + kPatience) { return socket_.receive(buffer_, until); }
  std::string complaint;

 private:
  bool counted(std::uint64_t length, const Sink& sink);
  bool chunks(const Sink& sink, Lines& trailers);
  std::optional<std::string> line();
  bool complain(std::string text);

  Socket& socket_;
  std::string buffer_;
};

/// Receives and checks a body of the pattern.
struct Checked {
  std::uint64_t size = 0;
  bool exact = true;
  Reader::Sink sink() {
    return [this](std::string_view bytes) {
      exact = exact && is_pattern(size, bytes);
      size += bytes.size();
    };
  }
};

}  // namespace penstock::trial
