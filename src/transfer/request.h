// SPDX-License-Identifier: Apache-2.0
// What to send to an upstream: already judged, ready for the wire. Framing is not in it; transfer writes its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/duration.h"

namespace penstock::transfer {

/// Header lines in the form that libcurl takes, in one block.
class HeaderLines {
 public:
  void reserve(std::size_t bytes, std::size_t lines);
  void add(std::string_view name, std::string_view value);
  void clear() { text_.clear(), starts_.clear(); }
  std::size_t size() const { return starts_.size(); }
  std::size_t bytes_on_wire() const { return text_.size() + starts_.size(); }  ///< at most
  /// Valid until the next add().
  char* line(std::size_t index) { return text_.data() + starts_[index]; }
  bool has_accept() const { return has_accept_; }

 private:
  std::string text_;  // "Name: value\0", or "Name;\0" where the value is empty
  std::vector<std::uint32_t> starts_;
  bool has_accept_ = false;
};

enum class BodyKind : std::uint8_t { none, length, chunked };

struct Request {
  std::string method;
  std::string origin;     ///< `http://host:port/` or `https://host:port/`, all that libcurl parses
  std::string_view host;  ///< of `origin`, as the judge is to know it; outlives the transfer
  std::string resource;   ///< the request target, byte-exact
  std::string pin;        ///< `host:port:address[,address…]` for a name; empty for a literal address
  HeaderLines lines;      ///< Host first
  BodyKind body = BodyKind::none;
  std::uint64_t length = 0;
  bool expect_continue = false;   ///< say `Expect: 100-continue`; when to send the body is the caller's to decide
  bool fresh_connection = false;  ///< no kept connection, however good it looks
  bool own_connection = false;    ///< a fresh one, and nobody's after it
  Duration connect_timeout{0};    ///< all addresses together; zero: none
};

}  // namespace penstock::transfer
