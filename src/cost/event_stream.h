// SPDX-License-Identifier: Apache-2.0
// Finds what the events of a stream carry (text/event-stream, section 9.2 of the HTML standard), however it is cut.
// Copies nothing: data is passed on in pieces. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock::cost {

class EventStream {
 public:
  enum class State : std::uint8_t {
    more,   ///< all bytes were consumed; more are needed
    piece,  ///< some bytes were consumed, and the next piece of the event's data was found: call again
    over,   ///< some bytes were consumed, and the event is over, with data or without: call again
  };

  /// Consumes bytes from the front of `bytes`. `piece` is a view of them, or of a constant: a line feed stands between
  /// two lines of data. An event that the stream ends in is never over, since the standard drops it.
  State next(std::string_view& bytes, std::string_view& piece);

 private:
  enum class Part : std::uint8_t {
    mark,   // a byte order mark may stand at the very beginning
    line,   // the first byte of a line
    field,  // in the field's name, which is `data` so far
    colon,  // behind it
    value,
    other,  // of a line without data
  };

  void skip_mark(std::string_view& bytes);
  State end_line(char c, std::string_view& piece);
  State begin_value(std::string_view& piece);

  Part part_ = Part::mark;
  std::size_t matched_ = 0;  // bytes of the mark, or of the name
  bool had_return_ = false;  // a line feed behind it belongs to the same end of line
  bool had_value_ = false;   // the event has a line of data
};

}  // namespace penstock::cost
