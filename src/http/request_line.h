// SPDX-License-Identifier: Apache-2.0
// Reads one request line, in whatever pieces it comes: `METHOD SP target SP HTTP/1.x CRLF`, blank lines before it
// skipped. Replaces llhttp here, which knows a closed list of methods and accepts two spaces. Only for request_parser.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "http/refusal.h"
#include "http/request_head.h"

namespace penstock::http {

class RequestLine {
 public:
  enum class Fault : std::uint8_t {
    none,
    method,
    method_too_long,
    tls,
    target,
    target_too_long,
    version,
    version_unsupported,
    line_end
  };

  /// Consumes bytes up to the end of the line or to a fault, and fills method, target and version of `head`.
  /// Returns the number of bytes consumed.
  std::size_t consume(std::string_view bytes, std::size_t longest_target, RequestHead& head);

  bool complete() const { return part_ == Part::complete; }
  /// True if anything but blank lines has come.
  bool begun() const { return part_ > Part::blank_line; }
  Fault fault() const { return fault_; }

 private:
  enum class Part : std::uint8_t { start, blank_line, method, target, version, line_end, complete };

  std::size_t take(std::string_view bytes, std::size_t longest_target, RequestHead& head);
  std::size_t take_start(char c);
  std::size_t take_method(std::string_view bytes, RequestHead& head);
  std::size_t take_target(std::string_view bytes, std::size_t longest, RequestHead& head);
  std::size_t take_version(char c, RequestHead& head);
  std::size_t take_line_feed(char c, Part next);
  std::size_t fail(Fault fault);

  Part part_ = Part::start;
  Fault fault_ = Fault::none;
  std::uint8_t version_size_ = 0;
  std::array<char, 8> version_{};
};

/// The answer to a faulty request line.
Refusal refusal_for(RequestLine::Fault fault);

}  // namespace penstock::http
