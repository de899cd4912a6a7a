// SPDX-License-Identifier: Apache-2.0
// One of libcurl's sockets: what it wants to hear, what the kernel has been told, and whether it rests. For this room.
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
struct Easy;

struct Socket {
  /// Bytes, an end or an error, while nothing is asked on it.
  bool speaks_unasked() const;
  /// libcurl names a kept connection, when it is about to use it, by its ends: they are noted. False: there are none.
  bool note_ends();
  /// So that libcurl sees that it is dead.
  void hang_up(char* buffer, std::size_t size) const;

  uv_poll_t poll;
  Multi* multi;
  curl_socket_t fd;
  std::string address = {};  // its other end and ours, once it has rested or paused
  int port = 0, local_port = 0;
  int wanted = 0;
  int told = 0;
  bool fresh = true;  // it may still be in its handshake
  bool noted = false;
  bool connected = false;
  bool resting = false;                       // kept for the next request
  std::int64_t since = 0;                     // since when it rests, on the loop's clock
  Easy* user = nullptr;                       // whose transfer has taken it out of its rest, or pauses on it
  std::shared_ptr<tls::OpensslPeek> secured;  // where there is TLS
};

}  // namespace penstock::transfer
