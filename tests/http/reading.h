// SPDX-License-Identifier: Apache-2.0
// Lets a RequestParser read a stream of bytes, cut as a test likes, and notes what it tells. For tests of this room.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/request_parser.h"

namespace penstock::http {

/// One request as the sink saw it.
struct Seen {
  RequestHead head;
  std::string body;
  Fields trailers;
  bool complete = false;
};

struct Reading {
  std::vector<Seen> requests;
  std::optional<Refusal> refusal;
  bool in_message = false;  ///< at the end of the stream

  std::size_t complete() const;
  /// Everything above as text, to compare two readings.
  std::string transcript() const;
};

/// All at once.
Reading read(std::string_view stream, const CapsConfig& caps = {});
/// In pieces of `size` bytes.
Reading read_in_pieces(std::string_view stream, std::size_t size, const CapsConfig& caps = {});
/// In two pieces.
Reading read_split(std::string_view stream, std::size_t at, const CapsConfig& caps = {});

/// A GET with these lines after its request line, which end in CRLF each; the empty line is added.
std::string get_with(std::string_view lines);
/// A chunked POST with this body, framing and all.
std::string chunked_with(std::string_view body);

/// Why the stream was refused; a test fails where it was not.
Reason refused(const Reading& reading);

}  // namespace penstock::http
