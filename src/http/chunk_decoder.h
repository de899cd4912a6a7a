// SPDX-License-Identifier: Apache-2.0
// Decodes a chunked body up to its trailers (RFC 9112 section 7.1). Requests and responses share it, so that both sides
// agree on where a body ends. Chunk extensions are for the next hop only, and are dropped. Copies nothing. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock::http {

class ChunkDecoder {
 public:
  enum class State : std::uint8_t {
    more,   ///< all bytes were consumed; more are needed
    piece,  ///< some bytes were consumed: call again
    last,   ///< the last chunk is over: trailers follow, or the empty line that ends the body
    bad,    ///< see fault()
  };
  enum class Fault : std::uint8_t {
    none,
    size,           ///< the line does not begin with 1 to 16 hexadecimal digits, or the size exceeds 2^63-1
    extension,      ///< something other than an extension follows the size, or a quote in one does not close
    line_too_long,  ///< the line of size and extensions
    line_end,       ///< the line does not end in CR LF, or has another control character
    length,         ///< no CR LF after the number of bytes that the size announced
  };

  /// Consumes bytes from the front of `bytes`; `piece` is the part of the body among them, a view, or empty.
  /// A line of size and extensions has at most `longest_line` bytes, its CR LF included.
  State next(std::string_view& bytes, std::string_view& piece, std::size_t longest_line);
  Fault fault() const { return fault_; }

 private:
  enum class Part : std::uint8_t {
    size,
    blanks,     // after the size, before an extension
    extension,  // not interpreted
    quoted,
    escaped,
    line_feed,
    content,
    content_end,
    content_line_feed,
    last,
    bad,
  };

  bool in_line() const { return part_ <= Part::line_feed; }
  Part read(char c);
  Part read_digit(char c);
  Part behind_size(char c);
  Part in_extension(char c);
  Part in_quotes(char c);
  Part begin_content();
  Part fail(Fault fault);

  Part part_ = Part::size;
  Fault fault_ = Fault::none;
  std::uint8_t digits_ = 0;
  std::size_t line_bytes_ = 0;
  std::uint64_t left_ = 0;  // bytes left of the chunk
};

}  // namespace penstock::http
