// SPDX-License-Identifier: Apache-2.0
// One state per part of a chunk. Lines are read byte by byte: a fault is found at its exact byte, and the result does
// not depend on how the bytes were cut. Data is passed on in runs.
#include "http/chunk_decoder.h"

#include <algorithm>
#include <limits>

#include "http/grammar.h"

namespace penstock::http {

namespace {

constexpr int kMostSizeDigits = 16;
constexpr std::uint64_t kLargestChunk = std::numeric_limits<std::int64_t>::max();

/// The value of a hexadecimal digit; -1 for any other character.
constexpr int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  const char low = lower(c);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

}  // namespace

ChunkDecoder::State ChunkDecoder::next(std::string_view& bytes, std::string_view& piece, std::size_t longest_line) {
  piece = {};
  while (part_ < Part::last && !bytes.empty()) {
    if (part_ == Part::content) {
      piece = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left_)));
      bytes.remove_prefix(piece.size());
      left_ -= piece.size();
      if (left_ == 0) part_ = Part::content_end;
      return State::piece;
    }
    if (in_line() && line_bytes_ >= longest_line) {
      part_ = fail(Fault::line_too_long);
      break;
    }
    ++line_bytes_;
    part_ = read(bytes.front());
    if (part_ != Part::bad) bytes.remove_prefix(1);
  }
  if (part_ == Part::bad) return State::bad;
  return part_ == Part::last ? State::last : State::more;
}

ChunkDecoder::Part ChunkDecoder::read(char c) {
  switch (part_) {
    case Part::size: return hex_value(c) >= 0 ? read_digit(c) : behind_size(c);
    case Part::blanks: return behind_size(c);
    case Part::extension: return in_extension(c);
    case Part::quoted: return in_quotes(c);
    case Part::escaped: return is_field_value({&c, 1}) ? Part::quoted : fail(Fault::line_end);
    case Part::line_feed: return c == '\n' ? begin_content() : fail(Fault::line_end);
    case Part::content_end: return c == '\r' ? Part::content_line_feed : fail(Fault::length);
    case Part::content_line_feed: line_bytes_ = 0; return c == '\n' ? Part::size : fail(Fault::length);
    case Part::content:
    case Part::last:
    case Part::bad: break;
  }
  return part_;
}

ChunkDecoder::Part ChunkDecoder::read_digit(char c) {
  if (++digits_ > kMostSizeDigits) return fail(Fault::size);
  left_ = left_ << 4 | static_cast<std::uint64_t>(hex_value(c));
  return left_ > kLargestChunk ? fail(Fault::size) : Part::size;
}

ChunkDecoder::Part ChunkDecoder::behind_size(char c) {
  if (digits_ == 0) return fail(Fault::size);
  if (c == ';') return Part::extension;
  if (is_blank(c)) return Part::blanks;
  if (c == '\r' && part_ == Part::size) return Part::line_feed;
  return fail(is_field_value({&c, 1}) ? Fault::extension : Fault::line_end);
}

/// RFC 9112 7.1.1: unknown extensions are ignored, and here all extensions are unknown.
ChunkDecoder::Part ChunkDecoder::in_extension(char c) {
  if (c == '\r') return Part::line_feed;
  if (!is_field_value({&c, 1})) return fail(Fault::line_end);
  return c == '"' ? Part::quoted : Part::extension;
}

/// Another reader might continue a quoted string beyond the line, so a line must not end within quotes.
ChunkDecoder::Part ChunkDecoder::in_quotes(char c) {
  if (!is_field_value({&c, 1})) return fail(Fault::extension);
  if (c == '\\') return Part::escaped;
  return c == '"' ? Part::extension : Part::quoted;
}

ChunkDecoder::Part ChunkDecoder::begin_content() {
  digits_ = 0;
  return left_ == 0 ? Part::last : Part::content;
}

ChunkDecoder::Part ChunkDecoder::fail(Fault fault) {
  fault_ = fault;
  return Part::bad;
}

}  // namespace penstock::http
