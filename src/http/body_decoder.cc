// SPDX-License-Identifier: Apache-2.0
// Pieces of the body are views of the input; trailer lines go through a LineBuffer.
#include "http/body_decoder.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace penstock::http {

namespace {
constexpr std::size_t kLongestChunkLine = 4 * 1024;
constexpr std::size_t kLongestTrailer = 64 * 1024;
constexpr std::uint64_t kNoEnd = std::numeric_limits<std::uint64_t>::max();

const char* wrong_with_chunks(ChunkDecoder::Fault fault) {
  switch (fault) {
    case ChunkDecoder::Fault::line_too_long: return "the upstream sent a line among chunks without end";
    case ChunkDecoder::Fault::length: return "the upstream's chunk is longer than it said";
    default: return "the upstream's chunk does not begin with its size";
  }
}
}  // namespace

BodyDecoder::BodyDecoder(ResponseHeadReader& reader, std::string_view method) : reader_(reader) {
  const ResponseHead& head = reader.head();
  if (!head.has_body(method)) return;
  phase_ = head.chunked ? Phase::chunks : head.has_length ? Phase::length : Phase::to_end;
  left_ = phase_ == Phase::to_end ? kNoEnd : head.content_length;
}

BodyDecoder::State BodyDecoder::next(std::string_view& bytes, std::string_view& piece) {
  piece = {};
  while (!bad_ && phase_ != Phase::over && !bytes.empty()) {
    if (phase_ == Phase::length || phase_ == Phase::to_end) {
      take(bytes, piece);
    } else {
      bad_ = !(phase_ == Phase::chunks ? take_chunks(bytes, piece) : take_trailer(bytes));
    }
    if (!piece.empty()) return State::piece;
  }
  if (bad_) return State::bad;
  return phase_ == Phase::over ? State::whole : State::more;
}

void BodyDecoder::take(std::string_view& bytes, std::string_view& piece) {
  piece = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left_)));
  bytes.remove_prefix(piece.size());
  if (phase_ == Phase::to_end) return;
  left_ -= piece.size();
  if (left_ == 0) phase_ = Phase::over;
}

bool BodyDecoder::take_chunks(std::string_view& bytes, std::string_view& piece) {
  switch (chunks_.next(bytes, piece, kLongestChunkLine)) {
    case ChunkDecoder::State::more:
    case ChunkDecoder::State::piece: return true;
    case ChunkDecoder::State::last: phase_ = Phase::trailers; return true;
    case ChunkDecoder::State::bad: break;
  }
  return fail(Reason::response_coding, wrong_with_chunks(chunks_.fault()));
}

bool BodyDecoder::take_trailer(std::string_view& bytes) {
  const auto line = lines_.next(bytes);
  if ((line ? line->size() : lines_.kept()) > kLongestTrailer) {
    return fail(Reason::response_coding, "the upstream sent a line among chunks without end");
  }
  if (!line) return true;
  if (reader_.on_line(*line) == ResponseHeadReader::Verdict::bad) return fail(reader_.why(), reader_.details());
  if (*line == "\r\n" || *line == "\n") phase_ = Phase::over;
  return true;
}

bool BodyDecoder::fail(Reason why, std::string details) {
  why_ = why;
  details_ = std::move(details);
  return false;
}

}  // namespace penstock::http
