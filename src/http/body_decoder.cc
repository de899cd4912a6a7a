// SPDX-License-Identifier: Apache-2.0
// Pieces are views; lines go through a LineBuffer.
#include "http/body_decoder.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "http/grammar.h"

namespace penstock::http {

namespace {
constexpr std::size_t kLongestChunkLine = 4 * 1024;
constexpr std::size_t kLongestTrailer = 64 * 1024;
constexpr std::size_t kMostDigits = 15;  // of a chunk's size: no sum of them comes near the end of 64 bits
constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();
}  // namespace

BodyDecoder::BodyDecoder(ResponseHeadReader& reader, std::string_view method) : reader_(reader) {
  const ResponseHead& head = reader.head();
  if (!head.has_body(method)) return;
  phase_ = head.chunked ? Phase::chunk_line : head.has_length ? Phase::length : Phase::to_end;
  left_ = phase_ == Phase::to_end ? kNoEnd : head.content_length;
}

BodyDecoder::State BodyDecoder::next(std::string_view& bytes, std::string_view& piece) {
  piece = {};
  while (!bad_ && phase_ != Phase::over && !bytes.empty()) {
    if (phase_ == Phase::length || phase_ == Phase::to_end || phase_ == Phase::chunk) {
      take(bytes, piece);
      return State::piece;
    }
    if (!take_line(bytes)) bad_ = true;
  }
  if (bad_) return State::bad;
  return phase_ == Phase::over ? State::whole : State::more;
}

void BodyDecoder::take(std::string_view& bytes, std::string_view& piece) {
  piece = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left_)));
  bytes.remove_prefix(piece.size());
  if (phase_ == Phase::to_end) return;
  left_ -= piece.size();
  if (left_ == 0) phase_ = phase_ == Phase::chunk ? Phase::chunk_end : Phase::over;
}

bool BodyDecoder::take_line(std::string_view& bytes) {
  const auto line = lines_.next(bytes);
  if (!line) {
    const std::size_t longest = phase_ == Phase::trailers ? kLongestTrailer : kLongestChunkLine;
    return lines_.kept() <= longest || fail(Why::response_coding, "the upstream sent a line among chunks without end");
  }
  switch (phase_) {
    case Phase::chunk_line: return begin_chunk(*line);
    case Phase::chunk_end: return end_chunk(*line);
    default: return take_trailer(*line);
  }
}

/// Digits, and perhaps extensions, which are for the next hop only.
bool BodyDecoder::begin_chunk(std::string_view line) {
  const char* const end = line.data() + line.size();
  const auto [behind, error] = std::from_chars(line.data(), end, left_, 16);
  const auto digits = static_cast<std::size_t>(behind - line.data());
  const std::string_view rest(behind, static_cast<std::size_t>(end - behind));
  const bool sized = error == std::errc{} && digits <= kMostDigits;
  const bool ended = rest.ends_with("\r\n") && is_field_value(rest.substr(0, rest.size() - 2));
  const std::string_view extension = ended ? trim(rest.substr(0, rest.size() - 2)) : std::string_view();
  if (!sized || !ended || line.size() > kLongestChunkLine || (rest.size() > 2 && !extension.starts_with(';'))) {
    return fail(Why::response_coding, "the upstream's chunk does not begin with its size");
  }
  phase_ = left_ == 0 ? Phase::trailers : Phase::chunk;
  return true;
}

bool BodyDecoder::end_chunk(std::string_view line) {
  phase_ = Phase::chunk_line;
  return line == "\r\n" || fail(Why::response_coding, "the upstream's chunk is longer than it said");
}

bool BodyDecoder::take_trailer(std::string_view line) {
  if (reader_.on_line(line) == ResponseHeadReader::Verdict::bad) return fail(reader_.why(), reader_.details());
  if (line == "\r\n" || line == "\n") phase_ = Phase::over;
  return true;
}

bool BodyDecoder::fail(Why why, std::string details) {
  why_ = why;
  details_ = std::move(details);
  return false;
}

}  // namespace penstock::http
