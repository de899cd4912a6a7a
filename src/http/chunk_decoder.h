// SPDX-License-Identifier: Apache-2.0
// A body in chunks as it stands on the wire, up to its trailers (RFC 9112 section 7.1): for requests and for answers
// alike, so that both sides agree on where a body ends. Extensions are for the next hop only, and dropped. Copies
// nothing. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock::http {

class ChunkDecoder {
 public:
  enum class State : std::uint8_t {
    more,   ///< all bytes were taken, and more are needed
    piece,  ///< some were taken: call again
    last,   ///< the last chunk is over: trailers follow, or the empty line that ends the body
    bad,    ///< see fault()
  };
  enum class Fault : std::uint8_t {
    none,
    size,           ///< the line does not begin with one to 16 hexadecimal digits, at most 2^63-1
    extension,      ///< something other than extensions follows the size, or a quote in them does not close
    line_too_long,  ///< size and extensions
    line_end,       ///< no CR LF, or another control character
    length,         ///< no CR LF behind as many bytes as the size said
  };

  /// Takes bytes from the front of `bytes`; a part of the body that was among them is in `piece`, a view of them.
  /// A line of size and extensions has at most `longest_line` bytes, its CR LF included.
  State next(std::string_view& bytes, std::string_view& piece, std::size_t longest_line);
  Fault fault() const { return fault_; }

 private:
  enum class Part : std::uint8_t {
    size,
    blanks,     // behind the size, and before an extension
    extension,  // whatever it says
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
  std::uint64_t left_ = 0;  // of the chunk
};

}  // namespace penstock::http
