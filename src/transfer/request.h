// SPDX-License-Identifier: Apache-2.0
// A request to send to an upstream, already checked and ready for the wire. Framing fields are not in it; transfer/
// adds them.
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
  std::size_t bytes_on_wire() const { return text_.size() + starts_.size(); }  ///< upper bound
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
  std::string origin;     ///< `http://host:port/` or `https://host:port/`; all that libcurl parses
  std::string_view host;  ///< host of `origin`, for the guard; must outlive the transfer
  std::string resource;   ///< the request target, byte-exact
  std::string pin;        ///< `host:port:address[,address…]` for a name; empty for a literal address
  HeaderLines lines;      ///< the Host line first
  BodyKind body = BodyKind::none;
  std::uint64_t length = 0;
  bool expect_continue = false;   ///< send `Expect: 100-continue`; the caller decides when to send the body
  bool fresh_connection = false;  ///< do not use a kept connection
  bool own_connection = false;    ///< use a fresh connection, and do not reuse it
  Duration connect_timeout{0};    ///< for all addresses together; zero: no time-out
};

}  // namespace penstock::transfer
