// SPDX-License-Identifier: Apache-2.0
// The stage of the tests about tunnels: a running proxy, and a far end that the test itself plays, byte by byte, as it
// plays the near one. CONNECT may go to the far end's port and to no other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "system/stage.h"

namespace penstock::trial {

/// Where tunnels lead: takes no connection before the test does.
class FarEnd {
 public:
  /// `at`: its address. At 127.0.0.1 a program of another test may call that had this port before.
  explicit FarEnd(const char* at = "127.0.0.1") : at_(at), listener_(Socket::listen(1024, &port_, 0, at)) {}
  std::uint16_t port() const { return port_; }
  std::string host() const { return at_ + ":" + std::to_string(port_); }
  /// The next connection; none, with a failed test, if patience is over.
  Socket accept();
  /// Whether one is there to be taken.
  bool has_caller() const;

 private:
  const std::string at_;
  std::uint16_t port_ = 0;
  Socket listener_;
};

/// One side of a tunnel.
struct Near {
  explicit Near(Socket its) : socket(std::move(its)), reader(socket) {}
  Near(const Near&) = delete;

  bool send(std::string_view bytes) { return socket.send(bytes) == bytes.size(); }
  /// The next so many bytes; fewer where the end comes before.
  std::string take(std::size_t size);
  /// Everything up to the end.
  std::string rest();
  Reply reply();

  Socket socket;
  Reader reader;
};

/// Keys of `defaults` by which tunnels hold their slots while they are open, unless `settings` say `tunnelRest`.
std::string without_rest(std::string_view settings);

struct Tunnels {
  /// `settings` are keys of `defaults`. Tunnels hold their slots while they are open, unless these say `tunnelRest`.
  explicit Tunnels(std::string_view settings = "maxConcurrent: 64", std::string_view grace = "250ms");

  std::string connect() const { return "CONNECT " + far.host() + " HTTP/1.1\r\nHost: " + far.host() + "\r\n\r\n"; }
  /// A client that has sent its CONNECT, and whatever more.
  std::unique_ptr<Near> ask(std::string_view more = "") const;
  /// Both ends of a tunnel that is open.
  struct Pair {
    std::unique_ptr<Near> client, upstream;
  };
  Pair open();
  /// The answer to these bytes.
  Reply answer_to(std::string_view bytes) const { return daemon.ask(bytes); }
  /// Nothing is in flight, and no tunnel is left.
  bool await_rest() const {
    return daemon.await_in_flight(far.host(), 0) &&
           eventually([this] { return daemon.metric("penstock_tunnels") == 0; });
  }

  FarEnd far;
  Daemon daemon;
};

}  // namespace penstock::trial
