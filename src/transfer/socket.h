// SPDX-License-Identifier: Apache-2.0
// One of libcurl's sockets: the events that libcurl wants, those that the kernel was asked for, and whether the
// connection rests. Internal to transfer/.
#pragma once

#include <curl/curl.h>
#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tls/openssl_peek.h"

namespace penstock::transfer {

class Multi;
class Easy;

struct Socket {
  /// Whether a kept TLS connection has bytes, an end or an error; true too if it has no socket any more.
  static bool is_disturbed(const tls::OpensslPeek& connection);
  /// Whether bytes, an end or an error have come although no request is under way.
  bool speaks_unasked() const;
  /// Notes both ends: libcurl identifies the kept connection that it is about to use by them. False: the socket has
  /// none.
  bool note_ends();
  /// Shuts the socket down so that libcurl sees that it is dead.
  void hang_up(char* buffer, std::size_t size) const;

  uv_poll_t poll;
  Multi* multi;
  curl_socket_t fd;
  std::string address = {};  // the peer's address and both ports, once it has rested or paused
  int port = 0, local_port = 0;
  int wanted = 0;
  int told = 0;
  enum class Phase : std::uint8_t { connecting, connected, resting };
  Phase phase = Phase::connecting;  // resting: is kept for the next request
  bool fresh = true;                // may still be in its TLS handshake
  bool noted = false;
  std::int64_t since = 0;                     // when the rest began, on the loop's clock
  Easy* user = nullptr;                       // the transfer that uses it after a rest, or has paused on it
  std::shared_ptr<tls::OpensslPeek> secured;  // null: no TLS, or not known yet
};

}  // namespace penstock::transfer
